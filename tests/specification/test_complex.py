"""Complex arrays of a reference: what is traced is what numpy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree, traced

from argus.terms import Unknown

Parts = tuple[Any, ...]
TWO = {"X": "M N", "Y": "M N"}
SMALL = ({"M": 3, "N": 4}, {"M": 1, "N": 2})


def parts(z: Any) -> Parts:
    return z.real, z.imag


RULES: list[Callable[[Any, Any], Parts]] = [
    lambda X, Y: parts(X + 1j * Y),
    lambda X, Y: parts((X - 1j * Y) * (Y + 2j * X) + 3),
    lambda X, Y: parts(2 - (X + Y * (1 + 2j))),
    lambda X, Y: parts((X + 1j * Y).conj() * 1j),
    lambda X, Y: parts(-np.conj(1j * Y) / 2),
    lambda X, Y: parts((X + 1j * Y) / Y),
    lambda X, Y: parts(X * np.exp(1j * Y)),
    lambda X, Y: parts(np.exp(X + 1j * Y)),
    lambda X, Y: (np.abs(X + 1j * Y), np.imag(X + 1j * Y), np.real(1j * Y)),
    lambda X, Y: parts((X + 1j * Y) @ (X - 2j * Y).T),
    lambda X, Y: parts(X @ (1j * Y).T),
    lambda X, Y: parts((X + 1j * Y).sum(0)),
    lambda X, Y: parts((X + 1j * Y).reshape(-1)[1:].mean()),
    lambda X, Y: parts((X + 1j * Y)[:, ::2] * (1j * X)[:, ::2]),
    lambda X, Y: parts(np.complex64(2 + 1j) * X + 0 * Y),
]


@pytest.mark.parametrize("function", RULES)
def test_what_is_traced(function: Callable[[Any, Any], Parts]) -> None:
    agree(function, TWO, *SMALL)


@pytest.mark.parametrize(
    "function",
    [
        lambda X, Y: X / (X + 1j * Y),
        lambda X, Y: np.sqrt(X + 1j * Y),
        lambda X, Y: X @ np.complex64(1j),
        lambda X, Y: (X + 1j * Y).max(),
        lambda X, Y: np.einsum("mn->n", X + 1j * Y),
        lambda X, Y: np.add.reduce(X + 1j * Y),
        lambda X, Y: (X + 1j * Y).prod(),
        lambda X, Y: X + 1j * Y,
    ],
)
def test_what_is_not_traced_is_unknown(function: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(Unknown):
        traced(function, TWO)
