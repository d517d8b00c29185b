"""Operations that move elements, each with the facts of :class:`Moving`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from argus.ir.op import Operand
from argus.ir.ops.moving import (
    Array,
    Digits,
    Held,
    Moving,
    MovingOne,
    N,
    Origins,
    Wanted,
    of_one,
)
from argus.ir.ops.tile import Tile
from argus.layout import Fragment, refined

__all__ = ["Broadcast", "Convert", "Join", "Reshape", "Transpose"]


def _unmoved(result: Fragment, wanted: Fragment | None) -> Held | None:
    """Every register is its own, if the layout is the one that leaves them."""
    if wanted is None or not wanted.same_as(result):
        return None
    return of_one(np.arange(result.num_regs, dtype=np.int32))


def different(axes: tuple[int, ...], rank: int, count: int) -> bool:
    """Whether these are ``count`` different axes of a tile that has ``rank``."""
    known = all(0 <= axis < rank for axis in axes)
    return known and len(axes) == len(set(axes)) == count


@dataclass(eq=False)
class Broadcast(MovingOne):
    """Source axis i is result axis ``axes[i]``; the other result axes are new."""

    shifts: ClassVar[bool] = False

    axes: tuple[int, ...]

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"over {self.axes}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        shape = self.result.shape
        if not different(self.axes, len(shape), len(self.src.shape)):
            return f"axes {self.axes} of {len(shape)}"
        kept = tuple(shape[axis] for axis in self.axes)
        return None if kept == self.src.shape else f"it is not along {kept}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        shape = [1] * len(self.result.shape)
        for axis, extent in zip(self.axes, self.src.shape, strict=True):
            shape[axis] = extent
        turned = held[0].transpose(np.argsort(self.axes)).reshape(shape)
        return np.broadcast_to(turned, self.result.shape)

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        return ((self.src, [indices[axis] for axis in self.axes]),)

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`."""
        return self.axes

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        return of_one(result.register_map(source, self.axes))

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        if result is not None:
            yield self.src, result.along(self.axes)


