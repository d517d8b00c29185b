"""Element-wise functions: what each ufunc of numpy is among terms.

numpy itself says in which types a ufunc computes (`resolve_dtypes`), so `True + True`
is a disjunction here, too, and `3 / 2` a real number. Real arithmetic knows no NaN:
`np.isnan` is not traced. Integers are exact: what 8 or 16 bits do not hold wraps
around, and that 32 and 64 bits hold it is an assumption, but for what was cut to 32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray, kind_of, whole
from argus.specification.broadcasting import broadcast, reader
from argus.specification.cases import as_kind, passed_over
from argus.specification.casting import (
    converted,
    element_type,
    ends_of,
    lifted,
    wraps,
)
from argus.specification.complex_numbers import complex_ufunc, is_complex
from argus.specification.definitions import UFUNCS_BY_OTHERS
from argus.specification.finiteness import is_finite, is_infinite
from argus.specification.in_floats import hold
from argus.specification.powers import power
from argus.specification.storage import Indices
from argus.specification.table import name_of, refuse
from argus.specification.tracing import Tracing
from argus.terms import Integer, Unknown, Value, World, apply, literal
from argus.terms.apply import is_whole_value
from argus.terms.narrowing import is_narrowed, narrowed
from argus.terms.shifts import shifted

_WIDEST = 64
"""Bits of the widest numbers."""
Rule = Callable[..., Value]
"""From a world and values, all of the types in which the ufunc computes."""


def _named(real: str, integer: str | None = None, truth: str | None = None) -> Rule:
    """Functions of terms by the kind of the first operand."""
    names = {"real": real, "integer": integer or real, "truth": truth or real}

    def rule(world: World, *values: Value) -> Value:
        return apply(world, names[values[0].kind], *values)

    return rule


def _bit_count(world: World, a: Value) -> Value:
    """What numpy counts is in the absolute value: of what is not below 0, its own."""
    for where, x in a.integers:
        if not world.is_empty(where & world.compare(x, "<", 0)):
            raise Unknown("the number of bits of what may be below 0")
    wide = any(
        not world.is_empty(where & world.compare(x, ">=", 2**32))
        for where, x in a.integers
    )
    return apply(world, "popcount64" if wide else "popcount32", a)


def _number(world: World, value: float) -> Value:
    return Value.real(literal(world, value))


def _floor_divide(world: World, a: Value, b: Value) -> Value:
    if a.kind == "integer" or (is_whole_value(a) and is_whole_value(b)):
        return apply(world, "floordiv", a, b)
    return apply(world, "floor", apply(world, "div", a, b))


def _remainder(world: World, a: Value, b: Value) -> Value:
    if a.kind == "integer" or (is_whole_value(a) and is_whole_value(b)):
        return apply(world, "mod", a, b)
    whole = apply(world, "mul", b, _floor_divide(world, a, b))
    return apply(world, "sub", a, whole)


def _fmod(world: World, a: Value, b: Value) -> Value:
    if a.kind != "integer":
        return apply(world, "fmod", a, b)
    rest, zero = apply(world, "mod", a, b), _whole(0)
    signs = (apply(world, "lt", x, zero) for x in (a, b))
    other = apply(
        world, "and", apply(world, "xor", *signs), apply(world, "ne", rest, zero)
    )
    return apply(world, "where", other, apply(world, "sub", rest, b), rest)


def _absolute(world: World, a: Value) -> Value:
    if a.kind == "integer":
        return apply(world, "maximum", a, apply(world, "neg", a))
    return apply(world, "abs", a)


def _sign(world: World, a: Value) -> Value:
    zero, one, minus = (as_kind(world, _whole(n), a.kind) for n in (0, 1, -1))
    below = apply(world, "where", apply(world, "lt", a, zero), minus, zero)
    return apply(world, "where", apply(world, "gt", a, zero), one, below)


def _trunc(world: World, a: Value) -> Value:
    if a.kind == "integer":
        return a
    up, down = apply(world, "ceil", a), apply(world, "floor", a)
    return apply(world, "where", apply(world, "lt", a, _number(world, 0.0)), up, down)


def _whole(value: int) -> Value:
    return Value.whole(Integer.of(value))


def _identity(world: World, a: Value) -> Value:
    return a


def _rounding(name: str) -> Rule:
    def rule(world: World, a: Value) -> Value:
        return a if a.kind == "integer" else apply(world, name, a)

    return rule


def _compared(name: str) -> Rule:
    def rule(world: World, a: Value, b: Value) -> Value:
        if a.kind == "truth":
            a, b = as_kind(world, a, "integer"), as_kind(world, b, "integer")
        return apply(world, name, a, b)

    return rule


def _logical(name: str) -> Rule:
    def rule(world: World, *values: Value) -> Value:
        truths = [as_kind(world, v, "truth") for v in values]
        return apply(world, name, *truths)

    return rule


def _scaled(name: str, factor: float) -> Rule:
    def rule(world: World, a: Value) -> Value:
        return apply(world, "mul", apply(world, name, a), _number(world, factor))

    return rule


def _times(factor: float) -> Rule:
    def rule(world: World, a: Value) -> Value:
        return apply(world, "mul", a, _number(world, factor))

    return rule


def _hyperbolic(sign: str) -> Rule:
    def rule(world: World, a: Value) -> Value:
        up, down = apply(world, "exp", a), apply(world, "exp", apply(world, "neg", a))
        return apply(world, "mul", apply(world, sign, up, down), _number(world, 0.5))

    return rule


def _logaddexp(world: World, a: Value, b: Value) -> Value:
    total = apply(world, "add", apply(world, "exp", a), apply(world, "exp", b))
    return apply(world, "log", total)


def _hypot(world: World, a: Value, b: Value) -> Value:
    squares = (apply(world, "mul", v, v) for v in (a, b))
    return apply(world, "sqrt", apply(world, "add", *squares))


def _shift(left: bool) -> Rule:
    def rule(world: World, a: Value, b: Value) -> Value:
        return shifted(world, a, b, _WIDEST, left=left, beyond=False)

    return rule


def _invert(world: World, a: Value) -> Value:
    if a.kind == "truth":
        return apply(world, "not", a)
    return apply(world, "sub", _whole(-1), a)


def _reciprocal(world: World, a: Value) -> Value:
    if a.kind == "integer":
        raise Unknown("the reference takes the reciprocal of whole numbers")
    return apply(world, "rcp", a)


def _tan(world: World, a: Value) -> Value:
    return apply(world, "div", apply(world, "sin", a), apply(world, "cos", a))


def _squared(world: World, a: Value) -> Value:
    return apply(world, "mul", a, a)


UFUNCS: dict[np.ufunc, Rule] = {
    np.add: _named("add", truth="or"),
    np.subtract: _named("sub"),
    np.multiply: _named("mul", truth="and"),
    np.divide: _named("div"),
    np.floor_divide: _floor_divide,
    np.remainder: _remainder,
    np.fmod: _fmod,
    np.negative: _named("neg"),
    np.positive: _identity,
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.sign: _sign,
    np.power: power,
    np.float_power: power,
    np.square: _squared,
    np.reciprocal: _reciprocal,
    np.sqrt: _named("sqrt"),
    np.exp: _named("exp"),
    np.exp2: _named("exp2"),
    np.expm1: _named("expm1"),
    np.log: _named("log"),
    np.log2: _named("log2"),
    np.log10: _scaled("log", 1 / math.log(10)),
    np.log1p: _named("log1p"),
    np.logaddexp: _logaddexp,
    np.hypot: _hypot,
    np.sin: _named("sin"),
    np.cos: _named("cos"),
    np.tan: _tan,
    np.sinh: _hyperbolic("sub"),
    np.cosh: _hyperbolic("add"),
    np.tanh: _named("tanh"),
    np.arctan: _named("atan"),
    np.floor: _rounding("floor"),
    np.ceil: _rounding("ceil"),
    np.rint: _rounding("round"),
    np.trunc: _trunc,
    np.maximum: _named("maximum", truth="or"),
    np.minimum: _named("minimum", truth="and"),
    np.fmax: _named("maximum", truth="or"),
    np.fmin: _named("minimum", truth="and"),
    np.equal: _compared("eq"),
    np.not_equal: _compared("ne"),
    np.isfinite: is_finite,
    np.isinf: is_infinite,
    np.less: _compared("lt"),
    np.less_equal: _compared("le"),
    np.greater: _compared("gt"),
    np.greater_equal: _compared("ge"),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_xor: _logical("xor"),
    np.logical_not: _logical("not"),
    np.bitwise_and: _named("and"),
    np.bitwise_or: _named("or"),
    np.bitwise_xor: _named("xor"),
    np.bitwise_count: _bit_count,
    np.invert: _invert,
    np.left_shift: _shift(True),
    np.right_shift: _shift(False),
    np.deg2rad: _times(math.pi / 180),
    np.rad2deg: _times(180 / math.pi),
}

_WRAPPING = {
    np.add, np.subtract, np.multiply, np.negative, np.power, np.square, np.left_shift,
    np.absolute, np.invert, np.floor_divide,
}  # fmt: skip
"""Ufuncs whose results an integer type may be too narrow for."""


_PASSING_OVER = {np.fmax, np.fmin}
"""Of a number and NaN they are the number."""
_DIVISIONS = {np.divide, np.floor_divide, np.remainder, np.fmod}
"""Of Python's numbers they fail where the divisor is 0."""


