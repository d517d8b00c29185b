"""Loads and stores between registers and global memory.

Every access is guarded by what is not known to be inside; 16-bit tiles that cannot be
accessed in vectors go two elements at a time, one for each half of a register.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from argus.codegen import registers
from argus.codegen.addresses import (
    Element,
    locate,
)
from argus.codegen.context import TID, Context, Ints, Step
from argus.codegen.errors import CodegenError
from argus.codegen.registers import at, read, read_bits
from argus.codegen.storage import Array, layout_of
from argus.codegen.vectors import Vector, pointer_type, vector_of
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, lift
from argus.ir.placement import VectorPlan
from argus.isa.memory import reduction
from argus.layout import Fragment

STREAMING = ("first", "stream", "evict_first")
"""Values of ``evict`` that mean: will not be used again."""


def vector_plan(plan: object, what: str) -> VectorPlan:
    """The plan of a vector access. Raises CodegenError when there is none."""
    if not isinstance(plan, VectorPlan):
        raise CodegenError(f"{what} has no vector plan")
    return plan


def same_layout(plan: VectorPlan, tile: o.Tile) -> None:
    """Raise CodegenError unless the plan distributes the tile as the tile is."""
    if not plan.layout.same_as(layout_of(tile)):
        raise CodegenError(f"the plan of {tile!r} has another layout than the tile")


def owner(cx: Context, layout: Fragment) -> str | None:
    """Condition that the thread is the lowest holder; None when all are."""
    if layout.replication == 1:
        return None
    copy = cx.thread_value(lift(layout.replica(TID)), "copy")
    return f"{cx.text(copy)} == 0"


# ------------------------------------------------------------- global to registers


def load_global(cx: Context, op: o.LoadGlobal) -> None:
    """Guarded vector loads; what does not exist gets the fill value."""
    plan = vector_plan(op.plan, "LoadGlobal")
    for tile in (op.result, op.mask) if op.mask is not None else (op.result,):
        same_layout(plan, tile)
    target, dtype = cx.array(op.result), op.result.dtype
    stream = _streaming(op.evict)
    if plan.width == 1 and target.packed:
        _load_pairs(cx, op, plan, target, stream)
        return
    vector = vector_of(dtype, plan.width)
    element = pointer_type(dtype)
    tensor = op.view.tensor
    name = cx.tensors[tensor.name]

    def access(step: Step) -> list[str]:
        first = step.values * plan.width
        where = locate(cx, op.view, plan.layout, step, first)
        condition = where.condition
        mask = op.mask
        if mask is not None and plan.width == 1:
            held = read(cx, cx.array(mask), step, first)
            condition = f"{condition} && {held}" if condition else held
        pointer = f"{name} + {where.offset}" if where.offset != "0" else name
        if plan.width == 1:
            value = f"__ldcs({pointer})" if stream else f"{name}[{where.offset}]"
            if condition:
                value = f"{condition} ? {value} : {_fill(cx, op.fill, dtype)}"
            return [*where.setup, f"{at(cx, target, step, first)} = {value};"]
        loaded = _vector_load(vector, pointer, stream, tensor.name in _outputs(cx))
        lines = [*where.setup]
        if condition is None:
            lines.append(f"const {vector.ctype} v = {loaded};")
        else:
            fill = _fill_component(cx, op.fill, dtype, vector)
            empty = vector.make([fill] * vector.count)
            lines.append(f"{vector.ctype} v = {empty};")
            lines.append(f"if ({condition}) v = {loaded};")
        masked = None if mask is None else cx.array(mask)
        fill_text = _fill(cx, op.fill, dtype)
        lines += spread(cx, vector, target, step, plan.width, masked, fill_text)
        return lines

    if element == "bool" and plan.width > 1:
        raise CodegenError("bool tiles are loaded one by one")
    cx.loop(plan.accesses, access)


def _outputs(cx: Context) -> list[str]:
    return cx.program.outputs


def _streaming(evict: str | None) -> bool:
    if evict is None:
        return False
    if evict in STREAMING:
        return True
    raise CodegenError(f"evict={evict!r} is unknown")


def _vector_load(vector: Vector, pointer: str, stream: bool, written: bool) -> str:
    address = f"reinterpret_cast<const {vector.ctype}*>({pointer})"
    return f"__ldcs({address})" if stream else f"*{address}"


def _fill(cx: Context, fill: Expr, dtype: DType) -> str:
    return registers.scalar(cx, fill, dtype)


def _fill_component(cx: Context, fill: Expr, dtype: DType, vector: Vector) -> str:
    """The fill value in every element of one component."""
    if vector.unit == 1:
        return _fill(cx, fill, dtype)
    if dtype.is_float:
        return _fill_bits(cx, fill, dtype, pair=True)
    if not isinstance(fill, Const) or int(fill.value) != 0:
        raise CodegenError(f"vectors of {dtype} are filled with 0 only")
    return "0u"


def _fill_bits(cx: Context, fill: Expr, dtype: DType, *, pair: bool) -> str:
    """Bits of a 16-bit float fill value, once or in both halves of a word."""
    if isinstance(fill, Const):
        bits = bits_of(float(fill.value), dtype)
        return f"0x{bits << 16 | bits:x}u" if pair and bits else f"0x{bits:x}u"
    value = _fill(cx, fill, dtype)
    if pair:
        return registers.pack(dtype, value, value)
    return f"(u32)argus_to_{dtype.name}({value})"


def bits_of(value: float, dtype: DType) -> int:
    """Bit pattern of ``value`` rounded to bf16 or f16 (to nearest even)."""
    if dtype.name == "f16":
        with np.errstate(over="ignore"):
            return int(np.float32(value).astype(np.float16).view(np.uint16))
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return 0x7FFF
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def spread(
    cx: Context,
    vector: Vector,
    target: Array,
    step: Step,
    width: int,
    mask: Array | None,
    fill: str,
) -> list[str]:
    """Lines that put the components of ``v`` into registers, under the mask if any."""
    lines: list[str] = []
    for i in range(vector.count):
        part = vector.component("v", i)
        first = step.values * width + i * vector.unit
        if target.packed:
            word = at(cx, target, step, first // 2)
            if mask is None:
                lines.append(f"{word} = {part};")
                continue
            low, high = (read(cx, mask, step, first + j) for j in (0, 1))
            empty = f"(u32)argus_to_{target.dtype.name}({fill})"
            lines.append(
                f"{word} = ({low} ? {part} & 0xffffu : {empty}) | "
                f"({high} ? {part} & 0xffff0000u : {empty} << 16);"
            )
            continue
        for j in range(vector.unit):
            value = part
            if vector.unit > 1:
                shifted = f"{part} >> {8 * j}" if j else part
                value = f"({pointer_type(target.dtype)})({shifted})"
            if mask is not None:
                value = f"{read(cx, mask, step, first + j)} ? {value} : {fill}"
            lines.append(f"{at(cx, target, step, first + j)} = {value};")
    return lines


def _load_pairs(
    cx: Context, op: o.LoadGlobal, plan: VectorPlan, target: Array, stream: bool
) -> None:
    """Two 2-byte loads into each word of a packed tile."""
    tensor = op.view.tensor
    fill = _fill_bits(cx, op.fill, op.result.dtype, pair=False)

    def half(step: Step, regs: Ints, suffix: str) -> tuple[list[str], str]:
        where = locate(cx, op.view, plan.layout, step, regs, suffix)
        name = cx.tensors[tensor.name]
        value = (
            f"__ldcs({name} + {where.offset})"
            if stream
            else (f"{name}[{where.offset}]")
        )
        conditions = list(where.valid)
        if op.mask is not None:
            conditions.append(read(cx, cx.array(op.mask), step, regs))
        if conditions:
            value = f"({' && '.join(conditions)} ? {value} : {fill})"
        return where.setup, value

    def pair(step: Step) -> list[str]:
        low_setup, low = half(step, 2 * step.values, "")
        high_setup, high = half(step, 2 * step.values + 1, "b")
        word = at(cx, target, step, step.values)
        return [
            *low_setup,
            *high_setup,
            f"{word} = {low} | (u32){high} << 16;",
        ]

    count = plan.accesses
    cx.loop(count // 2, pair)
    if count % 2:
        last = Step(None, np.array([count // 2]))
        setup, low = half(last, np.array([count - 1]), "")
        with cx.out.block(""):
            cx.out.lines(setup)
            cx.out.line(f"{at(cx, target, last, last.values)} = {low};")


# ------------------------------------------------------------- registers to global


def store_global(cx: Context, op: o.StoreGlobal) -> None:
    """Guarded vector stores or reductions; a masked store goes element by element."""
    plan = vector_plan(op.plan, "StoreGlobal")
    for tile in (op.src, op.mask) if op.mask is not None else (op.src,):
        same_layout(plan, tile)
    source = cx.array(op.src)
    first_holder = owner(cx, plan.layout) if plan.unique else None
    width = plan.width if op.mask is None else 1
    stream = _streaming(op.evict)
    name = cx.tensors[op.view.tensor.name]

    def access(step: Step) -> list[str]:
        regs = step.values * width
        where = locate(cx, op.view, plan.layout, step, regs)
        conditions = list(where.valid)
        if first_holder is not None:
            conditions.insert(0, first_holder)
        if op.mask is not None:
            conditions.append(read(cx, cx.array(op.mask), step, regs))
        pointer = f"{name} + {where.offset}" if where.offset != "0" else name
        if op.atomic is not None:
            body = _reduction(cx, op, source, step, regs, width, pointer)
        else:
            body = _store(cx, source, step, regs, width, pointer, where, name, stream)
        return _guarded(where.setup, conditions, body)

    count = plan.layout.num_regs // width
    if width == 1 and source.packed and count > 1:
        store_halves(cx, count, access)
        return
    cx.loop(count, access)


def _guarded(setup: list[str], conditions: list[str], body: str) -> list[str]:
    if not conditions:
        return [*setup, body]
    return [*setup, f"if ({' && '.join(conditions)}) {body}"]


def store_halves(cx: Context, count: int, run: Callable[[Step], list[str]]) -> None:
    """Element-wise accesses of a packed tile: both halves of a word in one turn."""

    def both(step: Step) -> list[str]:
        lines: list[str] = []
        for half in (0, 1):
            one = run(Step(step.var, 2 * step.values + half))
            lines += ["{", *(f"  {line}" for line in one), "}"] if len(one) > 1 else one
        return lines

    cx.loop(count // 2, both)
    if count % 2:
        with cx.out.block(""):
            cx.out.lines(run(Step(None, np.array([count - 1]))))


def _store(
    cx: Context,
    source: Array,
    step: Step,
    regs: Ints,
    width: int,
    pointer: str,
    where: Element,
    name: str,
    stream: bool,
) -> str:
    if width == 1:
        value = (
            f"(u16){read_bits(cx, source, step, regs)}"
            if source.packed
            else read(cx, source, step, regs)
        )
        if stream:
            return f"__stcs({pointer}, {value});"
        return f"{name}[{where.offset}] = {value};"
    vector = vector_of(source.dtype, width)
    value = vector.make(components(cx, vector, source, step, regs))
    address = f"reinterpret_cast<{vector.ctype}*>({pointer})"
    return f"__stcs({address}, {value});" if stream else f"*{address} = {value};"


def components(
    cx: Context, vector: Vector, source: Array, step: Step, regs: Ints
) -> list[str]:
    """The components of a vector whose first element is in registers ``regs``."""
    found: list[str] = []
    for i in range(vector.count):
        first = regs + i * vector.unit
        if source.packed:
            if vector.unit == 1:
                return [f"(u16){read_bits(cx, source, step, regs)}"]
            if (first % 2).any():
                raise CodegenError(f"a vector splits the words of {source.name}")
            found.append(at(cx, source, step, first // 2))
        elif vector.unit == 1:
            found.append(at(cx, source, step, first))
        else:
            parts = [
                f"(u32)(unsigned char){at(cx, source, step, first + j)}"
                + (f" << {8 * j}" if j else "")
                for j in range(vector.unit)
            ]
            found.append(" | ".join(parts))
    return found


def _reduction(
    cx: Context,
    op: o.StoreGlobal,
    source: Array,
    step: Step,
    regs: Ints,
    width: int,
    pointer: str,
) -> str:
    if op.atomic != "add":
        raise CodegenError(f"atomic {op.atomic!r} is unknown")
    form = reduction(source.dtype)
    if form is None or width != form.width:
        raise CodegenError(f"no atomic add of {width} x {source.dtype}")
    if source.packed:
        value = at(cx, source, step, regs // form.width)
    else:
        value = read(cx, source, step, regs)
    return f"{form.function}({pointer}, {value});"
