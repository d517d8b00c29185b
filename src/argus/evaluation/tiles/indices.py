"""Indices of the elements of tiles and views."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from argus.evaluation.tiles.endings import NotExecutable
from argus.evaluation.tiles.order import Env
from argus.interpret.numbers import Array
from argus.ir.access import Ints, global_place
from argus.ir.memory import GlobalView

__all__ = ["axes_of", "flat"]


@lru_cache(256)
def axes_of(shape: tuple[int, ...]) -> tuple[Ints, ...]:
    """Coordinates along each axis of a tile."""
    return tuple(np.ogrid[tuple(slice(n) for n in shape)])


def flat(
    view: GlobalView, axes: tuple[Ints, ...], env: Env, shape: tuple[int, ...]
) -> tuple[Array, Ints]:
    """Which elements of a view exist, and their flat indices.

    Raises NotExecutable for coordinates beyond 64 bits.
    """
    try:
        place = global_place(view, axes, env)
    except OverflowError as why:
        raise NotExecutable("a coordinate is beyond 64 bits") from why
    at: Any = np.zeros((), np.int64)
    for coord, extent in zip(place.coords, shape, strict=True):
        at = at * extent + coord
    return place.exists, at
