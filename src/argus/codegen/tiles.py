"""Operations on register tiles that keep every element in its thread."""

from __future__ import annotations

import re

import numpy as np

from argus.codegen import registers
from argus.codegen.code import TERNARY, CppExpression, call, converted
from argus.codegen.context import Emission, Ints, RegisterIteration, num_regs
from argus.codegen.errors import CodegenError
from argus.codegen.registers import compute_type
from argus.codegen.storage import layout_of
from argus.ir import ops as o
from argus.ir.dtypes import DType, boolean
from argus.ir.expr import Expr
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
    function = FUNCTIONS[op.fn]
    types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
    dtype = common(op.fn, types, op.result.dtype)
    template = function.spelling(dtype)
    for arg in op.args:
        if isinstance(arg, o.Tile) and not layout_of(arg).same_as(layout_of(op.result)):
            raise CodegenError(f"{op.fn}: layouts of {arg!r} and {op.result!r} differ")

    def value(step: RegisterIteration, regs: Ints) -> CppExpression:
        parts = [_operand(cx, arg, dtype, step, regs) for arg in op.args]
        return CppExpression(template.format(*(p.operand for p in parts)), TERNARY)

    registers.fill(cx, cx.array(op.result), num_regs(op.result), value)


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
    before, after = compute_type(op.src.dtype), compute_type(op.result.dtype)

    def value(step: RegisterIteration, regs: Ints) -> CppExpression:
        held = registers.read(cx, source, step, regs)
        if op.src.dtype.is_float and op.result.dtype.kind == "int":
            # C++ leaves open what becomes of NaN and of what is too large.
            return call(f"argus_whole_{op.result.dtype.name}", held)
        # The narrow integers wrap when they are stored.
        return held if before == after else converted(after, held)

    registers.fill(cx, target, count, value)


def broadcast(cx: Emission, op: o.Broadcast) -> None:
    """Repeat elements along new axes: which register feeds which is a fixed map."""
    found = layout_of(op.result).register_map(layout_of(op.src), tuple(op.axes))
    if found is None:
        raise CodegenError(f"broadcast of {op.src!r} needs data of other threads")
    registers.move(cx, cx.array(op.result), cx.array(op.src), found)


def convert(cx: Emission, op: o.Convert) -> None:
    """The same elements in other registers of the same thread."""
    axes = tuple(range(layout_of(op.src).rank))
    found = layout_of(op.result).register_map(layout_of(op.src), axes)
    if found is None:
        raise CodegenError(f"conversion of {op.src!r} needs data of other threads")
    registers.move(cx, cx.array(op.result), cx.array(op.src), found)


def select(cx: Emission, op: o.Selection) -> None:
    """Some elements of a tile: some of its registers."""
    window = layout_of(op.src).window(op.axis, op.elements)
    if window is None:
        raise CodegenError(f"selection of {op.src!r} is not made of registers")
    registers.move(cx, cx.array(op.result), cx.array(op.src), window[1])


def join(cx: Emission, op: o.Join) -> None:
    """The registers of several tiles, each in the places of its own.

    Raises CodegenError when the result's layout does not say the same registers.
    """
    layout, part, own = layout_of(op.parts[0]).join(op.axis, len(op.parts))
    if not layout.same_as(layout_of(op.result)):
        raise CodegenError(f"joining {op.parts!r} moves registers")
    registers.gather(
        cx, cx.array(op.result), [cx.array(x) for x in op.parts], part, own
    )


def rename(cx: Emission, op: o.Transpose | o.Reshape | o.Reinterpret) -> None:
    """The same registers under other coordinates: nothing, or a copy.

    Raises CodegenError when the result's layout does not say the same registers.
    """
    if isinstance(op, o.Transpose):
        wanted = layout_of(op.src).permute(tuple(op.axes))
        if not wanted.same_as(layout_of(op.result)):
            raise CodegenError(f"the transpose of {op.src!r} moves registers")
    if isinstance(op, o.Reshape):
        found = layout_of(op.src).reshape(op.result.shape)
        if found is None or not found.same_as(layout_of(op.result)):
            raise CodegenError(f"the reshape of {op.src!r} moves registers")
    if num_regs(op.src) != num_regs(op.result):
        raise CodegenError(f"{op.src!r} and {op.result!r} differ in registers")
    registers.copy(cx, cx.array(op.result), cx.array(op.src))


_CALL = re.compile(r"\bargus_\w+")


def functions_called(text: str) -> list[str]:
    """Device functions that a text calls, each once, in order of appearance."""
    return list(dict.fromkeys(_CALL.findall(text)))
