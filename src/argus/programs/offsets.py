"""Where the elements of an operand are in its value, through its views.

strides, start = offsets_through(operand)      # None where it has no strides
source_offset(operand, coordinates, space)     # of loops that `space` knows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from argus.programs.affine import Affine
from argus.programs.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.tensor_program import ProgramValue, ViewedValue
from argus.programs.views import BorderedView, ReshapedView

__all__ = [
    "MOST_SPLITS",
    "FoundBorders",
    "offset_of",
    "offsets_through",
    "source_coordinates",
    "source_offset",
]

FoundBorders = list[tuple[tuple[Affine, ...], float | int | bool]]
"""Coordinates in what each border is around, and what is outside."""

MOST_SPLITS = 64
"""How often loops are split into digits, at most."""


def offset_of(value: ProgramValue, coordinates: Sequence[Affine]) -> Affine:
    """Where an element is, in elements after the first."""
    total = Affine()
    for index, stride in zip(coordinates, value.strides, strict=True):
        total = total + index * stride
    return total


def offsets_through(operand: ViewedValue) -> tuple[tuple[int, ...], int] | None:
    """Strides and start of an operand in elements of its value; None if it has none."""
    if 0 in operand.shape:
        return (0,) * len(operand.shape), 0
    if any(isinstance(v, BorderedView) for v in operand.views):
        return None
    space = LoopSpace()
    for _ in range(MOST_SPLITS):
        at: list[Affine] = []
        digits: list[tuple[str, ...]] = []
        for d, n in enumerate(operand.shape):
            index, loops = space.index(f"o{d}", n)
            at.append(index)
            digits.append(loops)
        try:
            offset = source_offset(operand, at, space)
        except NeedsSplitError as need:
            space.split(need)
            continue
        except NotAffineError:
            return None
        strides: list[int] = []
        for loops in digits:
            for outer, inner in pairwise(loops):
                if offset.factor(outer) != offset.factor(inner) * space.sizes[inner]:
                    return None
            strides.append(offset.factor(loops[-1]) if loops else 1)
        return tuple(strides), offset.constant
    return None


def source_offset(
    operand: ViewedValue,
    at: Sequence[Affine],
    space: LoopSpace,
    borders: FoundBorders | None = None,
) -> Affine:
    """Where an operand's element is in its value.

    A reshape of a dense tensor moves nothing, and splits no loop. Raises like
    `source_coordinates`.
    """
    dense = not operand.value.pitch and operand.value.home is None
    if dense and operand.views and isinstance(operand.views[0], ReshapedView):
        shape = operand.views[0].shape
        seen = replace(operand.value, shape=shape)
        operand = ViewedValue(seen, operand.views[1:])
    return offset_of(operand.value, source_coordinates(operand, at, space, borders))


def source_coordinates(
    operand: ViewedValue,
    at: Sequence[Affine],
    space: LoopSpace,
    borders: FoundBorders | None = None,
) -> tuple[Affine, ...]:
    """Coordinates of an operand's value at coordinates of the operand.

    To ``borders`` are added, the last view's first, for each view with a border the
    coordinates in what it is around, and what is outside. Raises NeedsSplitError and
    NotAffineError, see `ReshapedView.coordinates`.
    """
    shapes = [operand.value.shape, *(v.shape for v in operand.views)]
    found = tuple(at)
    for view, source in zip(reversed(operand.views), shapes[-2::-1], strict=True):
        outer = found
        found = view.coordinates(found, source, space)
        if isinstance(view, BorderedView) and borders is not None:
            new = tuple(f for f, o in zip(found, outer, strict=True) if f is not o)
            borders.append((new, view.fill))
    return found