@dataclass(eq=False)
class Transpose(MovingOne):
    """Result axis i is source axis ``axes[i]``. Registers do not move."""

    shifts: ClassVar[bool] = False

    axes: tuple[int, ...]
    renames: ClassVar[bool] = True

    @property
    def back(self) -> tuple[int, ...]:
        """The result's axis that each axis of the source is."""
        return tuple(self.axes.index(i) for i in range(len(self.axes)))

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"turned {self.axes}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        shape = self.src.shape
        if not different(self.axes, len(shape), len(shape)):
            return f"axes {self.axes} of {len(shape)}"
        turned = tuple(shape[axis] for axis in self.axes)
        return None if turned == self.result.shape else f"the transpose is {turned}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        return held[0].transpose(self.axes)

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        return ((self.src, [indices[axis] for axis in self.back]),)

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`."""
        return self.back

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        return _unmoved(result, source.permute(self.axes))

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        if source is not None:
            yield self.result, source.permute(self.axes)
        if result is not None:
            yield self.src, result.permute(self.back)


@dataclass(eq=False)
class Reshape(MovingOne):
    """The same elements in row-major order, under another shape.

    Each axis of both shapes is made of the axes of `argus.layout.refined`. Registers
    do not move.
    """

    shifts: ClassVar[bool] = True

    renames: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"as {self.result.shape}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        before, after = self.src.shape, self.result.shape
        if prod(before) != prod(after):
            return f"{before} is not {after}"
        if refined(before, after) is None:
            return f"axes of {before} and {after} cut each other"
        return None

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        return held[0].reshape(self.result.shape)

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`.

        An index of the result is split into digits where axes of the source end within
        its axis, and only there.
        """
        parts = refined(self.src.shape, self.result.shape)
        assert parts is not None, self
        cut: list[N] = []
        left = list(parts)
        for index, extent in zip(indices, self.result.shape, strict=True):
            own = _taken(left, extent)
            for i, size in enumerate(own):
                digit, below = index, prod(own[i + 1 :])
                if below > 1:
                    digit = digits.quotient(digit, below)
                if i > 0:
                    digit = digits.remainder(digit, size)
                cut.append(digit)
        source: list[N | int] = []
        left = list(parts)
        for extent in self.src.shape:
            whole: Any = 0
            for number, size in enumerate(_taken(left, extent)):
                digit = cut.pop(0)
                whole = whole * size + digit if number else digit
            source.append(whole)
        return ((self.src, source),)

    def axes_of(self) -> tuple[int | None, ...] | None:
        """See :class:`Moving`."""
        return None

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        return _unmoved(result, source.reshape(self.result.shape))

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        for known, other in ((source, self.result), (result, self.src)):
            turned = None if known is None else known.reshape(other.shape)
            if turned is not None:
                yield other, turned


def _taken(left: list[int], extent: int) -> list[int]:
    """The next digits that make up an axis; they are taken off ``left``."""
    own: list[int] = []
    while prod(own) < extent:
        own.append(left.pop(0))
    return own


@dataclass(eq=False)
class Join(Moving):
    """Tiles of one shape, one after the other along ``axis``: each keeps its registers.

    The result's layout is the ``Fragment.join`` of the parts'.
    """

    shifts: ClassVar[bool] = True

    parts: tuple[Operand[Tile], ...]
    axis: int

    @property
    def sources(self) -> tuple[Tile, ...]:
        """See :class:`Moving`."""
        return self.parts

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return f"join {self.axis}"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        if not self.parts:
            return "nothing is joined"
        shape = list(self.parts[0].shape)
        if not 0 <= self.axis < len(shape):
            return "no such axis"
        shape[self.axis] *= len(self.parts)
        return None if tuple(shape) == self.result.shape else f"joining gives {shape}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        return np.concatenate(held, axis=self.axis)

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        found: list[tuple[Tile, list[N]]] = []
        for number, part in enumerate(self.parts):
            source = list(indices)
            source[self.axis] = indices[self.axis] - number * part.shape[self.axis]
            found.append((part, source))
        return tuple(found)

    @property
    def parted(self) -> int | None:
        """See :class:`Moving`."""
        return self.axis

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`."""
        return tuple(range(len(self.result.shape)))

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        wanted, part, register = source.join(self.axis, len(self.parts))
        return (part, register) if wanted.same_as(result) else None

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`."""
        if source is not None:
            yield self.result, source.join(self.axis, len(self.parts))[0]
        if result is not None:
            _, axis, first = self.kept()
            window = result.window(axis, first)
            if window is not None:
                yield self.parts[0], window[0]

    def kept(self) -> tuple[Tile, int, range]:
        """See :class:`Moving`."""
        return self.result, self.axis, range(self.parts[0].shape[self.axis])


@dataclass(eq=False)
class Convert(MovingOne):
    """The same elements under another layout, moving registers within each thread only.

    Placing inserts it; a conversion between threads is expanded into a store to scratch
    shared memory, a sync and a load. Thread t's result register r is its source
    register ``result.layout.register_map(src.layout, ...)[r]``.
    """

    shifts: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """See :class:`Moving`."""
        return "Convert"

    def fault(self) -> str | None:
        """See :class:`Moving`."""
        same = self.src.shape == self.result.shape
        return None if same else f"{self.src.shape} is not {self.result.shape}"

    def array(self, held: Sequence[Array]) -> Array:
        """See :class:`Moving`."""
        return held[0]

    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """See :class:`Moving`."""
        return ((self.src, list(indices)),)

    def axes_of(self) -> tuple[int | None, ...]:
        """See :class:`Moving`."""
        return tuple(range(len(self.src.shape)))

    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """See :class:`Moving`."""
        return of_one(result.register_map(source, self.axes_of()))

    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """See :class:`Moving`: it stands where two layouts meet."""
        return iter(())