def applied(
    tracing: Tracing,
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    """A ufunc, or one of its methods, on arrays of which some are symbolic.

    Raises Unknown for what is not traced.
    """
    out = named.pop("out", None)
    named.pop("casting", None)
    some = named.pop("where", True) if method == "__call__" and out else True
    if ufunc in _PASSING_OVER:
        inputs = [passed_over(x) for x in inputs]
    if method == "__call__":
        result = _called(tracing, ufunc, inputs, named)
    else:
        from argus.specification.ufunc_methods import method_of

        result = method_of(tracing, ufunc, method, inputs, named)
    if out is None:
        return result
    (target,) = out
    if not isinstance(target, SymbolicArray):
        raise Unknown(f"the reference writes {name_of(ufunc)} into a plain array")
    if some is True:
        target[...] = result
    else:
        from argus.specification.writing import written_where

        written_where(target, some, result, name_of(ufunc))
    return target


def _called(
    tracing: Tracing, ufunc: np.ufunc, inputs: Sequence[Any], named: dict[str, Any]
) -> Any:
    if any(map(is_complex, inputs)):
        return complex_ufunc(tracing, ufunc, inputs, named)
    dtype = named.pop("dtype", None)
    refuse(name_of(ufunc), **{k: v for k, v in named.items() if v is not True})
    arrays = [_computed(lifted(tracing, x), dtype) for x in inputs]
    if ufunc is np.matmul or ufunc.signature is not None:
        from argus.specification.table import call

        return call(ufunc, *arrays)
    if ufunc is np.divmod:
        return tuple(
            elementwise(tracing, f, arrays) for f in (np.floor_divide, np.remainder)
        )
    if ufunc in UFUNCS_BY_OTHERS:
        return UFUNCS_BY_OTHERS[ufunc](*arrays)
    if ufunc in _DIVISIONS and all(a.weak and a.kind == "integer" for a in arrays):
        divisor = whole(arrays[1])
        nonzero = tracing.world.compare(divisor, "!=", 0)
        tracing.need(nonzero, f"{divisor} != 0 (a division)")
    made = elementwise(tracing, ufunc, arrays)
    return made if dtype is None else converted(made, dtype)


def _computed(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    """An operand in the type that a call says (`dtype=`): numpy computes in it.

    Raises Unknown for one that is less than what an operand has.
    """
    if dtype is None or np.dtype(dtype).kind == "b":
        return array
    if not np.can_cast(array.dtype, element_type(dtype), "same_kind"):
        raise Unknown(f"the reference computes {array.dtype} with dtype={dtype}")
    return converted(array, dtype)


def elementwise(
    tracing: Tracing, ufunc: np.ufunc, arrays: Sequence[SymbolicArray]
) -> SymbolicArray:
    """A ufunc of arrays, element by element.

    Raises Unknown for a ufunc without a rule.
    """
    rule = UFUNCS.get(ufunc)
    if rule is None:
        raise Unknown(f"the reference calls {name_of(ufunc)}, which is not traced")
    *inner, result = types_of(ufunc, arrays)
    kinds = [kind_of(t) for t in inner]
    kind = kind_of(result)
    leaves = ufunc in _WRAPPING and kind == "integer"
    wrapping = leaves and wraps(tracing, result)
    shape = broadcast(tracing, [a.sizes for a in arrays], name_of(ufunc))
    reads, world = [reader(a) for a in arrays], tracing.world

    def read(indices: Indices) -> Value:
        values = [
            as_kind(world, r(indices), k) for r, k in zip(reads, kinds, strict=True)
        ]
        made = as_kind(world, rule(world, *values), kind)
        if wrapping or (leaves and result.itemsize == 4 and any(map(_is_left, values))):
            return narrowed(world, made, ends_of(result))
        return made

    weak = all(a.weak for a in arrays) and result.kind != "b"
    found = SymbolicArray(tracing, shape, result, read, weak=weak)
    if result == np.float16:
        hold(found, "float16")
    return found


def types_of(
    ufunc: np.ufunc, arrays: Sequence[SymbolicArray]
) -> tuple[np.dtype[Any], ...]:
    """In which types numpy would compute, the result's last.

    Raises TypeError where numpy refuses, as for `-` of truth values.
    """
    strong = any(not a.weak for a in arrays)
    asked: list[Any] = [
        {"i": int, "f": float}[a.dtype.kind] if a.weak and strong else a.dtype
        for a in arrays
    ]
    return ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))  # type: ignore[arg-type]


def _is_left(value: Value) -> bool:
    """Whether a number was cut to 32 bits before."""
    return is_narrowed(value, (1 << 32,))
