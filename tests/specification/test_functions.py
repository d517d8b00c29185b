"""Each function of numpy: what is traced is what numpy computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree

SMALL = ({"M": 3, "N": 4, "K": 2}, {"M": 1, "N": 5, "K": 3}, {"M": 4, "N": 1, "K": 1})
MATRIX = {"X": "M N"}
TWO = {"X": "M N", "Y": "M N"}

Function = Callable[..., Any]

UNARY: list[Function] = [
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.square,
    np.tanh, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.arctan, np.floor, np.ceil,
    np.rint, np.trunc, np.abs, np.fabs, np.negative, np.positive, np.reciprocal,
    np.sign, np.deg2rad, np.rad2deg, np.round, np.cumsum, np.ravel, np.transpose,
    np.flip, np.fliplr, np.flipud, np.tril, np.triu, np.sum, np.mean, np.max, np.min,
    np.var, np.std, np.ptp, np.zeros_like, np.ones_like, np.copy, np.asarray, np.array,
    np.atleast_1d, np.diff, np.linalg.norm, np.nansum, np.atleast_2d, np.trace,
    np.diagonal, np.average, np.amax, np.around, np.rot90,
]  # fmt: skip
BINARY: list[Function] = [
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax,
    np.fmin, np.logaddexp, np.hypot, np.floor_divide, np.remainder, np.fmod, np.equal,
    np.less, np.less_equal, np.greater, np.greater_equal, np.not_equal, np.outer,
]  # fmt: skip


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_array(function: Function) -> None:
    agree(lambda X: function(X), MATRIX, *SMALL)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_arrays(function: Function) -> None:
    agree(lambda X, Y: function(X, Y), TWO, *SMALL)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_with_a_number(function: Function) -> None:
    agree(lambda X: function(X, 0.75), MATRIX, *SMALL)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (-1,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis: Any, keepdims: bool) -> None:
    def several(X: Any) -> Any:
        return (
            X.sum(axis, keepdims=keepdims),
            X.max(axis=axis, keepdims=keepdims),
            X.min(axis=axis, keepdims=keepdims),
            X.mean(axis=axis, keepdims=keepdims),
            np.var(X, axis, keepdims=keepdims),
            X.std(axis, ddof=0, keepdims=keepdims),
            (X > 1).any(axis, keepdims=keepdims),
            (X > 0.6).all(axis=axis, keepdims=keepdims),
            np.count_nonzero(X > 1, axis=axis, keepdims=keepdims),
        )

    agree(several, MATRIX, *SMALL[:2])


PLAIN: dict[str, Function] = {
    "broadcast_to": lambda X: np.broadcast_to(0.5, (len(X), 2)),
    "broadcast_to of a list": lambda X: np.broadcast_to([2, 3], (len(X), 2)),
    "broadcast_to of a float32": lambda X: np.broadcast_to(np.float32(0.5), (len(X),)),
    "repeat": lambda X: np.repeat([0.5, 1.5], len(X)),
    "tile": lambda X: np.tile([[1, 2]], (len(X), 2)),
    "pad": lambda X: np.pad([3.0], (1, len(X)), constant_values=2),
    "roll": lambda X: np.roll([0.5, 1.5, 2.5], len(X)),
    "full_like": lambda X: np.full_like([0.0, 1.0], len(X)),
}
"""What has no symbolic array but in a size."""


@pytest.mark.parametrize("name", PLAIN)
def test_of_numbers_and_symbolic_sizes(name: str) -> None:
    agree(PLAIN[name], MATRIX, *SMALL)


CALLS: dict[str, tuple[Function, dict[str, str]]] = {
    "matmul": (lambda X, Y: X @ Y, {"X": "M K", "Y": "K N"}),
    "matmul of a vector": (lambda X, Y: X @ Y, {"X": "M K", "Y": "K"}),
    "vector by matrix": (lambda X, Y: X @ Y, {"X": "K", "Y": "K N"}),
    "inner product": (lambda X, Y: X @ Y, {"X": "K", "Y": "K"}),
    "batched matmul": (lambda X, Y: X @ Y, {"X": "M N K", "Y": "M K 2"}),
    "broadcast matmul": (lambda X, Y: X @ Y, {"X": "M 1 N K", "Y": "2 K N"}),
    "swapaxes": (lambda X, Y: X @ Y.swapaxes(-1, -2), {"X": "M N K", "Y": "M 2 K"}),
    "dot": (lambda X, Y: np.dot(X, Y), {"X": "M K", "Y": "N K 2"}),
    "inner": (lambda X, Y: np.inner(X, Y), {"X": "M K", "Y": "N K"}),
    "vdot": (lambda X, Y: np.vdot(X, Y), {"X": "M N", "Y": "M N"}),
    "tensordot": (lambda X, Y: np.tensordot(X, Y, 1), {"X": "M K", "Y": "K N"}),
    "tensordot pairs": (
        lambda X, Y: np.tensordot(X, Y, ([0, 1], [1, 0])),
        {"X": "M K", "Y": "K M N"},
    ),
    "einsum": (lambda X, Y: np.einsum("mk,nk->mn", X, Y), {"X": "M K", "Y": "N K"}),
    "einsum sums": (lambda X: np.einsum("mn->", X), MATRIX),
    "einsum implicit": (
        lambda X, Y: np.einsum("ij,jk", X, Y),
        {"X": "M K", "Y": "K N"},
    ),
    "einsum diagonal": (lambda X: np.einsum("ii->i", X), {"X": "N N"}),
    "einsum ellipsis": (
        lambda X, Y: np.einsum("...k,...k->...", X, Y),
        {"X": "M N K", "Y": "M N K"},
    ),
    "einsum of three": (
        lambda X, Y, Z: np.einsum("ab,bc,cd->ad", X, Y, Z),
        {"X": "M K", "Y": "K N", "Z": "N 2"},
    ),
    "where": (lambda X, Y: np.where(X > Y, X, 0), TWO),
    "select": (
        lambda X, Y: np.select([X > Y, X > 1], [X, 2 * Y], -1.0),
        TWO,
    ),
    "where of a position": (
        lambda X: np.where(np.arange(X.shape[1]) < X.shape[0], X, -1.5),
        MATRIX,
    ),
    "clip": (lambda X: np.clip(X, 0.8, 1.2), MATRIX),
    "diff of what stands before": (lambda X: np.diff(X, prepend=0), MATRIX),
    "diff of what stands beside": (
        lambda X: np.diff(X, 2, 0, prepend=X[:1], append=[[1.5]] * np.ones_like(X[:1])),
        MATRIX,
    ),
    "bits of positions": (
        lambda X: np.bitwise_count(np.arange(X.shape[1]) + 5) * X,
        MATRIX,
    ),
    "parts of a count": (
        lambda X: ((X > 0).sum(1) // 2, (X > 0).sum(1) % 2, (X > 0).sum() & 3),
        MATRIX,
    ),
    "clip method": (lambda X: X.clip(0.8, None), MATRIX),
    "concatenate": (lambda X, Y: np.concatenate([X, Y, X], axis=1), TWO),
    "concatenate rows": (
        lambda X, Y: np.concatenate((X, Y)),
        {"X": "M N", "Y": "K N"},
    ),
    "block": (lambda X, Y: np.block([[X, Y], [Y, X]]), TWO),
    "block of a row": (lambda X, Y: np.block([X, Y, X]), TWO),
    "block of rows": (lambda X, Y: np.block([[X[0]], [Y]]), TWO),
    "concatenate flat": (lambda X, Y: np.concatenate([X, Y], axis=None), TWO),
    "stack": (lambda X, Y: np.stack([X, Y], -1), TWO),
    "stack first": (lambda X, Y: np.stack((X, Y, X)), TWO),
    "vstack": (lambda X, Y: np.vstack([X, Y]), {"X": "N", "Y": "N"}),
    "hstack": (lambda X, Y: np.hstack([X, Y]), TWO),
    "column_stack": (lambda X, Y: np.column_stack([X, Y]), {"X": "N", "Y": "N K"}),
    "pad": (lambda X: np.pad(X, ((1, 2), (0, 3))), MATRIX),
    "pad all": (lambda X: np.pad(X, 1, constant_values=2.5), MATRIX),
    "pad reflect": (
        lambda X: np.pad(np.tile(X, (3, 3)), ((1, 1), (2, 0)), mode="reflect"),
        MATRIX,
    ),
    "pad symmetric": (
        lambda X: np.pad(np.tile(X, (2, 3)), ((1, 2), (0, 2)), "symmetric"),
        MATRIX,
    ),
    "pad wrap": (
        lambda X: np.pad(np.tile(X, (2, 2)), ((2, 1), (0, 2)), "wrap"),
        MATRIX,
    ),
    "pad edge": (lambda X: np.pad(X, ((1, 1), (2, 0)), mode="edge"), MATRIX),
    "repeat": (lambda X: np.repeat(X, 3, axis=1), MATRIX),
    "repeat flat": (lambda X: X.repeat(2), MATRIX),
    "tile": (lambda X: np.tile(X, (2, 3)), MATRIX),
    "tile more": (lambda X: np.tile(X, (2, 1, 2)), MATRIX),
    "roll": (lambda X: np.roll(X, 1, axis=1), MATRIX),
    "roll both": (lambda X: np.roll(X, (1, -2), axis=(0, 1)), MATRIX),
    "roll flat": (lambda X: np.roll(X, 2), MATRIX),
    "moveaxis": (lambda X: np.moveaxis(X, 0, -1), {"X": "M N K"}),
    "moveaxis two": (lambda X: np.moveaxis(X, (0, 1), (2, 0)), {"X": "M N K"}),
    "rollaxis": (lambda X: np.rollaxis(X, 2), {"X": "M N K"}),
    "transpose": (lambda X: X.transpose(1, 2, 0), {"X": "M N K"}),
    "transpose tuple": (lambda X: np.transpose(X, (2, 0, 1)), {"X": "M N K"}),
    "expand_dims": (lambda X: np.expand_dims(X, (0, 2)), MATRIX),
    "squeeze": (lambda X: X[:, None].squeeze(1), MATRIX),
    "squeeze all": (lambda X: X[None, :, None].squeeze(), {"X": "2 3"}),
    "broadcast_to": (lambda X: np.broadcast_to(X, (3, *X.shape)), MATRIX),
    "split": (lambda X: tuple(np.split(X, 2, axis=1)), {"X": "M 6"}),
    "split at": (lambda X: tuple(np.split(X, [1, 4], axis=1)), {"X": "M 6"}),
    "sliding windows": (
        lambda X: np.lib.stride_tricks.sliding_window_view(X, 3, axis=1),
        {"X": "M 7"},
    ),
    "cumsum axis": (lambda X: X.cumsum(0), MATRIX),
    "accumulate": (lambda X: np.add.accumulate(X, axis=1), MATRIX),
    "running maximum": (lambda X: np.maximum.accumulate(X, axis=1), MATRIX),
    "reduce": (lambda X: np.add.reduce(X), MATRIX),
    "largest": (lambda X: np.maximum.reduce(X, axis=1), MATRIX),
    "outer": (lambda X, Y: np.multiply.outer(X, Y), {"X": "M", "Y": "N"}),
    "outer sub": (lambda X, Y: np.subtract.outer(X, Y), {"X": "M", "Y": "N"}),
    "mean where": (lambda X: X.sum(1, where=X > 1), MATRIX),
    "sum with a start": (lambda X: X.sum(1, initial=2.0), MATRIX),
    "norm of rows": (lambda X: np.linalg.norm(X, axis=1, keepdims=True), MATRIX),
    "average": (lambda X, Y: np.average(X, axis=1, weights=Y), TWO),
    "eye": (lambda X: X @ np.eye(X.shape[1]), MATRIX),
    "tri": (lambda X: X * np.tri(X.shape[0], X.shape[1], 1), MATRIX),
    "tril of ones": (lambda X: np.tril(np.ones(X.shape), -1) * X, MATRIX),
    "triu shifted": (lambda X: np.triu(X, k=1), MATRIX),
    "arange": (lambda X: X + np.arange(X.shape[1]), MATRIX),
    "arange with a step": (lambda X: np.arange(1, 3 * X.shape[1], 2), MATRIX),
    "linspace": (lambda X: X * np.linspace(0, 1, X.shape[1] + 2)[1:-1], MATRIX),
    "full": (lambda X: np.full(X.shape, 2.5) * X, MATRIX),
    "full like": (lambda X: np.full_like(X, 3), MATRIX),
    "zeros": (lambda X: np.zeros((X.shape[0], 2)), MATRIX),
    "indices": (lambda X: np.indices((X.shape[0], 2)), MATRIX),
    "meshgrid": (
        lambda X, Y: tuple(np.meshgrid(X, Y)),
        {"X": "M", "Y": "N"},
    ),
    "diag": (lambda X: np.diag(X), {"X": "N"}),
    "diagonal of a matrix": (lambda X: np.diag(X), MATRIX),
    "vectorize": (lambda X: np.vectorize(math.erf)(X / 2**0.5), MATRIX),
    "vectorize of ours": (lambda X: np.vectorize(lambda x: x * x + 1)(X), MATRIX),
    "math": (lambda X: X / math.sqrt(X.shape[1]), MATRIX),
    "mathematics of numbers": (lambda X: X * math.exp(0.5) + math.pi, MATRIX),
    "power": (lambda X: X**3 + X**0.5 + X**-2 + 1.5**X, MATRIX),
    "power of a size": (lambda X: X * X.shape[1] ** -0.5, MATRIX),
    "integer powers": (lambda X: np.arange(X.shape[1]) ** 2, MATRIX),
    "casts": (
        lambda X: (X * 5).astype(np.int64) + X.astype(np.float32).astype(int),
        MATRIX,
    ),
    "truth as numbers": (lambda X: (X > 1) * 2.0 + (X > 1).astype(np.float32), MATRIX),
    "sums of truths": (lambda X: (X > 1).sum(1), MATRIX),
    "truths": (lambda X, Y: ((X > Y) | (X < 0.7)) & ~(Y > 1.2) ^ (X > 1), TWO),
    "logical": (
        lambda X, Y: np.logical_or(X > 1, np.logical_not(Y > 1)),
        TWO,
    ),
    "integers": (
        lambda X: np.arange(X.shape[1]) // 3 - np.arange(X.shape[1]) % 3,
        MATRIX,
    ),
    "bits": (
        lambda X: (np.arange(X.shape[1]) >> 1) + (np.arange(X.shape[1]) << 2),
        MATRIX,
    ),
    "divmod": (lambda X: divmod(np.arange(X.shape[1]), 2), MATRIX),
    "size": (lambda X: X / X.size + len(X) + X.ndim, MATRIX),
    "out": (lambda X, Y: np.add(X, Y, out=np.zeros_like(X)), TWO),
    "minus infinity": (
        lambda X: np.exp(np.where(X > 1, X, float("-inf"))),
        MATRIX,
    ),
    "type limits": (
        lambda X: np.exp(np.where(X > 1, X, np.finfo(np.float32).min)),
        MATRIX,
    ),
    "python's extremes": (
        lambda X: X * max(X.shape[0], X.shape[1]) + min(X.shape[0], 2),
        MATRIX,
    ),
    "python's sum": (lambda X: sum([X, X * X, X + 1]), MATRIX),
    "python's sum of rows": (lambda X: sum(X), MATRIX),
    "take": (lambda X, I: np.take(X, I, axis=1), {"X": "M N", "I": "K:i32"}),
    "take along": (
        lambda X, I: np.take_along_axis(X, I, axis=1),
        {"X": "M N", "I": "M K:i32"},
    ),
    "take along, one row for all": (
        lambda X: np.take_along_axis(X, np.arange(X.shape[1])[None, ::-1], axis=1),
        MATRIX,
    ),
    "argmax": (lambda X: (X.argmax(1), np.argmax(X, axis=0)), MATRIX),
    "argmin": (lambda X: (np.argmin(X), X.argmin(-1, keepdims=True)), MATRIX),
    "first of equal ones": (lambda X: (X > 0.8).argmax(1), MATRIX),
    "shape": (lambda X: X * np.shape(X)[0] + np.ndim(X) * np.size(X, 1), MATRIX),
    "isinstance of numbers": (
        lambda X: X
        + isinstance(X.shape[0], int) * 1
        + isinstance(X.shape[0], float) * 2
        + isinstance(X.sum(), float) * 4
        + isinstance(X.sum(), np.ndarray) * 8
        + isinstance(X.argmax(), (int, np.integer)) * 16
        + isinstance(X, (list, np.ndarray)) * 32,
        MATRIX,
    ),
    "isinstance": (
        lambda X: X * 2 if isinstance(X, np.ndarray) else X,
        MATRIX,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    function, shapes = CALLS[name]
    if name == "type limits":
        # A finite stand-in for minus infinity is infinity: its exponential is 0.
        assert np.exp(np.float64(np.finfo(np.float32).min)) == 0
    agree(function, shapes, *SMALL)


def test_whole_numbers_as_the_bits_of_floats() -> None:
    import ml_dtypes

    def numbers(X: Any) -> Any:
        codes = (np.trunc(X).astype(np.int32) & 15).astype(np.uint8)
        return codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32)

    agree(numbers, MATRIX, *SMALL)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_rows(mode: Any) -> None:
    def rows(X: Any, V: Any) -> Any:
        return np.stack([np.convolve(row, V, mode) for row in X])

    sizes = (
        {"M": 2, "N": 6, "K": 3},
        {"M": 1, "N": 5, "K": 2},
        {"M": 3, "N": 4, "K": 4},
    )
    made = agree(rows, {"X": "M N", "V": "K"}, *sizes)
    assert any("np.convolve" in why for why in made.needs)


@pytest.mark.parametrize("turns", [0, 1, 2, 3, -1, 6])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, 0)])
def test_turns_by_90_degrees(turns: int, axes: tuple[int, int]) -> None:
    agree(lambda X: np.rot90(X, turns, axes), MATRIX, *SMALL)
