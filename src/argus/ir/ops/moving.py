"""What an operation that moves elements says of itself: `moves.py` has them.

Each element of the result is one of a source. A move says once where elements come
from: in arrays (:meth:`Moving.array`), by indices (:meth:`Moving.origins`) and in
registers (:meth:`Moving.held`). Placing, checking, the interpreter, the printer, the
model and both proofs ask it, and know no move by name but for what they can say of it
beyond that. A move that leaves out a fact cannot be made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from argus.ir.op import Operand
from argus.ir.ops.registers import RegisterOp
from argus.ir.ops.tile import Tile
from argus.layout import Fragment

__all__ = [
    "Array",
    "Digits",
    "Held",
    "Moving",
    "MovingOne",
    "N",
    "Origins",
    "Wanted",
    "of_one",
]

Array = NDArray[Any]
Held = tuple[NDArray[np.int32], NDArray[np.int32]]
"""For each register of a result: of which source it is, and of which register there."""
Wanted = Iterator[tuple[Tile, Fragment]]


class IndexNumber(Protocol):
    """A number with which indices are computed: an int, or a term."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...


N = TypeVar("N", bound=IndexNumber)


Origins = tuple[tuple[Tile, Sequence[N | int]], ...]
"""Elements of sources, by their indices."""


class Digits(Protocol[N]):
    """How indices are divided by constants, rounding down."""

    def quotient(self, dividend: N, divisor: int, /) -> N:
        """``dividend // divisor``."""
        ...

    def remainder(self, dividend: N, divisor: int, /) -> N:
        """``dividend % divisor``."""
        ...


@dataclass(eq=False)
class Moving(RegisterOp, ABC):
    """Each element of the result is an element of a source, bit for bit."""

    renames: ClassVar[bool] = False
    """Whether no register changes: the result is a source under other coordinates."""

    shifts: ClassVar[bool]
    """Whether elements stand at other indices along the axes that they keep."""

    def is_along(self, count: int) -> bool:
        """Where the axes are those of the source, at the same indices."""
        axes = None if self.shifts else self.axes_of()
        return axes is not None and axes[:count] == (*range(count),)

    def keeps_residues(self, tile: Tile) -> bool:
        """Bit for bit."""
        del tile
        return True

    @property
    @abstractmethod
    def sources(self) -> tuple[Tile, ...]:
        """Tiles of one shape and one type, in one layout."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it does, without its operands: the same for moves that do the same."""

    @abstractmethod
    def fault(self) -> str | None:
        """What is wrong with the shapes."""

    @abstractmethod
    def array(self, held: Sequence[Array]) -> Array:
        """The result, from each source as an array of its shape."""

    @abstractmethod
    def origins(self, indices: Sequence[N], digits: Digits[N]) -> Origins[N]:
        """Where the element at ``indices`` comes from: a source, and its index there.

        Where there are several, number i is meant for the i-th of as many equal parts
        of :attr:`parted`.
        """

    @property
    def parted(self) -> int | None:
        """The axis along which the result's parts come from different sources."""
        return None

    @abstractmethod
    def axes_of(self) -> tuple[int | None, ...] | None:
        """The result's axis that each axis of a source is; None in it: none.

        None: that is not how the move is described.
        """

    @abstractmethod
    def held(self, result: Fragment, source: Fragment) -> Held | None:
        """Which registers the result's are; None where threads would exchange data."""

    @abstractmethod
    def implied(self, result: Fragment | None, source: Fragment | None) -> Wanted:
        """Layouts of operands that follow from those that are known."""

    @abstractmethod
    def kept(self) -> tuple[Tile, int, range] | None:
        """Elements along an axis that should be the same registers of all threads."""


@dataclass(eq=False)
class MovingOne(Moving, ABC):
    """A move with one source."""

    src: Operand[Tile]

    def elements_of(self) -> Tile | None:
        """The tile that is moved."""
        return self.src

    @property
    def sources(self) -> tuple[Tile, ...]:
        """See :class:`Moving`."""
        return (self.src,)

    def kept(self) -> tuple[Tile, int, range] | None:
        """See :class:`Moving`."""
        return None


def of_one(registers: NDArray[np.int32] | None) -> Held | None:
    """Which registers of one source are held, and of which source."""
    return None if registers is None else (np.zeros_like(registers), registers)
