"""Operations on register tiles, element by element.

What cannot be said of an element is Unknown, and kept as the value of the result:
`argus.verify.denotation.state`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedView
from argus.ir.numerics import arithmetic
from argus.terms import (
    Base,
    IndexSet,
    Integer,
    Term,
    Unknown,
    Value,
    Variable,
    Whole,
    apply,
    cast,
    reduce,
)
from argus.terms.apply import COMPARISONS
from argus.terms.cast import saturated
from argus.terms.cleared import cleared
from argus.terms.ends import ends
from argus.terms.integers import variable_of
from argus.terms.narrowing import is_narrowed, narrowed
from argus.terms.opening import Closing
from argus.terms.shifts import shifted
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.combining import combined
from argus.verify.denotation.demand import Demand
from argus.verify.denotation.ranges import range_of
from argus.verify.denotation.reads import shared_element
from argus.verify.denotation.scalars import integer_cases
from argus.verify.denotation.state import Context, integers, ranges
from argus.verify.denotation.totals import counted_scalar

__all__ = ["PRODUCTS", "converted", "product", "register_value"]

_WRAPPING = ("add", "sub", "mul", "neg", "abs", "fma", "power", "floordiv", "shl")
"""Functions whose results may leave the range of their arguments."""
PRODUCTS = ("mul", "fma", "power", "shl")
"""Those of them whose results leave it further the larger the arguments are."""


_CUTTING = ("floor", "ceil", "round", *COMPARISONS)
"""Functions that are another number on two sides of a place."""
_DECIDING = (*_CUTTING, "maximum", "minimum")
"""And those that choose: of ``min(n - 257, 1)`` a mask is made, too."""


def register_value(context: Context, op: o.AnyRegisterOp, demand: Demand) -> Value:
    """The value of an operation's result at the axes of its shape. Raises Unknown."""
    made = _register_value(context, op, demand)
    if op.result.dtype.is_float and _rounds(op) and _has_whole(made):
        context.notice("in float", op, made, op.result.dtype)
    return made


def _rounds(op: o.AnyRegisterOp) -> bool:
    """Whether floats that an operation makes of whole numbers may be rounded."""
    match op:
        case o.Elementwise():
            return op.fn not in _DECIDING and op.fn != "where"
        case o.Full() | o.Cast() | o.Reduce() | o.Scan() | o.ScanTotal():
            return True
        case o.Index() | o.Moving() | o.Sort() | o.Reinterpret():
            return False  # it moves elements
        case _:
            assert_never(op)


def _has_whole(value: Value) -> bool:
    """Whether some case is a whole number that varies, or a fraction of one."""
    if value.kind != "real":
        return False
    numbers = (cleared(term)[0] for _, term in value.terms)
    return any(n is not None and n.constant is None for n in numbers)


def _of_wholes(term: Term) -> bool:
    """Whether a term is a whole number, a fraction, or a quotient of whole numbers."""
    if cleared(term)[0] is not None:
        return True
    return term.special is None and all(
        part.exponent is None
        and all(
            isinstance(power, int)
            and (
                isinstance(leaf, Whole)
                or (isinstance(leaf, Base) and leaf.term.integer is not None)
            )
            for leaf, power in part.factors
        )
        for part in term.parts
    )


def _notice_decision(
    context: Context, op: o.AnyRegisterOp, dtype: DType, values: Sequence[Value]
) -> None:
    """Note operands in floats that are made of whole numbers alone."""
    terms = [t for v in values if v.kind == "real" for _, t in v.terms]
    if dtype.is_float and all(map(_of_wholes, terms)):
        for i, value in enumerate(values):
            context.notice(
                "decides", op, cast(context.world, value, "real"), dtype, str(i)
            )


