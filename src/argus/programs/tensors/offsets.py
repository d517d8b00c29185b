"""Where the elements of an operand are in its value, through its views.

strides, start = offsets_through(operand)      # None where it has no strides
digits, start = digits_through(operand)        # where a dimension may have several
source_offset(operand, coordinates, space)     # of loops that `space` knows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.programs.tensors.affine import Affine
from argus.programs.tensors.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.tensors.tensor_program import ProgramValue, ViewedValue
from argus.programs.tensors.views import BorderedView, LinearView, ReshapedView

__all__ = [
    "MOST_SPLITS",
    "FoundBorders",
    "digits_through",
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
    found = digits_through(operand)
    if found is None or any(len(digits) > 1 for digits in found[0]):
        return None
    return tuple(digits[0][1] if digits else 1 for digits in found[0]), found[1]


def digits_through(
    operand: ViewedValue,
) -> tuple[tuple[tuple[tuple[int, int], ...], ...], int] | None:
    """Digits of each dimension of an operand, and its start in elements of its value.

    A digit is a size and a step in elements, the outermost first; digits that follow
    each other are one. Operands that show the same have the same. None: no steps.
    """
    if 0 in operand.shape:
        return (((1, 0),),) * len(operand.shape), 0
    if any(isinstance(v, BorderedView) for v in operand.views):
        return None
    space = LoopSpace()
    for _ in range(MOST_SPLITS):
        at: list[Affine] = []
        loops: list[tuple[str, ...]] = []
        for d, n in enumerate(operand.shape):
            index, own = space.index(f"o{d}", n)
            at.append(index)
            loops.append(own)
        try:
            offset = source_offset(operand, at, space)
        except NeedsSplitError as need:
            space.split(need)
            continue
        except NotAffineError:
            return None
        pairs = [[(space.sizes[n], offset.factor(n)) for n in own] for own in loops]
        return tuple(map(_followed, pairs)), offset.constant
    return None


def _followed(digits: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Digits with those as one that follow each other."""
    found: list[tuple[int, int]] = []
    for size, step in digits:
        if found and found[-1][1] == step * size:
            size *= found.pop()[0]
        found.append((size, step))
    return tuple(found)


def source_offset(
    operand: ViewedValue,
    at: Sequence[Affine],
    space: LoopSpace,
    borders: FoundBorders | None = None,
) -> Affine:
    """Where an operand's element is in its value.

    As long as views have strides in memory, no reshape splits a loop: a dimension that
    others become is as good as these where they follow each other. Raises like
    `source_coordinates`.
    """
    strides, start, done = operand.value.strides, 0, 0
    shape = operand.value.shape
    for view in operand.views:
        match view:
            case LinearView(factors=factors, starts=starts):
                moved = [0] * len(view.shape)
                for stride, pairs in zip(strides, factors, strict=True):
                    for d, factor in pairs:
                        moved[d] += stride * factor
                start += sum(n * s for n, s in zip(starts, strides, strict=True))
                strides = tuple(moved)
            case ReshapedView():
                found = _reshaped(strides, shape, view.shape)
                if found is None:  # loops have digits where there are two steps
                    shape, strides = _merged(shape, strides)
                    break
                strides = found
            case BorderedView():
                break
        shape, done = view.shape, done + 1
    seen = ViewedValue(replace(operand.value, shape=shape), operand.views[done:])
    total = Affine((), start)
    coordinates = source_coordinates(seen, at, space, borders)
    for index, stride in zip(coordinates, strides, strict=True):
        total = total + index * stride
    return total


def _merged(
    shape: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides with dimensions that follow each other as one."""
    found: list[tuple[int, int]] = []
    for n, step in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if found and found[-1][1] == n * step:
            found[-1] = (found[-1][0] * n, step)
        else:
            found.append((n, step))
    return tuple(n for n, _ in found), tuple(s for _, s in found)


def _reshaped(
    strides: Sequence[int], shape: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides of the same elements in another shape; None where it has none.

    Dimensions become one where they follow each other, and one becomes several.
    """
    found = [0] * len(wanted)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    new = [d for d, n in enumerate(wanted) if n != 1]
    while old and new:
        size, step = old.pop()
        own = [new.pop()]
        room = wanted[own[-1]]
        while size != room:
            if size < room:
                if not old:
                    return None
                n, s = old.pop()
                if s != size * step:  # their elements so far are one dimension
                    return None
                size *= n
            else:
                if not new:
                    return None
                own.append(new.pop())
                room *= wanted[own[-1]]
        for d in own:
            found[d] = step
            step *= wanted[d]
    return None if old or new else tuple(found)


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
