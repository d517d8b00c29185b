"""Element-wise operations on register tiles: element types, scalars, shapes.

Types: a float with f32 gives f32, with f64 f64; i32 with i64 gives i64, u32 with u64
u64; any other difference is an error, and integers become floats only by `.to`. A
scalar takes the tile's type.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.diagnostics import Span
from argus.ir import dtypes as d
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym, binary
from argus.ir.function import ScalarFunction
from argus.ir.functions import FUNCTIONS
from argus.ir.ops import Cast, Elementwise, Extract, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import meet
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.values import ScalarValue, StaticValue, TileValue, Value

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%",
    "and": "&", "or": "|", "xor": "^", "not": "~", "neg": "-", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "shl": "<<", "shr": ">>",
}  # fmt: skip
"""Functions that authors write as operators."""

_BITWISE = {"and", "or", "xor"}


def _wider(a: DType, b: DType) -> DType | None:
    """The type in which two others meet; None where only the author can choose one."""
    if a.is_float and b.is_float:
        return next((x for x in (d.f64, d.f32) if x in (a, b)), None)
    pairs = (d.i32, d.i64), (d.u32, d.u64)
    return next((wide for narrow, wide in pairs if {a, b} == {narrow, wide}), None)


def cast(e: Elaborator, t: Tile, dtype: DType, span: Span) -> Tile:
    """A tile converted to another element type; itself if it has that already."""
    if t.dtype == dtype:
        return t
    result = e.tile(dtype, t.shape, t.dims, span)
    e.emit(Cast(result, t, span=span))
    return result


def scalar_holds(dtype: DType) -> bool:
    """Whether a scalar holds numbers of a type as they are: fractions are f32."""
    if dtype.kind == "int":
        return d.i64.holds(dtype)
    return not dtype.is_float or dtype.bits <= d.f32.bits


def extracted(e: Elaborator, t: Tile, name: str, span: Span) -> Expr:
    """The one element of a tile without axes, as a scalar; ``name`` is for its symbol.

    Raises ArgusError (AG0107) for a mask, which is no number.
    """
    if t.dtype.kind == "bool":
        raise e.fail("AG0107", span, "a bool cannot be read as a number")
    kind = "float" if t.dtype.is_float else "int"
    sym = Sym(e.fresh(name), "let", kind, nonneg=False)
    return e.bind(Extract(sym, t, span=span))


def common_dtype(e: Elaborator, tiles: Sequence[Tile], span: Span) -> DType:
    """The element type in which tiles meet.

    Raises ArgusError (AG0106) where only the author can choose one.
    """
    found = tiles[0].dtype
    for t in tiles[1:]:
        if t.dtype == found:
            continue
        wider = _wider(found, t.dtype)
        if wider is None:
            floats = [x for x in (found, t.dtype) if x.is_float]
            target = floats[0] if len(floats) == 1 else d.f32
            raise e.fail(
                "AG0106",
                span,
                f"{found} meets {t.dtype}",
                help=f"convert one of them, for instance `.to({target})`",
            )
        found = wider
    return found


def scalar_for(e: Elaborator, value: Expr, dtype: DType, span: Span) -> Expr:
    """A scalar operand as an element type takes it.

    Raises ArgusError: a fraction for integers (AG0106), or out of range (AG0114).
    """
    kind = value.type
    if dtype.kind == "bool":
        if kind != "bool":
            raise e.fail(
                "AG0106",
                span,
                "a mask meets a number",
                help="make numbers of the mask with `ag.where(mask, 1, 0)`",
            )
        return value
    if dtype.is_float:
        if isinstance(value, Const):
            return Const(as_float(e, value.value, span))
        # A fraction is f32, which holds fewer whole numbers than f64 does.
        whole = kind != "float" and dtype != d.f64
        return binary("*", value, 1.0) if whole else value
    if kind == "float":
        raise e.fail(
            "AG0106",
            span,
            f"a tile of {dtype} meets a float",
            help="convert the tile with `.to(f32)`, or use a whole number",
        )
    if isinstance(value, Const):
        low, high = dtype.integers
        if not low <= value.value <= high:
            raise e.fail("AG0114", span, f"{dtype} has no value {value.value}")
    return value


def as_float(e: Elaborator, value: int | float, span: Span) -> float:
    """A static number as a float; raises ArgusError (AG0114) if it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise e.fail(
            "AG0114", span, "the number is too large for a floating point type"
        ) from None


