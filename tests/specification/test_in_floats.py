"""Positions in floats of few bits have to be held, or launches need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree

SIZES = ({"M": 3, "N": 4}, {"M": 4, "N": 1})


def _index(X: Any) -> Any:
    return X[:, np.arange(X.shape[1]).astype(np.float16).astype(np.int64)]


def _mask(X: Any) -> Any:
    return np.where(np.arange(X.shape[1], dtype=np.float16) < 3001, X, 0.0)


def _sum(X: Any) -> Any:
    return X[:, (np.arange(X.shape[1]).astype(np.float16) * 2).astype(np.int64) // 2]


LARGEST = {_index: 2049, _mask: 2049, _sum: 1025}
"""Sizes up to which a float holds what a function computes of positions."""


@pytest.mark.parametrize("function", LARGEST, ids=lambda f: f.__name__)
def test_positions_have_to_be_held(function: Callable[..., Any]) -> None:
    tracing = agree(function, {"X": "M N"}, *SIZES).tracing
    size, most = tracing.world.size("N"), LARGEST[function]
    needed = [n.where for n in tracing.needs if n.where is not None]
    assert any(
        tracing.world.is_empty(where & tracing.world.compare(size, ">", most))
        and not tracing.world.is_empty(where & tracing.world.compare(size, "==", most))
        for where in needed
    )


def test_of_entries_it_is_assumed() -> None:
    def weights(Q: Any, X: Any) -> Any:
        return X * Q.astype(np.float16)

    made = agree(weights, {"Q": "M N:i32", "X": "M N"}, *SIZES)
    assert not made.needs
    assert any("fit it" in said for said in made.tracing.assumptions)


def test_numbers_that_are_written_down() -> None:
    def masked(X: Any) -> Any:
        return np.where(X > 0, X, np.float16(-65504.0))

    assert not agree(masked, {"X": "M N"}, *SIZES).needs
