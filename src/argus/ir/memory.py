"""Where elements live: global tensors, shared-memory tiles, barriers, and views.

A view is a description, not a value: it says which elements of a tensor or of a shared
tile the axes of a tile run over. Offsets are uniform expressions; per-element
coordinates are expressions over axis symbols (``axis(i)``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.op import Inner, Operand

if TYPE_CHECKING:
    from argus.diagnostics import Span
    from argus.ir.ops import Tile
    from argus.layout import SharedLayout

T = TypeVar("T")


@dataclass(frozen=True)
class GlobalTensor:
    """A tensor argument in global memory.

    ``dims`` are dimension names; ``shape`` and ``strides`` (in elements) are symbols
    ("dim", "stride") or constants, outermost first. The innermost stride is Const(1):
    a launch checks it.
    """

    name: str
    dtype: DType
    dims: tuple[str, ...]
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)


@dataclass(frozen=True)
class GatheredAxis:
    """Coordinates along ``axis`` are ``symbol``, an element of a 1-D index tile."""

    symbol: Inner[Sym]
    tile: Operand[Tile]
    axis: int


@dataclass(frozen=True)
class Limit:
    """A further condition for an element to exist: ``0 <= value < extent``."""

    value: Expr
    extent: Expr


@dataclass(frozen=True)
class GlobalView:
    """A tile of a global tensor.

    ``coords[d]`` is the coordinate in dimension d: an expression over ``axis(i)``
    of this view, uniform symbols, and gather symbols. An element whose coordinate is
    outside the tensor, or which breaks a limit, does not exist: loads give the fill
    value, stores skip it.
    """

    tensor: GlobalTensor
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    coords: tuple[Expr, ...]
    gathers: tuple[GatheredAxis, ...] = ()
    limits: tuple[Limit, ...] = ()

    @property
    def dtype(self) -> DType:
        """Element type of the tensor."""
        return self.tensor.dtype


@dataclass(eq=False)
class SharedAlloc:
    """A shared-memory buffer of ``stages`` equal tiles.

    ``layout`` maps a tile coordinate to a byte offset within one stage and ``offset``
    is the byte offset of stage 0 in the block's dynamic shared memory; both are None
    until placed. ``alignment`` is in bytes. Stage s begins at ``offset + s * stride``.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    stages: int
    span: Span
    swizzle: int | None = None
    """Author's choice of swizzle in bytes (0, 32, 64, 128) or None: the compiler's."""
    scratch: bool = False
    """Made by the compiler."""
    layout: SharedLayout | None = None
    offset: int | None = None
    alignment: int = 16

    @property
    def stage_bytes(self) -> int:
        """Bytes from one stage to the next (the tile, rounded up to the alignment)."""
        size = self.dtype.bytes
        for extent in self.shape:
            size *= extent
        return -(-size // self.alignment) * self.alignment


@dataclass(frozen=True)
class SharedView:
    """A tile within one stage of a shared buffer.

    View axis i is buffer axis ``axes[i]`` starting at ``origin[axes[i]]``; a transposed
    view permutes ``axes``. Buffer axes not in ``axes`` are fixed at their origin.
    """

    alloc: SharedAlloc
    stage: Expr
    origin: tuple[Expr, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]

    @property
    def dtype(self) -> DType:
        """Element type of the buffer."""
        return self.alloc.dtype

    @property
    def transposed(self) -> SharedView:
        """The same elements with the last two axes exchanged."""

        def swap(xs: tuple[T, ...]) -> tuple[T, ...]:
            return (*xs[:-2], xs[-1], xs[-2])

        return SharedView(
            self.alloc,
            self.stage,
            self.origin,
            swap(self.axes),
            swap(self.shape),
            swap(self.dims),
        )


@dataclass(eq=False)
class BarrierAlloc:
    """``count`` mbarriers that complete a phase after ``arrivals`` arrivals.

    All expected bytes must have arrived, too. ``offset`` is the byte offset in dynamic
    shared memory once placed.
    ``role`` says what it is for in reports ("ring full", "ring empty", "explicit").
    """

    name: str
    count: int
    arrivals: int
    span: Span
    role: str = "explicit"
    offset: int | None = None


@dataclass(frozen=True)
class BarrierRef:
    """One mbarrier of an allocation."""

    alloc: BarrierAlloc
    index: Expr = field(default_factory=lambda: Const(0))


@dataclass(eq=False)
class Ring:
    """A circular buffer of ``stages`` slots, each with one tile per field.

    Fill n goes to slot ``n % stages``. ``multicast`` is the largest multicast of a copy
    into it (1 without clusters). ``full`` and ``empty`` are made by placing where the
    ring is synchronised by mbarriers.
    """

    name: str
    stages: int
    fields: dict[str, SharedAlloc]
    span: Span
    cluster: bool = False
    full: BarrierAlloc | None = None
    empty: BarrierAlloc | None = None
