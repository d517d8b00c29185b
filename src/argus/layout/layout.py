"""Layouts: functions from an index to an offset, written as a shape and strides.

A layout is a pair shape:stride. An index is split into the digits of the shape, the
first varying fastest (colexicographic order), and each digit counts its stride:

    Layout((2, 4), (4, 1))    the row-major 2 x 4 matrix

    index        0     1     2     3     4     5     6     7
    coordinate (0,0) (1,0) (0,1) (1,1) (0,2) (1,2) (0,3) (1,3)
    offset       0     4     1     5     2     6     3     7

The same layout takes the index or the coordinate: L(3) == L((1, 1)) == L(1, 1) == 5.
Shapes nest, and a nested mode takes one index or a coordinate of its own:

    Layout(((2, 2), 4), ((1, 8), 2))    two columns of 2 x 2 blocks
    L(3, 1) == L((1, 1), 1) == 1 + 8 + 2

Why functions, and why these: layouts compose. The thread's view of a tile, the tile's
place in shared memory and the swizzle of that memory are three small functions; what a
thread reads is their composition (`algebra.py`), and proving a copy right is comparing
two functions.

Why not a matrix over GF(2), as some compilers use: that makes every layout linear in
the bits of the index, swizzles included, and inverting it is Gaussian elimination. But
it holds only powers of two, and the tiles here do not: wgmma has N = 24, 40, 96, 192,
rings have 3 stages, images have 7 x 7 windows. Strided digits hold all of these; the
one thing they do not hold, xor, is kept apart in `swizzle.py`.

Indices are taken to be in range; the slowest digit is not reduced by its extent. Sizes
and strides are ints here; the operand of a call may be symbolic (`operand.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from argus.layout import ints
from argus.layout.ints import IntTuple
from argus.layout.operand import T, add, digit, scaled

__all__ = ["Coordinate", "Layout", "from_table"]

Coordinate: TypeAlias = "T | int | tuple[Coordinate[T], ...]"
"""An index, or a tuple of coordinates of the modes."""


@dataclass(frozen=True)
class Layout:
    """The function index -> offset given by `shape` and `stride`, nested alike.

    Raises ValueError when they are nested differently, an extent is below 1 or a stride
    is negative. Stride 0 repeats the same offsets (a broadcast).
    """

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        if not ints.congruent(self.shape, self.stride):
            raise ValueError(f"shape {self.shape} and stride {self.stride} differ")
        if any(extent < 1 for extent in ints.flatten(self.shape)):
            raise ValueError(f"a layout has positive extents, not {self.shape}")
        if any(step < 0 for step in ints.flatten(self.stride)):
            raise ValueError(f"a layout has no negative strides: {self.stride}")

    @staticmethod
    def compact(shape: IntTuple) -> Layout:
        """Layout of `shape` without gaps, first mode fastest: the identity on ints."""
        return Layout(shape, ints.prefix_products(shape))

    @staticmethod
    def row_major(shape: tuple[int, ...]) -> Layout:
        """Layout of `shape` without gaps, last mode fastest."""
        weights = ints.flatten(ints.prefix_products(shape[::-1]))
        return Layout(shape, weights[::-1])

    @staticmethod
    def join(modes: Iterable[Layout]) -> Layout:
        """Layout whose modes are the given layouts."""
        parts = tuple(modes)
        return Layout(
            tuple(part.shape for part in parts), tuple(part.stride for part in parts)
        )

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    @property
    def size(self) -> int:
        """Number of indices."""
        return ints.product(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest offset."""
        return 1 + sum((extent - 1) * step for extent, step in self.leaves())

    @property
    def rank(self) -> int:
        """Number of modes; 1 if the shape is an int."""
        return 1 if isinstance(self.shape, int) else len(self.shape)

    @property
    def depth(self) -> int:
        """Levels of nesting of the shape."""
        return ints.depth(self.shape)

    def modes(self) -> tuple[Layout, ...]:
        """The modes as layouts; a layout of one int is its own only mode."""
        if isinstance(self.shape, int) or isinstance(self.stride, int):
            return (self,)
        pairs = zip(self.shape, self.stride, strict=True)
        return tuple(Layout(shape, stride) for shape, stride in pairs)

    def leaves(self) -> tuple[tuple[int, int], ...]:
        """Pairs (extent, stride) without nesting, fastest first."""
        flat_stride = ints.flatten(self.stride)
        return tuple(zip(ints.flatten(self.shape), flat_stride, strict=True))

    def __call__(self, *coordinate: Coordinate[T]) -> T | int:
        """Offset at an index or a coordinate; L(i, j) means L((i, j)).

        Raises ValueError when a coordinate does not fit the nesting of the shape.
        """
        whole: Coordinate[T] = coordinate[0] if len(coordinate) == 1 else coordinate
        return _evaluate(self, whole)

    def table(self) -> NDArray[np.int64]:
        """All offsets, shape [size]."""
        indices = np.arange(self.size, dtype=np.int64)
        return np.zeros(self.size, dtype=np.int64) + self(indices)

    def flatten(self) -> Layout:
        """The same function without nesting (one leaf: an int shape)."""
        return _from_leaves(self.leaves())

    def coalesce(self) -> Layout:
        """The same function of an int index with the fewest modes, not nested."""
        return _from_leaves(_merged(self.leaves()))

    def coalesce_modes(self) -> Layout:
        """Coalesce each mode by itself; the rank stays."""
        if isinstance(self.shape, int):
            return self
        return Layout.join(mode.coalesce() for mode in self.modes())

    def filter(self) -> Layout:
        """Coalesced layout without modes of stride 0: the same set of offsets."""
        return _from_leaves(_merged([leaf for leaf in self.leaves() if leaf[1] != 0]))

    def select(self, *modes: int) -> Layout:
        """Layout of the given modes, in that order."""
        all_modes = self.modes()
        return Layout.join(all_modes[position] for position in modes)


