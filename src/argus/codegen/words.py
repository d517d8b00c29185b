"""Functions of two elements of 16 bits at a time, in the register that holds both.

Only where that gives the bits that each element by itself would have: bits of whole
numbers, and sums and products of floats, which are rounded once either way (in f32 they
are exact, or f32 has more than twice the digits of the result, and two more).
"""

from __future__ import annotations

from argus.codegen import registers
from argus.codegen.bounds import bits_of
from argus.codegen.code import CppExpression, binary, call, name
from argus.codegen.context import Emission, RegisterIteration, num_regs
from argus.codegen.expressions import places_of
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr

_BITWISE = {"and": "&", "or": "|", "xor": "^"}


def elementwise_in_words(cx: Emission, op: o.Elementwise) -> bool:
    """Print an element-wise function by words; False where it is none of those."""
    dtype = op.result.dtype
    if not dtype.packed or len(op.args) != 2 or num_regs(op.result) % 2:
        return False
    if any(isinstance(a, o.Tile) and a.dtype != dtype for a in op.args):
        return False
    function = _of_floats if dtype.is_float else _of_integers
    if function(op, name("x"), name("y")) is None:
        return False
    target = cx.array(op.result)

    def pair(step: RegisterIteration) -> list[str]:
        def word(arg: o.Tile | Expr) -> CppExpression:
            if isinstance(arg, o.Tile):
                return registers.at(cx, cx.array(arg), step, step.values)
            assert isinstance(arg, Const)
            return _twice(dtype, arg)

        made = function(op, *map(word, op.args))
        assert made is not None
        place = registers.at(cx, target, step, step.values)
        return [registers.assign(place, made)]

    if any(not isinstance(a, o.Tile) and _bits(dtype, a) is None for a in op.args):
        return False
    cx.loop(num_regs(op.result) // 2, pair)
    return True


def _of_integers(
    op: o.Elementwise, left: CppExpression, right: CppExpression
) -> CppExpression | None:
    if op.fn in _BITWISE:
        return binary(_BITWISE[op.fn], left, right)
    by = op.args[1]
    if op.fn != "floordiv" or op.result.dtype.signed or not isinstance(by, Const):
        return None
    places = places_of(int(by.value))
    if places is None or places >= 16:
        return None
    kept = 0xFFFF >> places
    mask = name(f"0x{kept << 16 | kept:08x}u")
    return binary("&", binary(">>", left, name(str(places))), mask)


def _of_floats(
    op: o.Elementwise, left: CppExpression, right: CppExpression
) -> CppExpression | None:
    dtype = op.result.dtype
    one, minus, nothing = (_twice(dtype, Const(x)) for x in (1.0, -1.0, -0.0))
    function = f"argus_fma2_{dtype.name}"
    if op.fn == "add":
        return call(function, left, one, right)
    if op.fn == "sub":
        return call(function, right, minus, left)
    # A product and -0, which changes no product.
    return call(function, left, right, nothing) if op.fn == "mul" else None


def _bits(dtype: DType, value: Expr) -> int | None:
    """Those of a constant that the type has; None for others."""
    if not isinstance(value, Const) or isinstance(value.value, bool):
        return None
    if not dtype.is_float:
        whole = value.value == int(value.value)
        return int(value.value) % 2**16 if whole else None
    return bits_of(dtype, float(value.value))


def _twice(dtype: DType, value: Const) -> CppExpression:
    bits = _bits(dtype, value)
    assert bits is not None
    return name(f"0x{bits << 16 | bits:08x}u")
