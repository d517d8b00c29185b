"""Products whose columns are phases of a stride, of pixels of several rows.

A transposed convolution is a product for each phase of its stride. Of the last
dimension phases lie between pixels: where columns are channels with the phases of each,
a tile of the result is rows of the output as they lie in memory, and is stored so. Rows
of pixels that are short follow each other in a tile, with what lies between them in the
input: the tile is stored row by row, each time what lies in that row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil

from argus.programs.lowering.expressions import ElementNode
from argus.programs.tensors.affine import Affine

PHASES = (2, 4)
"""Strides whose phases are columns of a tile, which are powers of two."""
_GAIN = 1.1
"""How many times more pixels of a tile have to be results, so that rows are short."""
_LONGEST = 2**17
"""Positions that are walked as one, at most: of more tiles nothing is proved."""
_TILE = 128
"""Pixels of a tile that rows are held against."""


@dataclass(frozen=True)
class PixelTile:
    """How pixels lie in a tile of a product.

    ``phase``: the loop of columns that lies between pixels, ``phases`` indices of it.
    ``above``: the loop of rows of pixels that are in one tile, each ``pitch`` positions
    after the one before; "" where a tile is a part of one row. ``length``: positions.
    """

    phase: str
    phases: int
    above: str
    pitch: int
    length: int

    def segments(self, pixels: int) -> int:
        """Into how many rows a tile of so many pixels may reach."""
        return (pixels + self.pitch - 2) // self.pitch + 1 if self.above else 1


def pixel_tile(
    stored: Affine,
    terms: Sequence[tuple[ElementNode, ElementNode]],
    rows: Collection[str],
    columns: Collection[str],
    sizes: dict[str, int],
) -> tuple[str, str, PixelTile] | None:
    """The loops of pixels and of channels, and how they are tiled; None: as any others.

    ``rows`` are loops of left factors alone, ``columns`` those of right ones, in which
    elements of ``terms`` lie along their sum.
    """
    phase = next((n for n in columns if stored.factor(n) == 1), "")
    if not phase or sizes[phase] not in PHASES:
        return None
    count = sizes[phase]
    row = next((n for n in rows if stored.factor(n) == count), "")
    inner = {right.offset.factor(phase) for _, right in terms}
    if not row or len(inner) > 1:
        return None
    (step,) = inner
    column = next(
        (
            n
            for n in columns
            if all(right.offset.factor(n) == count * step for _, right in terms)
        ),
        "",
    )
    if not column:
        return None
    size = sizes[row]
    whole = PixelTile(phase, count, "", 0, size)
    lefts = [left.offset for left, _ in terms]
    steps = {offset.factor(row) for offset in lefts}
    if len(steps) > 1 or 0 in steps:
        return None  # the same pixel, but for where a border begins
    (step,) = steps
    for above in rows:
        factors = {offset.factor(above) for offset in lefts}
        if len(factors) > 1 or above == row:
            continue
        pitch, rest = divmod(factors.pop(), step)
        filled = size / (ceil(size / _TILE) * _TILE)
        if rest or not size <= pitch <= 2 * size or size / pitch < _GAIN * filled:
            continue
        length = (sizes[above] - 1) * pitch + size
        if length > _LONGEST:
            continue
        return row, column, PixelTile(phase, count, above, pitch, length)
    return row, column, whole
