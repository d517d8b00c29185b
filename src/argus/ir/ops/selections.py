"""Operations that take some elements of a tile along an axis, or turn it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argus.ir.ops.moving import (
    Array,
    Digits,
    Held,
    MovingOne,
    N,
    Origins,
    Wanted,
    of_one,
)
from argus.ir.ops.tile import Tile
from argus.layout import Fragment

__all__ = ["Flip", "Selection", "Slice", "StridedSlice"]


@dataclass(eq=False)
class Selection(MovingOne, ABC):
    """Some elements along ``axis``, in order: each thread keeps some of its registers.

    The result's layout is the ``Fragment.window`` of the source's.
    """

    shifts: ClassVar[bool] = True

    axis: int

    @property
    @abstractmethod
    def elements(self) -> range:
        """Coordinates in the source along the axis."""

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"part {self.axis} {self.elements}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        shape = list(self.src.shape)
        if not 0 <= self.axis < len(shape):
            return "no such axis"
        kept = self.elements
        if not kept or kept[0] < 0 or kept[-1] >= shape[self.axis]:
            return "what is selected is outside"
        shape[self.axis] = len(kept)
        return None if tuple(shape) == self.result.shape else f"selecting gives {shape}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        kept = self.elements
        window = [slice(None)] * len(self.src.shape)
        window[self.axis] = slice(kept.start, kept.stop, kept.step)
        return held[0][tuple(window)]

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        source, kept = list(indices), self.elements
        source[self.axis] = indices[self.axis] * kept.step + kept.start
        return ((self.src, source),)

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`. The axis keeps its name, and what its numbers say."""
        return tuple(range(len(self.src.shape)))

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        window = source.window(self.axis, self.elements)
        if window is None or not window[0].same_as(result):
            return None
        return of_one(window[1])

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        if source is not None:
            window = source.window(self.axis, self.elements)
            if window is not None:
                yield self.result, window[0]

    def kept(self) -> tuple[Tile, int, range]:
        """See :class:`Moving`."""
        return self.src, self.axis, self.elements


@dataclass(eq=False)
class Slice(Selection):
    """Elements ``start .. start + n - 1`` along ``axis``, n from the result."""

    start: int

    @property
    def elements(self) -> range:
        """See :class:`Selection`."""
        return range(self.start, self.start + self.result.shape[self.axis])


@dataclass(eq=False)
class StridedSlice(Selection):
    """Every ``step``-th element from ``start`` on along ``axis``; n from the result."""

    start: int
    step: int

    @property
    def elements(self) -> range:
        """See :class:`Selection`."""
        count = self.result.shape[self.axis]
        return range(self.start, self.start + count * self.step, self.step)


@dataclass(eq=False)
class Flip(MovingOne):
    """The last element along ``axis`` first; each thread holds the whole axis."""

    shifts: ClassVar[bool] = True

    axis: int

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"flip {self.axis}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        if not 0 <= self.axis < len(self.src.shape):
            return "no such axis"
        same = self.src.shape == self.result.shape
        return None if same else f"{self.src.shape} is not {self.result.shape}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        return np.flip(held[0], self.axis)

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        source, last = list(indices), self.src.shape[self.axis] - 1
        source[self.axis] = indices[self.axis] * -1 + last
        return ((self.src, source),)

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`. The axis runs backwards, and so do its numbers."""
        return tuple(range(len(self.src.shape)))

    def _in_threads(self, layout: Fragment) -> bool:
        return any(x.axis == self.axis and x.size > 1 for x in layout.threads)

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        if self._in_threads(source) or not source.same_as(result):
            return None
        coords: list[list[int]] = source.table()[0].tolist()
        at = {tuple(c): register for register, c in enumerate(coords)}
        for coord in coords:
            coord[self.axis] = source.shape[self.axis] - 1 - coord[self.axis]
        return of_one(np.array([at[tuple(c)] for c in coords], np.int32))

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        for known, other in ((source, self.result), (result, self.src)):
            if known is not None and not self._in_threads(known):
                yield other, known

    def kept(self) -> tuple[Tile, int, range]:
        """See :class:`Moving`: nothing of the axis is in another thread."""
        extent = self.src.shape[self.axis]
        return self.src, self.axis, range(0, extent, extent)
