"""Functions of numpy that are what they are of others: by numpy's text, or by ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree, traced

from argus.terms import Unknown

SIZES = ({"M": 3, "N": 4, "K": 2}, {"M": 5, "N": 5, "K": 3})
MATRIX = {"X": "M N"}
TWO = {"X": "M N", "Y": "M N"}
TABLE = {"X": "M N", "T": "M:i32"}

CASES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "heaviside": (lambda X: np.heaviside(X - 1, 0.5), MATRIX),
    "copysign": (lambda X, Y: np.copysign(X, Y - 1), TWO),
    "signbit": (lambda X: np.signbit(X - 1), MATRIX),
    "arctan2": (lambda X, Y: np.arctan2(Y - 1, X - 1), TWO),
    "cbrt": (lambda X: np.cbrt(X - 1), MATRIX),
    "inverse hyperbolic": (
        lambda X: np.arcsinh(X) + np.arccosh(X + 1) + np.arctanh(X / 2),
        MATRIX,
    ),
    "logarithms of sums": (
        lambda X, Y: np.logaddexp2(X, Y) + np.logaddexp.accumulate(X, axis=1),
        TWO,
    ),
    "a logarithm of a sum": (lambda X: np.logaddexp.reduce(X, axis=1), MATRIX),
    "modf": (lambda X: np.modf(X * 3 - 3), MATRIX),
    "fix": (lambda X: np.fix(X * 3 - 3), MATRIX),
    "sinc": (lambda X: np.sinc(X), MATRIX),
    "kron": (lambda X, Y: np.kron(X, Y), {"X": "M N", "Y": "K 2"}),
    "kron of vectors": (lambda X, Y: np.kron(X, Y), {"X": "M", "Y": "N"}),
    "round": (lambda X: np.round(X, 2) + X.round(1), MATRIX),
    "round to tens": (lambda X: np.round(X * 30, -1), MATRIX),
    "polyval": (lambda X: np.polyval([1.0, 2.0, 3.0], X), MATRIX),
    "polyval of an array": (lambda X, P: np.polyval(P, X), {"X": "M", "P": "3"}),
    "vander": (lambda X: np.vander(X, 3), {"X": "M"}),
    "vander, increasing": (lambda X: np.vander(X, 3, increasing=True), {"X": "M"}),
    "sums of parts": (
        lambda X: np.add.reduceat(X, np.arange(0, X.shape[0], 2), axis=0),
        MATRIX,
    ),
    "extremes of parts": (lambda X: np.maximum.reduceat(X, [0, 2, 1], 0), MATRIX),
    "digitize": (lambda X: np.digitize(X, [0.6, 0.9, 1.2]), MATRIX),
    "digitize, falling": (lambda X: np.digitize(X, [1.2, 0.9], right=True), MATRIX),
    "searchsorted": (lambda X: np.searchsorted([0.6, 0.9], X, "right"), MATRIX),
    "interp": (
        lambda X: np.interp(X, [0.6, 0.7, 1.2], [1.0, 2.0, 5.0], right=7.0),
        {"X": "M"},
    ),
    "interp of heights": (
        lambda X, F: np.interp(X, [0.6, 0.7, 1.2], F),
        {"X": "M", "F": "3"},
    ),
    "mgrid": (lambda X: np.mgrid[0 : len(X), 1:4][0], MATRIX),
    "ogrid": (lambda X: X * np.ogrid[0 : len(X), 0 : X.shape[1]][1], MATRIX),
    "r_": (lambda X: np.r_[X, 0.5, X], {"X": "M"}),
    "c_": (lambda X: np.c_[X, X], {"X": "M"}),
    "ediff1d": (lambda X: np.ediff1d(X, to_end=1.0, to_begin=2.0), {"X": "N"}),
    "correlate": (
        lambda X: np.correlate(X, [1.0, 2.0, 4.0]),
        {"X": "N"},
    ),
    "cross": (lambda X, Y: np.cross(X, Y), {"X": "M 3", "Y": "M 3"}),
    "choose": (lambda X, T: np.choose(T % 2, [X, 2 * X]), {"X": "M", "T": "M:i32"}),
    "choose from the nearest": (
        lambda X, T: np.choose(T, [X, 2 * X], mode="clip"),
        {"X": "M", "T": "M:i32"},
    ),
    "take around": (lambda X, T: np.take(X, T + 3, axis=1, mode="wrap"), TABLE),
    "diag beside": (lambda X: np.diag(X, 1) + np.diag(X, -1), {"X": "N"}),
    "diagflat": (lambda X: np.diagflat(X), MATRIX),
    "isclose": (lambda X, Y: np.isclose(X, Y, atol=0.1), TWO),
    "lines": (lambda X: np.apply_along_axis(lambda r: r * r.sum(), 1, X), MATRIX),
    "numbers of lines": (lambda X: np.apply_along_axis(np.max, 0, X), MATRIX),
    "fromfunction": (
        lambda X: np.fromfunction(lambda i, j: i + 2 * j, X.shape) + X,
        MATRIX,
    ),
    "vectorize of two": (
        lambda X, Y: np.vectorize(lambda v, w: v * w if v > w else w)(X, Y),
        TWO,
    ),
    "mean where": (lambda X: X.mean(1, where=X > 0.1), MATRIX),
    "columns first": (lambda X: X.reshape(-1, order="F"), MATRIX),
    "unravel": (lambda X: np.unravel_index(X.argmax(), X.shape), MATRIX),
    "products of vectors": (
        lambda X, Y: np.vecdot(X, Y) + np.matvec(X, Y[0]) - np.vecmat(Y[:, 0], X)[0],
        TWO,
    ),
    "windows": (lambda X: np.hanning(len(X)) + np.hamming(len(X)), MATRIX),
    "steps of a quarter": (lambda X: X * np.arange(0, 1, 0.25), {"X": "4"}),
    "dstack": (lambda X, Y: np.dstack([X, Y]), TWO),
    "halves": (lambda X: np.hsplit(X, 2)[0], {"X": "M 4"}),
    "a power of a matrix": (lambda X: np.linalg.matrix_power(X, 3), {"X": "N N"}),
    "trapezoid": (lambda X: np.trapezoid(X, axis=1), MATRIX),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_numpy_computes(name: str) -> None:
    function, shapes = CASES[name]
    agree(function, shapes, *SIZES)


def rows_by_map(X: Any) -> Any:
    return np.array(list(map(np.max, X)))


def pairs_by_map(X: Any, Y: Any) -> Any:
    return np.stack(list(map(np.multiply, X, Y)))


def test_map() -> None:
    agree(rows_by_map, MATRIX, *SIZES)
    agree(pairs_by_map, TWO, *SIZES)


def sorts(X: Any) -> Any:
    return np.unique(X)


def numbers_of_some(X: Any) -> Any:
    return np.vectorize(lambda x: x if x > 0 else 0)(X)


def searches_in_data(X: Any) -> Any:
    return np.searchsorted(X[0], X[1])


def compares(X: Any) -> Any:
    return X if np.array_equal(X, X) else X * 0


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (sorts, "np.unique, which is not traced"),
        (numbers_of_some, "makes whole numbers of some"),
        (searches_in_data, "np.searchsorted of a table that is not known"),
        (compares, "np.array_equal, which is not traced"),
    ],
)
def test_what_is_not_traced(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(Unknown, match=why):
        traced(function, MATRIX).results[0].at(())


def catches_all(X: Any) -> Any:
    try:
        return np.unique(X)
    except Exception:  # noqa: BLE001
        return X


def catches_one_of_two(X: Any) -> Any:
    try:
        return np.unique(X)
    except (TypeError, BaseException):  # noqa: BLE001
        return X


def catches_without_a_name(X: Any) -> Any:
    def inner() -> Any:
        try:
            return np.unique(X)
        except:  # noqa: E722
            return X

    return inner()


def leaves_at_last(X: Any) -> Any:
    try:
        return np.unique(X)
    finally:
        return X  # noqa: B012, SIM107


class Silent:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: Any) -> bool:
        return True


def in_silence(X: Any) -> Any:
    with Silent():
        return np.unique(X)
    return X


@pytest.mark.parametrize(
    "function",
    [
        catches_all,
        catches_one_of_two,
        catches_without_a_name,
        leaves_at_last,
        in_silence,
    ],
)
def test_what_is_not_traced_is_not_hidden(function: Callable[..., Any]) -> None:
    with pytest.raises(
        Unknown, match=r"exceptions of any kind|what is not np\.errstate"
    ):
        traced(function, MATRIX)


def catches_a_value(X: Any) -> Any:
    try:
        with np.errstate(divide="ignore"):
            return X / 2
    except ValueError:
        return X


def test_named_errors_and_errstate_hide_nothing() -> None:
    agree(catches_a_value, MATRIX, *SIZES)
