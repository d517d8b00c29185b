"""Operations on register tiles that keep every element in its thread."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from argus.codegen import registers
from argus.codegen.bounds import (
    added,
    bounds_of,
    bounds_of_all,
    cast_bounds,
    signed_bytes,
    small_floats,
)
from argus.codegen.code import TERNARY, CppExpression, call, converted
from argus.codegen.context import Emission, Ints, RegisterIteration, num_regs
from argus.codegen.errors import CodegenError
from argus.codegen.expressions import by_bits
from argus.codegen.fusing import ROUNDED, is_power
from argus.codegen.registers import compute_type
from argus.codegen.storage import layout_of
from argus.codegen.words import elementwise_in_words
from argus.ir import ops as o
from argus.ir.dtypes import DType, boolean
from argus.ir.expr import Const, Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import common


def full(cx: Emission, op: o.Full) -> None:
    """Every element is one scalar."""
    value = registers.scalar(cx, op.value, op.result.dtype)
    registers.fill(
        cx, cx.array(op.result), num_regs(op.result), lambda _step, _regs: value
    )


def extract(cx: Emission, op: o.Extract) -> None:
    """The only element of a tile, of which every thread holds a copy."""
    first = np.zeros(1, np.int64)
    step = RegisterIteration(None, first)
    value = registers.read(cx, cx.array(op.src), step, first)
    cx.out.line(f"const {cx.bind_scalar(op.sym)} = {value.bare};")


def index(cx: Emission, op: o.Index) -> None:
    """Each element is its coordinate along one axis."""
    layout = layout_of(op.result)
    by_thread = cx.coordinate(op.result.dims, layout, op.axis)
    by_reg = _reg_part(op.result, op.axis)

    def value(step: RegisterIteration, regs: Ints) -> CppExpression:
        return cx.code(by_thread + step.index(by_reg[regs]))

    registers.fill(cx, cx.array(op.result), num_regs(op.result), value)


def _reg_part(tile: o.Tile, axis: int) -> Ints:
    layout = layout_of(tile)
    part = layout.reg_part(np.arange(layout.num_regs))[axis]
    return np.zeros(layout.num_regs, dtype=np.int64) + part


def elementwise(cx: Emission, op: o.Elementwise) -> None:
    """A function of corresponding elements; 16-bit floats by way of f32.

    Raises CodegenError when an operand's layout is not the result's.
    """
    types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
    dtype = common(op.fn, types, op.result.dtype)
    template, args = _cheapest(op, dtype)
    if op in cx.rounded_products:
        template = ROUNDED[dtype.bits]
    for arg in op.args:
        if isinstance(arg, o.Tile) and not layout_of(arg).same_as(layout_of(op.result)):
            raise CodegenError(f"{op.fn}: layouts of {arg!r} and {op.result!r} differ")

    quotient = {"floordiv": "//", "mod": "%"}.get(op.fn)
    last = op.args[-1]
    by = last.value if isinstance(last, Const) else None

    def value(step: RegisterIteration, regs: Ints) -> CppExpression:
        parts = [_operand(cx, arg, dtype, step, regs) for arg in args]
        if quotient is not None and (found := by_bits(quotient, parts[0], by)):
            return found
        return CppExpression(template.format(*(p.operand for p in parts)), TERNARY)

    bounds = bounds_of(op, cx.bounds)
    if bounds is not None:
        cx.bounds[op.result] = bounds
    if not elementwise_in_words(cx, op):
        registers.fill(cx, cx.array(op.result), num_regs(op.result), value)


def _cheapest(op: o.Elementwise, dtype: DType) -> tuple[str, tuple[o.Tile | Expr, ...]]:
    """The spelling of the function, and its operands.

    A quotient by a power of two is a product. By a scalar of run time it is C++'s: such
    are means, few of them, for which `argus_div` keeps more registers.
    """
    spelling, last = FUNCTIONS[op.fn].spelling(dtype), op.args[-1]
    if op.fn != "div" or not isinstance(last, Expr):
        return spelling, op.args
    if not isinstance(last, Const):
        return "{0} / {1}", op.args
    if not is_power(float(last.value)):
        return spelling, op.args
    return FUNCTIONS["mul"].spelling(dtype), (op.args[0], Const(1 / last.value))


def _operand(
    cx: Emission, arg: o.Tile | Expr, dtype: DType, step: RegisterIteration, regs: Ints
) -> CppExpression:
    if isinstance(arg, o.Tile):
        return registers.read(cx, cx.array(arg), step, regs)
    # The condition of `where` may be a uniform truth value.
    return registers.scalar(cx, arg, boolean if arg.type == "bool" else dtype)


def cast(cx: Emission, op: o.Cast) -> None:
    """Convert each element, as `argus.ir.numerics` says."""
    source, target = cx.array(op.src), cx.array(op.result)
    count = num_regs(op.result)
    if op.src.dtype == op.result.dtype:
        registers.move(cx, target, source, np.arange(count))
        return
    whole = op.src.dtype.kind == op.result.dtype.kind == "int"
    if whole and op.src.dtype.packed and op.result.dtype.packed:
        registers.copy(cx, target, source)
        return
    before, after = compute_type(op.src.dtype), compute_type(op.result.dtype)

    def value(step: RegisterIteration, regs: Ints) -> CppExpression:
        held = registers.read(cx, source, step, regs)
        if op.src.dtype.is_float and op.result.dtype.kind == "int":
            # C++ leaves open what becomes of NaN and of what is too large.
            return call(f"argus_whole_{op.result.dtype.name}", held)
        # The narrow integers wrap when they are stored.
        return held if before == after else converted(after, held)

    known = cast_bounds(op.src, cx.bounds)
    small = small_floats(op.result.dtype, known)
    if small is not None and count % 2 == 0:
        registers.fill_small(cx, target, source, count, small)
        return
    if signed_bytes(op.result.dtype, known) and count % 2 == 0:
        registers.fill_whole(cx, target, source, count, "argus_signed_bytes_bf16")
        return
    registers.fill(cx, target, count, value)


def together(cx: Emission, op: o.AnyOp, then: o.AnyOp) -> Callable[[], None] | None:
    """What prints two operations that are one instruction; None where they are not.

    Nor where others read what the first makes.
    """
    if not isinstance(op, o.Cast | o.Elementwise) or cx.uses[op.result] > 1:
        return None
    if num_regs(op.result) % 2:
        return None
    if isinstance(op, o.Cast):
        return _cast_and_add(cx, op, then)
    return _e2m1_and_cast(cx, op, then)


def between(op: o.AnyOp) -> o.Tile:
    """What is between two operations that are one instruction."""
    assert isinstance(op, o.Cast | o.Elementwise)
    return op.result


def _cast_and_add(cx: Emission, op: o.Cast, then: o.AnyOp) -> Callable[[], None] | None:
    """Whole numbers of a few bits as floats, and a constant that is added to them."""
    more = added(then, op.result)
    if more is None or not isinstance(then, o.Elementwise):
        return None
    small = small_floats(op.result.dtype, cast_bounds(op.src, cx.bounds), more)
    target = then.result
    if small is None or not layout_of(op.src).same_as(layout_of(target)):
        return None
    return lambda: registers.fill_small(
        cx, cx.array(target), cx.array(op.src), num_regs(target), small
    )


def _e2m1_and_cast(
    cx: Emission, op: o.Elementwise, then: o.AnyOp
) -> Callable[[], None] | None:
    """Numbers of e2m1 as floats of 16 bits, some of whose bits are theirs."""
    source = op.args[0]
    if op.fn != "twice_e2m1" or not isinstance(source, o.Tile):
        return None
    if not isinstance(then, o.Cast) or then.src is not op.result:
        return None
    target = then.result
    if not source.dtype.packed or not (target.dtype.packed and target.dtype.is_float):
        return None
    function = f"argus_e2m1_{target.dtype.name}"
    return lambda: registers.in_words(
        cx, cx.array(target), cx.array(source), num_regs(target), function
    )


def move(cx: Emission, op: o.Moving) -> None:
    """Elements of the sources: which register feeds which is a fixed map.

    Raises CodegenError where the layouts say that threads would have to exchange data.
    """
    first = op.sources[0]
    found = op.held(layout_of(op.result), layout_of(first))
    if found is None:
        raise CodegenError(f"{op.words} of {first!r} needs data of other threads")
    bounds = bounds_of_all(op.sources, cx.bounds)
    if bounds is not None:
        cx.bounds[op.result] = bounds
    target, arrays = cx.array(op.result), [cx.array(x) for x in op.sources]
    if op.renames:
        registers.copy(cx, target, arrays[0])
    elif len(arrays) == 1:
        registers.move(cx, target, arrays[0], found[1])
    else:
        registers.gather(cx, target, arrays, *found)


def reinterpret(cx: Emission, op: o.Reinterpret) -> None:
    """The same registers under another layout: nothing, or a copy.

    Raises CodegenError where one has more of them.
    """
    if num_regs(op.src) != num_regs(op.result):
        raise CodegenError(f"{op.src!r} and {op.result!r} differ in registers")
    registers.copy(cx, cx.array(op.result), cx.array(op.src))


_CALL = re.compile(r"\bargus_\w+")


def functions_called(text: str) -> list[str]:
    """Device functions that a text calls, each once, in order of appearance."""
    return list(dict.fromkeys(_CALL.findall(text)))