def from_table(table: NDArray[np.integer]) -> Layout | None:
    """Coalesced layout whose offsets are exactly `table` (shape [size], size >= 1).

    Returns None when there is none: a layout starts at 0, never steps back within a
    mode, and repeats its steps. Raises ValueError when `table` is not a vector.
    """
    if table.ndim != 1 or table.size == 0:
        raise ValueError(f"a table of shape {table.shape} is not a vector of offsets")
    if table[0] != 0:
        return None
    rest = table.astype(np.int64)
    leaves: list[tuple[int, int]] = []
    while rest.size > 1:
        step = int(rest[1])
        # In coalesced form the first mode is exactly the longest linear run: one step
        # beyond it would be linear only if the next mode could be merged into it.
        linear = rest == np.arange(rest.size) * step
        run = rest.size if linear.all() else int(np.argmin(linear))
        if step < 0 or rest.size % run != 0:
            return None
        blocks = rest.reshape(-1, run)
        if not np.array_equal(blocks, blocks[:, :1] + np.arange(run) * step):
            return None
        leaves.append((run, step))
        rest = blocks[:, 0]
    return _from_leaves(leaves)


def _evaluate(layout: Layout, coordinate: Coordinate[T]) -> T | int:
    if not isinstance(coordinate, tuple):
        return _evaluate_index(layout, coordinate)
    parts = cast("tuple[Coordinate[T], ...]", coordinate)
    modes = layout.modes()
    if isinstance(layout.shape, int) or len(parts) != len(modes):
        raise ValueError(f"coordinate {parts} does not fit the shape {layout.shape}")
    return add([_evaluate(mode, part) for mode, part in zip(modes, parts, strict=True)])


def _evaluate_index(layout: Layout, index: T | int) -> T | int:
    leaves = layout.leaves()
    top = max((i for i, (extent, _) in enumerate(leaves) if extent > 1), default=-1)
    terms: list[T | int] = []
    weight = 1
    for position, (extent, step) in enumerate(leaves):
        if step != 0:
            value = digit(index, weight, extent, position == top)
            terms.append(scaled(value, step))
        weight *= extent
    return add(terms)


def _merged(leaves: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for extent, step in leaves:
        if extent == 1:
            continue
        if merged and step == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, step))
    return merged


def _from_leaves(leaves: Iterable[tuple[int, int]]) -> Layout:
    pairs = list(leaves)
    if not pairs:
        return Layout(1, 0)
    if len(pairs) == 1:
        return Layout(*pairs[0])
    return Layout(
        tuple(extent for extent, _ in pairs), tuple(step for _, step in pairs)
    )


def _text(value: IntTuple) -> str:
    if isinstance(value, int):
        return str(value)
    return "(" + ",".join(_text(part) for part in value) + ")"