def _register_value(context: Context, op: o.AnyRegisterOp, demand: Demand) -> Value:
    axes = context.axes(op.result.shape)
    indices = integers(axes)
    match op:
        case o.Full():
            return converted(
                context, counted_scalar(context, op.value), op.result.dtype
            )
        case o.Index():
            return Value.whole(indices[op.axis])
        case o.Elementwise():
            args = [_argument(context, a, indices, op) for a in op.args]
            if op in context.moved_back:
                held = op.result.dtype.integers
                args[0] = narrowed(context.world, args[0], held, context.state.where)
            if op.fn in _DECIDING:
                _notice_decision(context, op, _type_of(op), args)
            made = _applied(context, op, args)
            if FUNCTIONS[op.fn].law == "exp":
                argument = cast(context.world, args[0], "real")
                context.notice("exponent", op, argument, op.result.dtype)
            if op.fn not in _WRAPPING or made.kind == "truth":
                return _beside_scalars(context, op, made)
            held = _left_of(op.result.dtype, args)
            if held is not None:
                return narrowed(context.world, made, held, context.state.where)
            asked = demand.cases(context, op, op.result, made)
            if made.kind == "integer":
                context.notice("whole", op, asked, op.result.dtype)
            if op.fn in PRODUCTS and op.result.dtype.kind == "int":
                context.notice("product", op, asked, op.result.dtype)
            return made
        case o.Cast():
            value = context.element(op.src, indices)
            if not op.result.dtype.is_float:
                _notice_decision(context, op, op.src.dtype, [value])
            return converted(context, value, op.result.dtype, op.src.dtype)
        case o.Moving():
            return _moved(context, op, indices)
        case o.Reduce():
            return _reduced(context, op, indices)
        case o.Sort():
            raise Unknown("sort: where an element goes is a matter of data")
        case o.Scan() | o.ScanTotal():
            return combined(context, op, axes)
        case o.Reinterpret():
            raise Unknown(
                "reinterpret: which element a register holds is a matter of layouts"
            )
        case _:
            assert_never(op)


def _type_of(op: o.Elementwise) -> DType:
    """The type of an operation's operands; scalars take it."""
    return next((a.dtype for a in op.args if isinstance(a, o.Tile)), op.result.dtype)


def _beside_scalars(context: Context, op: o.Elementwise, made: Value) -> Value:
    """A result as its type holds it, where a scalar may be more than a tile's elements.

    Whole numbers of few bits are computed in 32.
    """
    dtype = op.result.dtype
    if dtype.kind != "int" or dtype.bits >= 32 or made.kind == "truth":
        return made
    if all(isinstance(a, o.Tile) for a in op.args):
        return made
    return narrowed(context.world, made, dtype.integers, context.state.where)


def _applied(context: Context, op: o.Elementwise, args: Sequence[Value]) -> Value:
    if op.fn in ("shl", "shr"):
        value, amount = args
        width = max(op.result.dtype.bits, 32)
        here = context.state.where
        left = op.fn == "shl"
        return shifted(
            context.world, value, amount, width, left=left, beyond=True, where=here
        )
    if op.fn in ("mulhi", "popcount"):  # of so many bits
        return apply(context.world, f"{op.fn}{op.result.dtype.bits}", *args)
    added = FUNCTIONS[op.fn].law in ("exp", "add", "sub", "fma")
    if added and context.finite.is_number(op):
        with context.world.obligations.muted("finite"):
            return apply(context.world, op.fn, *args)
    return apply(context.world, op.fn, *args)


def _argument(
    context: Context, arg: o.Tile | Expr, indices: Sequence[Integer], op: o.Elementwise
) -> Value:
    """An operand. A scalar wraps to the type in which the tile beside it computes."""
    if isinstance(arg, o.Tile):
        return context.element(arg, indices)
    value = counted_scalar(context, arg)
    for other in op.args:
        asked = isinstance(other, o.Tile) and range_of(other.dtype) is not None
        if isinstance(other, o.Tile) and asked and value.kind == "integer":
            held = arithmetic(other.dtype).integers
            value = narrowed(context.world, value, held, context.state.where)
    return value


def _moved(context: Context, op: o.Moving, indices: Sequence[Integer]) -> Value:
    """The element of a source; of several, of the part in which it lies."""
    world = context.world
    found = [
        context.element(source, [Integer.of(i) for i in at])
        for source, at in op.origins(indices, world)
    ]
    if op.parted is None:
        (value,) = found
        return value
    index = indices[op.parted]
    size = op.result.shape[op.parted] // len(found)
    cases: list[tuple[IndexSet, Value]] = []
    for number, value in enumerate(found):
        where = world.compare(index, ">=", number * size)
        where = where & world.compare(index, "<", (number + 1) * size)
        cases.append((where, value))
    return chosen(world, cases)


