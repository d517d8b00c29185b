"""Tiles of constants, element-wise functions, and the matrix product."""

from __future__ import annotations

from argus.diagnostics import ArgusError, Span
from argus.ir.dtypes import f32, i64
from argus.ir.expr import Const, Expr, binary, select
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedView
from argus.ir.ops import Dot, Full, Tile
from argus.isa.matrix import ELEMENTS, MatrixElement, element, element_names
from argus.isa.wgmma import COLUMNS, columns
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import unify_dims
from argus.lang.frontend.calls import BoundCall, Handler, builtin
from argus.lang.frontend.tiles import cast, elementwise, scalar_for
from argus.lang.frontend.values import (
    ScalarValue,
    SharedValue,
    StaticValue,
    TensorValue,
    TileValue,
    Value,
    ViewValue,
    axes_text,
    counted,
    describe,
    number,
)

_UNARY = tuple(f.name for f in FUNCTIONS.values() if f.arity == 1 and not f.integer)


def full_tile(call: BoundCall, value: Expr) -> Value:
    """A tile with one value everywhere."""
    e = call.e
    shape = call.shape("shape")
    dtype = call.dtype("dtype")
    where = call.where("value")
    if dtype.kind == "bool":
        value = coerce.condition(e, number(value), where, "`value`")
    t = e.tile(dtype, shape, call.dims("dims", len(shape)), call.span)
    e.emit(Full(t, scalar_for(e, value, dtype, where), span=call.span))
    return TileValue(t)


@builtin("zeros")
def zeros(call: BoundCall) -> Value:
    """A tile of zeros."""
    return full_tile(call, Const(0))


@builtin("full")
def full(call: BoundCall) -> Value:
    """A tile with one value everywhere."""
    return full_tile(call, call.scalar("value"))


def _unary(fn: str) -> Handler:
    def handler(call: BoundCall) -> Value:
        return elementwise(
            call.e, fn, (_needs_tile(call, "x"),), (call.where("x"),), call.span
        )

    return handler


def _needs_tile(call: BoundCall, name: str) -> Value:
    value = call.value(name)
    if isinstance(value, StaticValue | ScalarValue):
        raise call.e.fail(
            "AG0105",
            call.where(name),
            f"`{call.name}` takes a register tile, and this is {describe(value)}",
            help="compute it outside the kernel, or use `ag.full`",
        )
    return value


for _name in _UNARY:
    builtin(_name)(_unary(_name))


builtin("popcount")(_unary("popcount"))
builtin("twice_e2m1")(_unary("twice_e2m1"))


@builtin("abs")
def absolute(call: BoundCall) -> Value:
    """Absolute value of a tile or of a scalar."""
    value = call.value("x")
    if isinstance(value, StaticValue | ScalarValue):
        x = call.scalar("x")
        return number(binary("max", x, binary("-", 0, x)))
    return elementwise(call.e, "abs", (value,), (call.where("x"),), call.span)


def _several(fn: str, names: tuple[str, ...]) -> Handler:
    def handler(call: BoundCall) -> Value:
        values = [call.value(n) for n in names]
        if all(isinstance(v, StaticValue | ScalarValue) for v in values):
            return _scalars(call, fn, names)
        spans = [call.where(n) for n in names]
        return elementwise(call.e, fn, values, spans, call.span)

    return handler


def _scalars(call: BoundCall, fn: str, names: tuple[str, ...]) -> Value:
    match fn:
        case "maximum" | "minimum":
            a, b = (call.scalar(n) for n in names)
            return number(binary("max" if fn == "maximum" else "min", a, b))
        case "where":
            where = call.where("cond")
            cond = coerce.condition(call.e, call.value("cond"), where, "`cond`")
            return number(select(cond, call.scalar("x"), call.scalar("y")))
        case _:
            _needs_tile(call, names[0])
            raise AssertionError(fn)


for _name, _parameters in (
    ("where", ("cond", "x", "y")),
    ("maximum", ("x", "y")),
    ("minimum", ("x", "y")),
    ("fma", ("x", "y", "z")),
    ("fdiv", ("x", "y")),
    ("fmod", ("x", "y")),
    ("mulhi", ("x", "y")),
):
    builtin(_name)(_several(_name, _parameters))


@builtin("philox")
def philox(call: BoundCall) -> Value:
    """Random bits by coordinate."""
    word = call.value("word") if call.given("word") else StaticValue(0)
    return _random_bits(call, word, call.where("word"))


@builtin("random")
def random(call: BoundCall) -> Value:
    """The upper 24 bits of word 0 as a fraction."""
    e, span = call.e, call.span
    bits = _random_bits(call, StaticValue(0), span)
    spans = (span, span)
    high = elementwise(e, "shr", (bits, StaticValue(8)), spans, span)
    real = TileValue(cast(e, coerce.tile(e, high, span, "").tile, f32, span))
    return elementwise(e, "mul", (real, StaticValue(2.0**-24)), spans, span)


def _random_bits(call: BoundCall, word: Value, where: Span) -> Value:
    e = call.e
    given = (call.value("seed"), call.value("offset"), word)
    if not any(isinstance(x, TileValue) for x in given):
        call.tile("offset")
    spans = (call.where("seed"), call.where("offset"), where)
    values: list[Value] = []
    for value, span in zip(given, spans, strict=True):
        if not isinstance(value, TileValue):
            values.append(number(coerce.integer(e, value, span, "the number")))
            continue
        if value.tile.dtype.kind != "int":
            raise e.fail(
                "AG0107",
                span,
                f"`{call.name}` takes whole numbers, and these are {value.tile.dtype}",
                help="give each element a number of its own, for instance with "
                "`ag.index`",
            )
        values.append(TileValue(cast(e, value.tile, i64, call.span)))
    return elementwise(e, "philox", values, spans, call.span)


