"""Sizes at which a kernel is tried, smallest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from argus.equivalence.sizes import Sizes, fixed_sizes, free_sizes, mended
from argus.evaluation.tiles.extents import tile_extents
from argus.ir.expr import Binary, Const, Expr, Sym, evaluate
from argus.ir.program import Program
from argus.specialisations import DIVISORS, divisor

__all__ = ["drawn", "narrower", "of_divisors", "whole_tiles"]

_USUAL = (1, 2, 3, 5, 8, 17)
"""Sizes of a dimension that no tile has."""
_TIMES = (1, 2, 2, 3, 4)
"""How many times what divides it a size is."""
_FEW, _SOME, _MORE = 64, 1 << 10, 1 << 14
"""Largest sizes of ranges."""


def narrower(dims: Sequence[str], largest: int) -> Iterator[dict[str, tuple[int, int]]]:
    """Ranges of sizes, those of few elements first.

    What decides a condition is one size, as a rule, beside which all others are small.
    """
    yield dict.fromkeys(dims, (1, _FEW))
    for most in (_SOME, _MORE, largest):
        for dim in dims:
            yield {**dict.fromkeys(dims, (1, _USUAL[-2])), dim: (1, most)}


def drawn(program: Program, rng: np.random.Generator) -> Iterator[Sizes]:
    """Sizes without end, smallest first, that the requirements admit."""
    free = free_sizes(program)
    tiles, _ = tile_extents(program)
    multiples = list(_multiples(program))
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
        for dim, by in multiples:
            _multiply(sizes, dim, by, tiles.get(dim, 1), rng)
        made = mended(program, sizes)
        if made is not None:
            yield made
        elif number % 64 == 0:
            yield {}  # nothing is admitted, for all that is known: the caller decides


def _multiples(program: Program) -> Iterator[tuple[str, Expr]]:
    """Sizes that are required to be multiples, and of what."""
    left = [r.cond for r in program.requirements]
    free = set(free_sizes(program))
    while left:
        match left.pop(0):
            case Binary(op="and", left=a, right=b):
                left[:0] = [a, b]
            case Binary(
                op="==", left=Binary(op="%", left=Sym(name=name), right=divisor),
                right=Const(value=0),
            ) if name in free:  # fmt: skip
                yield name, divisor
            case _:
                pass


def _multiply(
    sizes: Sizes, dim: str, divisor: Expr, tile: int, rng: np.random.Generator
) -> None:
    """Let a size be a multiple, of heads or groups a few times what divides them.

    What is nearest to a size that is no multiple is the divisor itself, as a rule: then
    there is one group, or one head in each.
    """
    try:
        one = int(evaluate(divisor, sizes))
    except (KeyError, ZeroDivisionError):
        return  # it is no number of sizes
    if one > 0:
        times = sizes[dim] // one if tile > 1 else int(rng.choice(_TIMES))
        sizes[dim] = one * max(times, 1)


def of_divisors(
    program: Program, sizes: Mapping[str, int], divisors: Mapping[str, int]
) -> Mapping[str, int]:
    """Sizes near these of which `divisor` is that of each dimension, if there are some.

    ``divisors``: those of `SpecialisationSpace.extents`, which other calls do not
    choose.
    """
    made = dict(sizes)
    for dim, known in divisors.items():
        if made.get(dim, 0) > 0:
            times = max(-(-made[dim] // known), 1)
            made[dim] = known * (times if known == max(DIVISORS) else times | 1)
    found = mended(program, made) if made != sizes else None
    if found is None or any(divisor(found.get(d, n)) != n for d, n in divisors.items()):
        return sizes
    return found


def whole_tiles(program: Program) -> Sizes | None:
    """Sizes at which no tile ends within a tensor; None if none are found."""
    tiles, _ = tile_extents(program)
    sizes = {dim: max(tiles.get(dim, 1), 2) for dim in free_sizes(program)}
    return mended(program, {**fixed_sizes(program), **sizes})
