"""What an expression can be while a kernel is read: a closed union of frozen records.

`StaticValue` is known now; `ScalarValue` is a uniform run-time number; the rest are
tiles, places in memory, and handles of the language.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import (
    BarrierAlloc,
    BarrierRef,
    GlobalTensor,
    Limit,
    Ring,
    SharedAlloc,
    SharedView,
)
from argus.ir.ops import Tile
from argus.lang.frontend.declarations import FunctionDecl
from argus.layout import Fragment

if TYPE_CHECKING:
    from argus.lang.frontend.state import Scope

StaticObject = int | float | bool | str | None | DType | Fragment


@dataclass(frozen=True, slots=True)
class StaticValue:
    """A value known at compile time."""

    value: StaticObject


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A uniform run-time number or truth value."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class TileValue:
    """A register tile."""

    tile: Tile


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor argument, or an affine map of one.

    ``dims`` and ``extents`` are those that slices see; a plain tensor has ``holes``
    None. For a map, ``coords`` are the tensor's coordinates over symbols ``holes``, and
    ``limits`` what else an element needs: that it is one of the maps of which this one
    is made.
    """

    tensor: GlobalTensor
    dims: tuple[str | None, ...]
    extents: tuple[Expr, ...]
    holes: tuple[Sym, ...] | None = None
    coords: tuple[Expr, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class PointIndex:
    """One coordinate: the dimension is dropped."""

    at: Expr


@dataclass(frozen=True, slots=True)
class Window:
    """A range of a dimension; ``extent`` None is decided by the context.

    ``stop`` is a run-time end: elements at or behind it do not exist.
    """

    start: Expr
    extent: int | None
    dim: str | None
    stop: Expr | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """Coordinates that are the elements of a 1-D index tile."""

    index: Tile
    dim: str | None


@dataclass(frozen=True, slots=True)
class ViewValue:
    """A slice of a tensor: one entry of ``axes`` for each dimension of the source."""

    source: TensorValue
    axes: tuple[PointIndex | Window | Gathered, ...]

    @property
    def kept(self) -> tuple[Window | Gathered, ...]:
        """The axes of the tile."""
        return tuple(a for a in self.axes if not isinstance(a, PointIndex))


@dataclass(frozen=True, slots=True)
class StagedValue:
    """A shared buffer of several stages that is still to be indexed by stage."""

    alloc: SharedAlloc


@dataclass(frozen=True, slots=True)
class SharedValue:
    """A tile in shared memory. ``ring`` is set for fields of a slot being filled.

    ``staged``: it is the only stage of a buffer whose stages the author has counted,
    and may be indexed by stage first.
    """

    view: SharedView
    ring: Ring | None = None
    staged: bool = False


@dataclass(frozen=True, slots=True)
class SpecValue:
    """A described tile: `bf16.tile(128, 64)`."""

    dtype: DType
    shape: tuple[int, ...]
    swizzle: int | None
    dims: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class RingValue:
    """A ring."""

    ring: Ring


SlotMode = Literal["fill", "drain"]


@dataclass(frozen=True, slots=True)
class SlotValue:
    """Slot of fill number ``n`` of a ring."""

    ring: Ring
    n: Expr
    mode: SlotMode


@dataclass(frozen=True, slots=True)
class BarriersValue:
    """An array of mbarriers."""

    alloc: BarrierAlloc


@dataclass(frozen=True, slots=True)
class BarrierValue:
    """One mbarrier."""

    ref: BarrierRef


@dataclass(frozen=True, slots=True)
class TurnsValue:
    """Roles that take turns."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple or list."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class InlineValue:
    """An `@ag.inline` function."""

    declaration: FunctionDecl


@dataclass(frozen=True, slots=True)
class LambdaValue:
    """A lambda, kept as syntax with the scope it stands in."""

    node: ast.Lambda
    scope: Scope


@dataclass(frozen=True, slots=True)
class ElementValue:
    """Any element of an argument of `ag.check`: attributes are its tag's components."""

    argument: int


@dataclass(frozen=True, slots=True)
class Namespace:
    """`ag` ("argus") or `ag.layouts` ("layouts")."""

    name: Literal["argus", "layouts"]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language, by its key in the table of handlers."""

    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a value; ``name`` is `Class.method`."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A variable that may not be read here, and the diagnostic for who does.

    ``code`` None: its own error was reported already.
    """

    code: str | None = None
    message: str = ""
    help: str | None = None


Value = (
    StaticValue | ScalarValue | TileValue | TensorValue | ViewValue | StagedValue
    | SharedValue | SpecValue | RingValue | SlotValue | BarriersValue | BarrierValue
    | TurnsValue | TupleValue | InlineValue | LambdaValue | ElementValue | Namespace
    | Builtin | Method | Unavailable
)  # fmt: skip

NOTHING = StaticValue(None)


def number(expr: Expr) -> StaticValue | ScalarValue:
    """A constant as a static value, anything else as a run-time scalar."""
    return StaticValue(expr.value) if isinstance(expr, Const) else ScalarValue(expr)


def axes_text(dims: tuple[str | None, ...], shape: tuple[int, ...]) -> str:
    """`[M=128, K=64]`; unnamed axes show only their size."""
    parts = (f"{d}={n}" if d else f"{n}" for d, n in zip(dims, shape, strict=True))
    return f"[{', '.join(parts)}]"


def counted(n: int, one: str, several: str | None = None) -> str:
    """`1 index`, `2 indices`."""
    return f"{n} {one if n == 1 else several or one + 's'}"


def describe(value: Value) -> str:
    """A value in the words of a diagnostic, with an article."""
    match value:
        case StaticValue(value=None):
            return "`None`"
        case StaticValue(value=DType() as dtype):
            return f"the element type `{dtype}`"
        case StaticValue(value=Fragment()):
            return "a layout"
        case StaticValue(value=str(text)):
            return f"the text {text[:40]!r}"
        case StaticValue(value=bool(v)):
            return f"`{v}`"
        case StaticValue(value=v):
            return f"the number {v}"
        case ScalarValue(expr=expr):
            return f"a run-time {expr.type}"
        case TileValue(tile=t):
            return f"a register tile {t.dtype}{axes_text(t.dims, t.shape)}"
        case TensorValue(tensor=t, dims=dims):
            return f'the tensor `{t.name}` ("{" ".join(d or "_" for d in dims)}")'
        case ViewValue(source=s):
            return f"a slice of the tensor `{s.tensor.name}`"
        case StagedValue(alloc=a):
            return f"a shared buffer of {a.stages} stages"
        case SharedValue(view=v):
            return f"a shared tile {v.dtype}{axes_text(v.dims, v.shape)}"
        case SpecValue():
            return "the description of a tile"
        case RingValue():
            return "a ring"
        case SlotValue():
            return "a ring slot"
        case BarriersValue() | BarrierValue():
            return "a barrier"
        case TurnsValue():
            return "turns"
        case TupleValue(items=items):
            return f"a tuple of {counted(len(items), 'value')}"
        case InlineValue(declaration=d):
            return f"the inline function `{d.name}`"
        case LambdaValue():
            return "a lambda"
        case ElementValue():
            return "the tag of an element"
        case Namespace(name=name):
            return "the module `argus`" if name == "argus" else "`ag.layouts`"
        case Builtin(name=name) | Method(name=name):
            return f"the function `{name}`"
        case Unavailable():
            return "an unavailable value"


CLASS_OF: dict[type, str] = {
    TileValue: "Tile",
    TensorValue: "Tensor",
    SharedValue: "SharedTile",
    StagedValue: "SharedTile",
    RingValue: "Ring",
    SlotValue: "Slot",
    BarriersValue: "Barrier",
    BarrierValue: "Barrier",
    TurnsValue: "Turns",
}
"""Class of the stubs whose methods a value has."""