@builtin("cast", "Tile.to")
def to(call: BoundCall) -> Value:
    """Another element type."""
    source = call.receiver if call.receiver is not None else call.value("x")
    where = call.span if call.receiver is not None else call.where("x")
    t = coerce.tile(call.e, source, where, "what is converted").tile
    return TileValue(cast(call.e, t, call.dtype("dtype"), call.span))


# ------------------------------------------------------------- matrix product


@builtin("dot", "mma", "wgmma")
def dot(call: BoundCall) -> Value:
    """`acc + a @ b`.

    Raises ArgusError: operands that are no matrices or of a type that no instruction
    multiplies (AG0107), no common dimension (AG0204), a wrong accumulator (AG0205).
    """
    e = call.e
    a, b = _operand(call, "a"), _operand(call, "b")
    if a.dtype != b.dtype:
        raise e.fail(
            "AG0106",
            call.span,
            f"`{call.name}` multiplies {a.dtype} with {b.dtype}",
            help=f"convert one of them, for instance `.to({b.dtype})`",
        )
    of = element(a.dtype)
    if of is None:
        raise e.fail(
            "AG0107",
            call.span,
            f"`{call.name}` multiplies {element_names()}, not {a.dtype}",
            help=f"convert the operands with `.to({ELEMENTS[0].dtype})`",
        )
    _precision(call, of)
    (m, k), (k2, n) = a.shape, b.shape
    (dim_m, dim_k), (dim_k2, dim_n) = a.dims, b.dims
    if k != k2 or (dim_k and dim_k2 and dim_k != dim_k2):
        raise _no_common(call, a, b)
    if dim_m is not None and dim_m == dim_n:
        raise e.fail(
            "AG0207",
            call.span,
            f"the result would have the dimension `{dim_m}` twice",
            help='name one of them anew: `ag.rename(x, "...")`',
        )
    dims = (dim_m, dim_n)
    acc: Tile | None = None
    if call.given("acc"):
        acc = call.tile("acc")
        if acc.shape != (m, n) or acc.dtype != of.accumulator:
            raise e.fail(
                "AG0205",
                call.where("acc"),
                f"the accumulator is {acc.dtype}{axes_text(acc.dims, acc.shape)}, "
                f"and the product is {axes_text(dims, (m, n))}",
                help=f"start from `ag.zeros(({m}, {n}), ag.{of.accumulator})`",
            )
        dims = unify_dims(e, dims, acc.dims, call.where("acc"), "AG0205")
    result = e.tile(of.accumulator, (m, n), dims, call.span)
    operands = [x if isinstance(x, Tile) else e.use_shared(x) for x in (a, b)]
    made = Dot(result, operands[0], operands[1], acc, span=call.span)
    if call.name != "dot":
        made.instruction = "wgmma" if call.name == "wgmma" else "mma"
    made.inst_n = _wide(call, n, of)
    e.emit(made)
    return TileValue(result)


def _precision(call: BoundCall, of: MatrixElement) -> None:
    """Who multiplies with fewer bits than the operands have says so."""
    said = call.choice("precision", tuple(x.ptx for x in ELEMENTS if x.ignored))
    if said is None and of.ignored:
        raise call.e.fail(
            "AG0107",
            call.span,
            f"the tensor cores multiply {of.dtype} without its last {of.ignored} bits",
            help=f"say `precision={of.ptx!r}`, or convert the operands with "
            f"`.to({ELEMENTS[0].dtype})`",
        )
    if said is not None and said != of.ptx:
        raise call.wrong("precision", f"{said} is a precision of f32, not {of.dtype}")


def _operand(call: BoundCall, name: str) -> Tile | SharedView:
    value = call.value(name)
    match value:
        case TileValue(tile=x) | SharedValue(view=x):
            pass
        case _:
            raise call.e.fail(
                "AG0105",
                call.where(name),
                f"`{call.name}` multiplies register or shared tiles, and this is "
                f"{describe(value)}",
                help="load it: `ag.load(slice, shape)`"
                if isinstance(value, ViewValue | TensorValue)
                else None,
            )
    if len(x.shape) != 2:
        raise call.e.fail(
            "AG0204",
            call.where(name),
            f"{describe(value)} has {counted(len(x.shape), 'axis', 'axes')}, "
            "and a matrix has 2",
        )
    return x


def _no_common(
    call: BoundCall, a: Tile | SharedView, b: Tile | SharedView
) -> ArgusError:
    left, right = axes_text(a.dims, a.shape), axes_text(b.dims, b.shape)
    turned = (a.dims[1], a.shape[1]) == (b.dims[1], b.shape[1])
    return call.e.fail(
        "AG0204",
        call.span,
        f"the last dimension of {left} is not the first of {right}",
        help="transpose the right operand with `.T`" if turned else None,
    )


def _wide(call: BoundCall, n: int, of: MatrixElement) -> int | None:
    """The N of the wgmma instruction that the author asks for."""
    if not call.given("inst_n"):
        return None
    inst_n = call.positive("inst_n")
    if call.name == "mma":
        raise call.wrong("inst_n", "`inst_n` is of wgmma, not of `mma`")
    if inst_n not in columns(of) or n % inst_n:
        raise call.e.fail(
            "AG0604",
            call.where("inst_n"),
            f"{n} columns are not done by instructions of {inst_n}",
            notes=(
                f"N of wgmma is a multiple of {COLUMNS.step} up to {COLUMNS[-1]} "
                "that divides them",
            ),
        )
    return inst_n
