"""Sizes at which a kernel is tried, smallest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from argus.equivalence.sizes import Sizes, fixed_sizes, free_sizes, mended
from argus.evaluation.tiles.extents import tile_extents
from argus.ir.program import Program

__all__ = ["drawn", "narrower", "whole_tiles"]

_USUAL = (1, 2, 3, 5, 8, 17)
"""Sizes of a dimension that no tile has."""
_FEW, _SOME = 64, 1 << 10
"""Largest sizes of ranges."""


def narrower(dims: Sequence[str], largest: int) -> Iterator[dict[str, tuple[int, int]]]:
    """Ranges of sizes, those of few elements first.

    What decides a condition is one size, as a rule, beside which all others are small.
    """
    yield dict.fromkeys(dims, (1, _FEW))
    for most in (_SOME, largest):
        for dim in dims:
            yield {**dict.fromkeys(dims, (1, _USUAL[-2])), dim: (1, most)}


def drawn(program: Program, rng: np.random.Generator) -> Iterator[Sizes]:
    """Sizes without end, smallest first, that the requirements admit."""
    free = free_sizes(program)
    tiles, _ = tile_extents(program)
    number = 0
    while True:
        # Few tiles first: what differs there is found soonest and told best.
        most = 1 + min(number // 6, 3)
        sizes = fixed_sizes(program)
        for dim in free:
            tile = tiles.get(dim, 1)
            if tile == 1:
                sizes[dim] = int(rng.choice(_USUAL[: 2 + number // 2]))
            else:
                whole = tile * int(rng.integers(0, most + 1))
                rest = int(rng.choice((0, 1, tile // 2 + 1, tile - 1)))
                sizes[dim] = max(whole + rest, 1)
        number += 1
        made = mended(program, sizes)
        if made is not None:
            yield made
        elif number % 64 == 0:
            yield {}  # nothing is admitted, for all that is known: the caller decides


def whole_tiles(program: Program) -> Sizes | None:
    """Sizes at which no tile ends within a tensor; None if none are found."""
    tiles, _ = tile_extents(program)
    sizes = {dim: max(tiles.get(dim, 1), 2) for dim in free_sizes(program)}
    return mended(program, {**fixed_sizes(program), **sizes})
