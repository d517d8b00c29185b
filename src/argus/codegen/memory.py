"""Loads from global memory; stores are in `stores.py`.

Every access is guarded by what is not known to be inside; 16-bit tiles that cannot be
accessed in vectors go two elements at a time, one for each half of a register.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from argus.codegen import registers
from argus.codegen.addresses import locate
from argus.codegen.code import (
    CppExpression,
    at_address,
    binary,
    call,
    chosen,
    converted,
    item,
    joined,
    name,
    plus,
)
from argus.codegen.context import TID, Emission, Ints, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.registers import assign, at, both_halves, encoded, read
from argus.codegen.storage import RegisterArray, layout_of
from argus.codegen.vectors import BITS, Vector, vector_of
from argus.codegen.whole_tiles import whole_tile
from argus.ir import ops as o
from argus.ir.codec import bit_pattern
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, lift
from argus.ir.placement import VectorPlan
from argus.layout import Fragment

STREAMING = ("first", "stream", "evict_first")
"""Values of ``evict`` that mean: will not be used again."""
_ORDINARY = ("last", "evict_last", "normal", "evict_normal")
"""Values for which an ordinary load is right: only copies by TMA have a policy of their
own for them."""


def vector_plan(plan: object, what: str) -> VectorPlan:
    """The plan of a vector access. Raises CodegenError when there is none."""
    if not isinstance(plan, VectorPlan):
        raise CodegenError(f"{what} has no vector plan")
    return plan


def same_layout(plan: VectorPlan, tile: o.Tile) -> None:
    """Raise CodegenError unless the plan distributes the tile as the tile is."""
    if not plan.layout.same_as(layout_of(tile)):
        raise CodegenError(f"the plan of {tile!r} has another layout than the tile")


def owner(cx: Emission, layout: Fragment) -> CppExpression | None:
    """Condition that the thread is the lowest holder; None when all are."""
    if layout.replication == 1:
        return None
    copy = cx.thread_value(lift(layout.replica(TID)), "copy")
    return binary("==", cx.code(copy), name("0"))


def load_global(cx: Emission, op: o.LoadGlobal) -> None:
    """Guarded vector loads; what does not exist gets the fill value."""
    plan = vector_plan(op.plan, "LoadGlobal")
    for tile in (op.result, op.mask) if op.mask is not None else (op.result,):
        same_layout(plan, tile)
    target, dtype = cx.array(op.result), op.result.dtype
    stream = streaming(op.evict)
    if plan.width == 1 and target.packed:
        _load_pairs(cx, op, plan, target, stream)
        return
    vector = vector_of(dtype, plan.width)
    tensor = op.view.tensor
    pointer_name = cx.tensors[tensor.name]

    def access(step: RegisterIteration, *, whole: bool = False) -> list[str]:
        first = step.values * plan.width
        where = locate(cx, op.view, plan.layout, step, first, whole=whole)
        condition = where.condition
        mask = op.mask
        if mask is not None and plan.width == 1:
            held = read(cx, cx.array(mask), step, first)
            condition = joined("&&", [*where.valid, held])
        pointer = plus(name(pointer_name), where.offset)
        if plan.width == 1:
            value = item(pointer_name, where.offset)
            value = call("__ldcs", pointer) if stream else value
            if condition:
                value = chosen(condition, value, _fill(cx, op.fill, dtype))
            return [*where.setup, assign(at(cx, target, step, first), value)]
        loaded = _vector_load(vector, pointer, stream)
        lines = [*where.setup]
        if condition is None:
            lines.append(f"const {vector.ctype} v = {loaded.bare};")
        else:
            fill = _fill_component(cx, op.fill, dtype, vector)
            empty = vector.make([fill] * vector.count)
            lines.append(f"{vector.ctype} v = {empty.bare};")
            lines.append(f"if ({condition.bare}) v = {loaded.bare};")
        masked = None if mask is None else cx.array(mask)
        fill_text = _fill(cx, op.fill, dtype)
        lines += spread(cx, vector, target, step, plan.width, masked, fill_text)
        return lines

    by_element = op.mask is not None and plan.width == 1
    one = None if by_element else whole_tile(cx, op.view, plan.layout, plan.width)
    if one is not None:
        with cx.out.block(f"if ({one.bare})"):
            cx.loop(plan.accesses, partial(access, whole=True))
        with cx.out.block("else"):
            cx.loop(plan.accesses, access)
    else:
        cx.loop(plan.accesses, access)


def streaming(evict: str | None) -> bool:
    """Whether an access asks for a hint. Raises CodegenError for an unknown one."""
    if evict is None or evict in _ORDINARY:
        return False
    if evict in STREAMING:
        return True
    raise CodegenError(f"evict={evict!r} is unknown")


def _vector_load(vector: Vector, pointer: CppExpression, stream: bool) -> CppExpression:
    if not stream:
        return at_address(f"const {vector.ctype}", pointer)
    address = call(f"reinterpret_cast<const {vector.ctype}*>", pointer)
    return call("__ldcs", address)


def _fill(cx: Emission, fill: Expr, dtype: DType) -> CppExpression:
    """The fill value as a register holds it; of a packed type, as a number."""
    if dtype.encoded and not dtype.packed:
        return _fill_bits(cx, fill, dtype, pair=False)
    return registers.scalar(cx, fill, dtype)


def _fill_component(
    cx: Emission, fill: Expr, dtype: DType, vector: Vector
) -> CppExpression:
    """The fill value in every element of one component."""
    if vector.unit == 1:
        return _fill(cx, fill, dtype)
    if dtype.packed:
        return _fill_bits(cx, fill, dtype, pair=True)
    if isinstance(fill, Const) and not dtype.is_float and int(fill.value) == 0:
        return name("0u")
    # The same bits for each element of a word.
    value = converted("u32", converted(BITS[dtype.bits], _fill(cx, fill, dtype)))
    every = sum(1 << dtype.bits * i for i in range(vector.unit))
    return binary("*", value, name(f"0x{every:08x}u"))


def _fill_bits(cx: Emission, fill: Expr, dtype: DType, *, pair: bool) -> CppExpression:
    """Bits of a fill value of an encoded type, once or in both halves of a word."""
    if isinstance(fill, Const):
        whole = not dtype.is_float
        bits = (
            int(fill.value) % 2**16 if whole else bit_pattern(float(fill.value), dtype)
        )
        return name(f"0x{bits << 16 | bits if pair else bits:x}u")
    value = registers.scalar(cx, fill, dtype)
    if pair:
        return registers.pack(dtype, value, value)
    return converted("u32", encoded(dtype, value))


def spread(
    cx: Emission,
    vector: Vector,
    target: RegisterArray,
    step: RegisterIteration,
    width: int,
    mask: RegisterArray | None,
    fill: CppExpression,
) -> list[str]:
    """Lines that put the components of ``v`` into registers, under the mask if any."""
    lines: list[str] = []
    for i in range(vector.count):
        part = vector.component("v", i)
        first = step.values * width + i * vector.unit
        if target.packed:
            word = at(cx, target, step, first // 2)
            if mask is None:
                lines.append(assign(word, part))
                continue
            low, high = (read(cx, mask, step, first + j) for j in (0, 1))
            empty = converted("u32", encoded(target.dtype, fill))
            halves = [
                chosen(low, binary("&", part, name("0xffffu")), empty),
                chosen(
                    high,
                    binary("&", part, name("0xffff0000u")),
                    binary("<<", empty, name("16")),
                ),
            ]
            lines.append(assign(word, joined("|", halves)))
            continue
        for j in range(vector.unit):
            value = part
            if vector.unit > 1:
                by = name(str(target.dtype.bits * j))
                shifted = binary(">>", part, by) if j else part
                bits = BITS[target.dtype.bits]
                value = converted(bits, shifted)
                if target.dtype.memory != bits:
                    # A bool is its own byte, not whether any byte is set.
                    value = converted(target.dtype.memory, value)
            if mask is not None:
                value = chosen(read(cx, mask, step, first + j), value, fill)
            lines.append(assign(at(cx, target, step, first + j), value))
    return lines


def _load_pairs(
    cx: Emission,
    op: o.LoadGlobal,
    plan: VectorPlan,
    target: RegisterArray,
    stream: bool,
) -> None:
    """Two 2-byte loads into each word of a packed tile."""
    tensor = op.view.tensor
    fill = _fill_bits(cx, op.fill, op.result.dtype, pair=False)

    def half(
        step: RegisterIteration, regs: Ints, suffix: str
    ) -> tuple[list[str], CppExpression]:
        where = locate(cx, op.view, plan.layout, step, regs, suffix)
        source = cx.tensors[tensor.name]
        value = item(source, where.offset)
        if stream:
            value = call("__ldcs", plus(name(source), where.offset))
        if op.result.dtype.memory != BITS[16]:  # no sign in the other half
            value = converted(BITS[16], value)
        conditions = list(where.valid)
        if op.mask is not None:
            conditions.append(read(cx, cx.array(op.mask), step, regs))
        if conditions:
            value = chosen(joined("&&", conditions), value, fill)
        return where.setup, value

    def pair(step: RegisterIteration) -> list[str]:
        low_setup, low = half(step, 2 * step.values, "")
        high_setup, high = half(step, 2 * step.values + 1, "b")
        word = at(cx, target, step, step.values)
        return [
            *low_setup,
            *high_setup,
            assign(word, both_halves(low, converted("u32", high))),
        ]

    count = plan.accesses
    cx.loop(count // 2, pair)
    if count % 2:
        last = RegisterIteration(None, np.array([count // 2]))
        setup, low = half(last, np.array([count - 1]), "")
        with cx.out.block(""):
            cx.out.lines(setup)
            cx.out.line(assign(at(cx, target, last, last.values), low))