def elementwise(
    e: Elaborator, fn: str, values: Sequence[Value], spans: Sequence[Span], span: Span
) -> Value:
    """Apply a function of `argus.ir.functions` to tiles and scalars, at least one tile.

    Operands are repeated by dimension name and converted to one element type. For
    `where` the condition is a mask (or a uniform truth value) beside them.
    """
    record = FUNCTIONS[fn]
    operands: list[Tile | Expr] = []
    for value, where in zip(values, spans, strict=True):
        if isinstance(value, StaticValue | ScalarValue):
            operands.append(coerce.scalar(e, value, where, "the operand"))
        else:
            wanted = "a register tile or a number"
            operands.append(coerce.tile(e, value, where, "an operand", wanted).tile)
    mask = operands.pop(0) if fn == "where" else None
    if isinstance(mask, Tile) and mask.dtype.kind != "bool":
        raise e.fail(
            "AG0105",
            spans[0],
            f"the condition is a tile of {mask.dtype}, not of bool",
            help="compare it, for instance `x != 0`",
        )
    if isinstance(mask, Expr):
        mask = coerce.condition(e, values[0], spans[0], "the condition")
    tiles = [t for t in operands if isinstance(t, Tile)]
    dtype = common_dtype(e, tiles, span) if tiles else _scalar_dtype(operands)
    _check_dtype(e, record, dtype, span)
    operands = [cast(e, t, dtype, span) if isinstance(t, Tile) else t for t in operands]
    operand_spans = spans[1:] if mask is not None else spans
    operands = [
        scalar_for(e, t, dtype, s) if isinstance(t, Expr) else t
        for t, s in zip(operands, operand_spans, strict=True)
    ]
    args: list[Tile | Expr] = [mask, *operands] if mask is not None else operands
    present = [t for t in args if isinstance(t, Tile)]
    met, shape, dims = meet(e, present, span)
    replaced = iter(met)
    args = [next(replaced) if isinstance(t, Tile) else t for t in args]
    out = d.boolean if record.result == "bool" else dtype
    result = e.tile(out, shape, dims, span)
    e.emit(Elementwise(result, fn, tuple(args), span=span))
    return TileValue(result)


def _scalar_dtype(operands: Sequence[Tile | Expr]) -> DType:
    kinds = {x.type for x in operands if isinstance(x, Expr)}
    return d.f32 if "float" in kinds else d.i32 if "int" in kinds else d.boolean


def _check_dtype(
    e: Elaborator, record: ScalarFunction, dtype: DType, span: Span
) -> None:
    fn = record.name
    word = _SYMBOLS.get(fn, fn)
    if dtype.kind == "int" and not record.integer:
        raise e.fail(
            "AG0107",
            span,
            f"`{word}` is not defined for {dtype}",
            help="convert the tile with `.to(f32)`"
            if fn != "div"
            else "use `//` for whole numbers, or convert the tile with `.to(f32)`",
        )
    if dtype.is_float and not record.real:
        raise e.fail(
            "AG0107",
            span,
            f"`{word}` is not defined for {dtype}",
            help="`ag.floor(x / y)` rounds a quotient down"
            if fn == "floordiv"
            else "`x - y * ag.floor(x / y)` is the remainder"
            if fn == "mod"
            else None,
        )
    if dtype.is_float and dtype.bits > record.widest:
        raise e.fail(
            "AG0107",
            span,
            f"`{word}` is not defined for {dtype}",
            help="convert the tile with `.to(f32)`",
        )
    if dtype.bits < record.narrowest and dtype.kind == "int":
        raise e.fail(
            "AG0107",
            span,
            f"`{word}` is not defined for {dtype}",
            help="convert the tile with `.to(i32)`",
        )
    if dtype.kind == "bool" and fn not in (*_BITWISE, "not", "where", "eq", "ne"):
        raise e.fail(
            "AG0107",
            span,
            f"`{word}` is not defined for bool",
            help="use `ag.where(mask, 1, 0)` to count",
        )
    if fn == "not" and dtype.kind != "bool":
        raise e.fail("AG0107", span, f"`~` is defined for masks, not for {dtype}")
