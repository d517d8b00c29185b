"""Values as what an operation needs: numbers, expressions, shapes, dimension names.

Every function raises ArgusError, at the argument's own span, for any other value.
"""

from __future__ import annotations

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, binary
from argus.lang.frontend.state import Dims, Elaborator, is_name
from argus.lang.frontend.values import (
    ScalarValue,
    SharedValue,
    StagedValue,
    StaticValue,
    TensorValue,
    TileValue,
    TupleValue,
    Value,
    ViewValue,
    counted,
    describe,
)

MAX_EXTENT = 1 << 20


def static_int(e: Elaborator, value: Value, span: Span, what: str) -> int:
    """A static integer."""
    if isinstance(value, StaticValue) and type(value.value) is int:
        return value.value
    if isinstance(value, StaticValue) and isinstance(value.value, float):
        whole = value.value.is_integer()
        raise e.fail(
            "AG0105",
            span,
            f"{what} is a whole number, and this is {value.value}",
            help="use `//` instead of `/`" if whole else None,
        )
    if isinstance(value, ScalarValue):
        raise e.fail(
            "AG0108",
            span,
            f"{what} must be known at compile time",
            label="known only at run time",
            help="pass it as a static parameter, after `*`",
            notes=(
                "sizes of tensors, loop counters of `ag.range` and whatever changes in "
                "such a loop are run-time values",
            ),
        )
    raise e.fail("AG0105", span, f"{what} is a number, and this is {describe(value)}")


def positive(e: Elaborator, value: Value, span: Span, what: str) -> int:
    """A static integer of at least 1."""
    n = static_int(e, value, span, what)
    if not 1 <= n <= 1 << 31:
        raise e.fail("AG0105", span, f"{what} is at least 1, and this is {n}")
    return n


def scalar(e: Elaborator, value: Value, span: Span, what: str) -> Expr:
    """A number or truth value, static or not, as an expression."""
    match value:
        case StaticValue(value=bool() | int() | float() as v):
            return Const(v)
        case ScalarValue(expr=expr):
            return expr
        case ViewValue():
            raise e.fail(
                "AG0105",
                span,
                f"{what} is a number, and this is {describe(value)}",
                help="a single element is `T[i]`, with a number for each dimension",
            )
        case TupleValue(items=(_,)):
            raise e.fail(
                "AG0105",
                span,
                f"{what} is a number, and this is {describe(value)}",
                help="unpack it: `(i,) = ...`",
            )
        case _:
            raise e.fail(
                "AG0105", span, f"{what} is a number, and this is {describe(value)}"
            )


def integer(e: Elaborator, value: Value, span: Span, what: str) -> Expr:
    """An integer, static or not."""
    expr = scalar(e, value, span, what)
    if expr.type != "int":
        raise e.fail(
            "AG0105",
            span,
            f"{what} is an integer, and this is {describe(value)}",
            help="use `//` instead of `/`" if expr.type == "float" else None,
        )
    return expr


def condition(e: Elaborator, value: Value, span: Span, what: str) -> Expr:
    """A truth value; numbers count as in Python (not zero)."""
    if isinstance(value, TileValue):
        raise e.fail(
            "AG0007",
            span,
            f"{what} differs from thread to thread",
            label=describe(value),
            help="choose per element with `ag.where`, or ask them all: `ag.any`",
        )
    expr = scalar(e, value, span, what)
    return expr if expr.type == "bool" else binary("!=", expr, 0)


def tile(
    e: Elaborator, value: Value, span: Span, what: str, wanted: str = "a register tile"
) -> TileValue:
    """A register tile; ``wanted`` is what the place takes, in the author's words."""
    code, help = "AG0105", None
    match value:
        case TileValue():
            return value
        case SharedValue() | StagedValue():
            code, help = "AG0614", "read it into registers with `.load()`"
        case ViewValue():
            help = "read it with `ag.load(...)`"
        case TensorValue(tensor=tensor):
            index = ", ".join(":" for _ in value.dims)
            help = f"load a slice of it: `ag.load({tensor.name}[{index}], shape)`"
        case _:
            pass
    raise e.fail(
        code, span, f"{what} is {wanted}, and this is {describe(value)}", help=help
    )


def shape(e: Elaborator, value: Value, span: Span, what: str) -> tuple[int, ...]:
    """The sizes of a tile: a static number or a tuple of them, each at least 1."""
    items = value.items if isinstance(value, TupleValue) else (value,)
    sizes = tuple(static_int(e, item, span, f"a size of {what}") for item in items)
    total = 1
    for size in sizes:
        total *= size
        if size < 1:
            raise e.fail("AG0208", span, f"a size of {what} is {size}")
        if size > MAX_EXTENT or total > MAX_EXTENT:
            raise e.fail("AG0208", span, f"{what} has more than {MAX_EXTENT} elements")
    return sizes


def dtype(e: Elaborator, value: Value, span: Span) -> DType:
    """An element type."""
    if isinstance(value, StaticValue) and isinstance(value.value, DType):
        return value.value
    raise e.fail(
        "AG0105",
        span,
        f"an element type is needed, and this is {describe(value)}",
        help="write `ag.f32` or `ag.bf16`",
    )


def text(e: Elaborator, value: Value, span: Span, what: str) -> str:
    """A static text."""
    if isinstance(value, StaticValue) and isinstance(value.value, str):
        return value.value
    raise e.fail("AG0105", span, f"{what} is a text, and this is {describe(value)}")


def dim_names(e: Elaborator, value: Value, span: Span, rank: int) -> Dims:
    """Dimension names from a text such as "M K"; `_` leaves an axis unnamed."""
    words = text(e, value, span, "a list of dimensions").split()
    if len(words) != rank:
        raise e.fail(
            "AG0203",
            span,
            f"{counted(len(words), 'dimension name')} for a tile with "
            f"{counted(rank, 'axis', 'axes')}",
        )
    for word in words:
        if not is_name(word):
            raise e.fail(
                "AG0202",
                span,
                f"`{word}` cannot name a dimension",
                help=_FIXED if word.isdigit() else None,
            )
        if word != "_" and words.count(word) > 1:
            raise e.fail("AG0207", span, f"dimension `{word}` appears twice")
    return tuple(None if w == "_" else w for w in words)


def axis_of(e: Elaborator, value: Value, span: Span, dims: Dims) -> int:
    """An axis by its dimension name, or by number."""
    if isinstance(value, StaticValue) and type(value.value) is int:
        axis = value.value
        if not -len(dims) <= axis < len(dims):
            raise e.fail(
                "AG0202", span, f"there is no axis {axis} in a tile of rank {len(dims)}"
            )
        return axis % len(dims)
    name = text(e, value, span, "a dimension")
    if name not in dims:
        if e.tentative and None in dims:
            e.guesses += 1
            return dims.index(None)
        known = ", ".join(d or "(unnamed)" for d in dims) or "none"
        raise e.fail(
            "AG0202",
            span,
            f"the tile has no dimension `{name}`",
            notes=(f"its dimensions are: {known}",),
            help=_unnamed(name) if None in dims else None,
        )
    return dims.index(name)


_FIXED = "an axis of a fixed size has no name: write `_` for it"


def _unnamed(name: str) -> str:
    """How an axis without a name is meant."""
    if name.isdigit():
        return "an axis of a fixed size has no name: give its number, from 0"
    return "name them with `ag.rename`"
