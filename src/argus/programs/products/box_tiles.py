"""Products whose rows are pixels: tiles that are boxes of several dimensions.

A convolution is a product for each tap, of pixels that are so far apart. Where pixels
lie with their channels side by side, TMA brings those of several lines and images at
once, with zeros for what lies outside of the image: no copy with a border is made, and
a tile is as full as its sides divide the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import ceil, gcd, log2, prod

from argus.isa.tma import MAX_BOX_DIM, MAX_STEP
from argus.programs.lowering.expressions import Border, ElementNode
from argus.programs.tensors.affine import Affine

_MOST_STEPS, _TILE = 2**13, 128
"""Steps of the tiles of an image, and pixels of a tile: sizes of images are known in a
kernel, and a proof of the order walks all tiles of one."""
_MOST_LOOPS = 4
"""Loops of pixels, at most: beside them TMA walks channels."""


@dataclass(frozen=True)
class BoxTile:
    """The loops of pixels, outermost first, and how many of each are in a tile."""

    loops: tuple[str, ...]
    sides: tuple[int, ...]


@lru_cache(maxsize=1024)
def box_sides(
    sizes: tuple[int, ...], steps: tuple[int, ...], count: int
) -> tuple[int, ...]:
    """Sides of a box of ``count`` pixels, a power of two, that leaves least empty.

    Of those that leave as little, the one with the longest lines. ``steps``: elements
    of the input between pixels; TMA goes over as many as a box has.
    """
    powers = [[1 << k for k in range(count.bit_length()) if s << k <= MAX_BOX_DIM]
              for s in steps]  # fmt: skip
    able = (s for s in product(*powers) if prod(s) == count)
    return min(able, key=lambda s: (_covered(sizes, s), *(-n for n in reversed(s))))


def box_rows(sizes: tuple[int, ...], steps: tuple[int, ...], count: int) -> int:
    """Pixels that tiles of ``count`` compute, those for nothing included; 0: none."""
    most = prod(1 << (MAX_BOX_DIM // s).bit_length() - 1 for s in steps)
    if count & (count - 1) or count > most:
        return 0
    return _covered(sizes, box_sides(sizes, steps, count))


def boxes_fill_tiles(sizes: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether TMA brings as many pixels at once as a tile has, of loops of these.

    A box spans no more than 256 positions along each: with large steps few pixels.
    """
    walked = [(n, s) for n, s in zip(sizes, steps, strict=True) if n > 1]
    if not walked:
        return False
    return box_rows(tuple(n for n, _ in walked), tuple(s for _, s in walked), _TILE) > 0


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
    it. None where one dimension is walked by two rows.
    """
    if not 1 <= len(rows) <= _MOST_LOOPS or (node.borders and node.fill != 0):
        return None
    offset = node.offset
    own: dict[str, list[str]] = {n: [] for n in rows if offset.factor(n)}
    steps: list[tuple[int, str]] = []
    for border in node.borders:
        inside = [n for n in rows if n in border.index.loops]
        if len(inside) > 1:
            return None
        steps += [(border.stride, n) for n in inside]
    for tap in (n for n, _ in offset.terms if n in columns and n != inner):
        if not own:
            return None
        own[_nearest(offset, tap, own)].append(tap)
    loose, found = dict(offset.terms), list(node.borders)
    for row, taps in own.items():
        step = gcd(*(offset.factor(n) for n in (row, *taps)))
        steps.append((step, row))
        if taps:
            index = Affine.of({n: loose.pop(n) // step for n in (row, *taps)})
            found.append(Border(index, index.range(sizes)[1] + 1, step))
    loops = tuple(row for _, row in sorted(steps, reverse=True))
    if len(loops) < len(rows) or len({step for step, _ in steps}) < len(rows):
        return None
    return loops, Affine.of(loose, offset.constant), tuple(found)


def _nearest(offset: Affine, tap: str, rows: Iterable[str]) -> str:
    """The loop whose steps are most like those of a tap, which moves along with it."""
    far = offset.factor(tap)
    return min(rows, key=lambda n: abs(log2(offset.factor(n) / far)))


def provable(lengths: Sequence[int], taps: Sequence[int]) -> bool:
    """Whether the order of so many tiles and taps is proved in little time."""
    return ceil(prod(lengths) / _TILE) * prod(taps) <= _MOST_STEPS


def pixel_steps(
    loops: Sequence[str], borders: Sequence[Border]
) -> tuple[int, ...] | None:
    """Elements of the input between pixels along each loop; None: not TMA's."""
    factors = ([b.index.factor(n) for b in borders] for n in loops)
    found = tuple(next((f for f in each if f), 1) for each in factors)
    return found if all(1 <= step <= MAX_STEP for step in found) else None