def _reduced(context: Context, op: o.Reduce, indices: Sequence[Integer]) -> Value:
    with Closing(context.world, Value.free_variables) as closed:
        bound = _bound(context, "r", op.src.shape[op.axis])
        source = [*indices[: op.axis], Integer.atom(bound), *indices[op.axis :]]
        value = context.element(op.src, source)
        return closed(reduce(context.world, op.fn, (bound,), value))


def product(context: Context, op: o.Dot) -> Value:
    """``acc + a @ b``: the sum over k of a[m, k] * b[k, n]. Raises Unknown."""
    if len(op.a.shape) != 2 or len(op.b.shape) != 2 or len(op.result.shape) != 2:
        raise Unknown("a matrix product of tiles that are not matrices")
    m, n = integers(context.axes(op.result.shape))
    with Closing(context.world, Value.free_variables) as closed:
        bound = _bound(context, "k", op.a.shape[1])
        k = Integer.atom(bound)
        left, right = _operand(context, op.a, (m, k)), _operand(context, op.b, (k, n))
        each = apply(context.world, "mul", left, right)
        total = closed(reduce(context.world, "sum", (bound,), each))
    if op.acc is None:
        return total
    return apply(context.world, "add", context.element(op.acc, (m, n)), total)


def _operand(
    context: Context, operand: o.Tile | SharedView, indices: Sequence[Integer]
) -> Value:
    if isinstance(operand, SharedView):
        return shared_element(context, operand, indices)
    return context.element(operand, indices)


def _bound(context: Context, stem: str, extent: int) -> Variable:
    return variable_of(context.world.opened(stem, Integer.of(0), Integer.of(extent)))


def converted(
    context: Context, value: Value, dtype: DType, source: DType | None = None
) -> Value:
    """A value as elements of a type. Conversions between floats are the identity.

    Whole numbers wrap around to a narrower type. Raises Unknown where a float may not
    fit it.
    """
    kind = "real" if dtype.is_float else "truth" if dtype.kind == "bool" else "integer"
    held = range_of(dtype)
    if kind == "integer" and value.kind == "real" and held is not None:
        # Floats are cut to the ends; a sum of whole numbers wraps, but within them.
        whole = source is not None and not source.is_float
        if not whole or all(_within(term, held) for _, term in value.terms):
            return saturated(context.world, value, *held)
    if source == dtype:
        return cast(context.world, value, kind)
    held = range_of(dtype, source)
    scalar_ = source is None and value.kind == "integer"
    if held is not None and (scalar_ or (source is not None and source.kind == "int")):
        here = context.state.where & ranges(context.world, context.state.scope)
        return narrowed(context.world, value, held, here)
    made = cast(context.world, value, kind)
    require_range(context, made, dtype, "a conversion to", source)
    return made


def _left_of(dtype: DType, args: Sequence[Value]) -> tuple[int, int] | None:
    """The ends of a type in which arithmetic is remainders; None where it is exact.

    Numbers of 32 bits with a sign are taken to fit, but for what is left of others.
    """
    if dtype.name == "i32" and any(is_narrowed(a, (1 << 32,)) for a in args):
        return dtype.integers
    return range_of(dtype)


def _within(term: Term, bounds: tuple[int, int]) -> bool:
    low, high = ends(term)
    return (
        low is not None and high is not None and bounds[0] <= low <= high <= bounds[1]
    )


def require_range(
    context: Context,
    value: Value,
    dtype: DType,
    what: str,
    source: DType | None = None,
) -> None:
    """Raises Unknown where a number may not fit a type that is asked, see `range_of`.

    That results of 32 and 64 bits fit is assumed, and said in the report.
    """
    world = context.world
    found = range_of(dtype, source)
    if found is None:
        return
    for where, number in integer_cases(context, value):
        outside = world.compare(number, "<", found[0])
        outside = outside | world.compare(number, ">", found[1])
        if not world.is_empty(where & outside & context.state.where):
            raise Unknown(f"{what} {dtype} that may change the number")
