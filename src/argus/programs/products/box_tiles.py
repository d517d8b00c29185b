"""Products whose rows are pixels: tiles that are boxes of several dimensions.

A convolution is a product for each tap, of pixels that are so far apart. Where pixels
lie with their channels side by side, TMA brings those of several lines and images at
once, with zeros for what lies outside of the image: no copy with a border is made, and
a tile is as full as its sides divide the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from argus.isa.tma import MAX_BOX_DIM
from argus.programs.lowering.expressions import Border, ElementNode
from argus.programs.tensors.affine import Affine

_MOST_LOOPS = 4
"""Loops of pixels, at most: beside them TMA walks channels."""


@dataclass(frozen=True)
class BoxTile:
    """The loops of pixels, outermost first, and how many of each are in a tile."""

    loops: tuple[str, ...]
    sides: tuple[int, ...]


def box_sides(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """Sides of a box of ``count`` pixels, a power of two, that leaves least empty.

    Of those that leave as little, the one with the longest lines.
    """
    powers = [1 << k for k in range(count.bit_length()) if 1 << k <= MAX_BOX_DIM]
    able = (s for s in product(powers, repeat=len(sizes)) if prod(s) == count)
    return min(able, key=lambda s: (_covered(sizes, s), *(-n for n in reversed(s))))


def box_rows(sizes: Sequence[int], count: int) -> int:
    """Pixels that tiles of ``count`` compute, those for nothing included; 0: none."""
    if count & (count - 1) or count > MAX_BOX_DIM ** len(sizes):
        return 0
    return _covered(sizes, box_sides(sizes, count))


def _covered(sizes: Sequence[int], sides: Sequence[int]) -> int:
    return prod(ceil(n / s) * s for n, s in zip(sizes, sides, strict=True))


def walked_pixels(
    node: ElementNode,
    rows: Sequence[str],
    columns: Sequence[str],
    inner: str,
    sizes: dict[str, int],
) -> tuple[tuple[str, ...], Affine, tuple[Border, ...]] | None:
    """The loops of pixels of a factor, and its dimensions for a kernel of boxes.

    Each of ``rows`` walks a dimension, with the taps (of ``columns``) that move along
    it. None where one dimension is walked by two rows, or where pixels of a tile are
    several steps apart.
    """
    if not 1 < len(rows) <= _MOST_LOOPS or (node.borders and node.fill != 0):
        return None
    taps = {n: c for n, c in node.offset.terms if n in columns and n != inner}
    found: list[Border] = []
    loose = dict(node.offset.terms)
    order: list[tuple[int, str]] = []
    for row in rows:
        border = next((b for b in node.borders if row in b.index.loops), None)
        if border is not None:
            if border.index.factor(row) != 1 or len(border.index.loops & {*rows}) > 1:
                return None
            order.append((border.stride, row))
            continue
        step = loose[row]
        order.append((step, row))
        own = {n: c // step for n, c in taps.items() if c % step == 0}
        for n in own:
            del taps[n], loose[n]
        if own:
            del loose[row]
            index = Affine.of({row: 1, **own})
            found.append(Border(index, index.range(sizes)[1] + 1, step))
    if taps or len({step for step, _ in order}) < len(rows):
        return None
    loops = tuple(row for _, row in sorted(order, reverse=True))
    rest = Affine.of(loose, node.offset.constant)
    return loops, rest, (*node.borders, *found)
