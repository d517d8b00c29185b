"""Stores from registers to global memory, and reductions there."""

from __future__ import annotations

from collections.abc import Callable

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
from argus.codegen.context import Emission, Ints, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.memory import owner, same_layout, streaming, vector_plan
from argus.codegen.registers import assign, at, raw, read
from argus.codegen.storage import RegisterArray
from argus.codegen.vectors import BITS, Vector, vector_of
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.walk import defined
from argus.isa.memory import reduction

__all__ = ["components", "store_global", "store_halves"]


def store_global(cx: Emission, op: o.StoreGlobal) -> None:
    """Guarded vector stores or reductions; a masked store goes element by element."""
    plan = vector_plan(op.plan, "StoreGlobal")
    for tile in (*tiles_of(op), *defined(op)):
        same_layout(plan, tile)
    source = cx.array(op.src)
    first_holder = owner(cx, plan.layout) if plan.unique else None
    width = plan.width if op.mask is None else 1
    stream = streaming(op.evict)
    target = cx.tensors[op.view.tensor.name]

    def access(step: RegisterIteration) -> list[str]:
        regs = step.values * width
        where = locate(cx, op.view, plan.layout, step, regs)
        conditions = list(where.valid)
        if first_holder is not None:
            conditions.insert(0, first_holder)
        if op.mask is not None:
            conditions.append(read(cx, cx.array(op.mask), step, regs))
        pointer = plus(name(target), where.offset)
        if isinstance(op, o.Atomic):
            return [*where.setup, *_atom(cx, op, step, regs, pointer, conditions)]
        if op.atomic is not None:
            body = _reduction(cx, op, source, step, regs, width, pointer)
        else:
            place = item(target, where.offset)
            body = _store(cx, source, step, regs, width, pointer, place, stream)
        return _guarded(where.setup, conditions, body)

    count = plan.layout.num_regs // width
    if width == 1 and source.packed and count > 1:
        store_halves(cx, count, access)
        return
    cx.loop(count, access)


def tiles_of(op: o.StoreGlobal) -> tuple[o.Tile, ...]:
    """Tiles of which a store takes element by element."""
    expected = op.expected if isinstance(op, o.Atomic) else None
    return tuple(x for x in (op.src, op.mask, expected) if x is not None)


def _atom(
    cx: Emission,
    op: o.Atomic,
    step: RegisterIteration,
    regs: Ints,
    pointer: CppExpression,
    conditions: list[CppExpression],
) -> list[str]:
    """An element is changed, and what it was is kept: 0 where nothing is changed."""
    form = reduction(op.src.dtype, op.atomic or "", old=True)
    if form is None:
        raise CodegenError(f"no atomic {op.atomic} of {op.src.dtype}")
    given = [] if op.expected is None else [op.expected]
    values = [read(cx, cx.array(x), step, regs) for x in (*given, op.src)]
    changed = call(form.function, pointer, *values)
    if conditions:
        nothing = registers.zero(op.src.dtype)
        changed = chosen(joined("&&", conditions), changed, nothing)
    return [assign(at(cx, cx.array(op.result), step, regs), changed)]


def _guarded(setup: list[str], conditions: list[CppExpression], body: str) -> list[str]:
    if not conditions:
        return [*setup, body]
    return [*setup, f"if ({joined('&&', conditions).bare}) {body}"]


def store_halves(
    cx: Emission, count: int, run: Callable[[RegisterIteration], list[str]]
) -> None:
    """Element-wise accesses of a packed tile: both halves of a word at a time."""

    def both(step: RegisterIteration) -> list[str]:
        lines: list[str] = []
        for half in (0, 1):
            one = run(RegisterIteration(step.var, 2 * step.values + half))
            lines += ["{", *(f"  {line}" for line in one), "}"] if len(one) > 1 else one
        return lines

    cx.loop(count // 2, both)
    if count % 2:
        with cx.out.block(""):
            cx.out.lines(run(RegisterIteration(None, np.array([count - 1]))))


def _store(
    cx: Emission,
    source: RegisterArray,
    step: RegisterIteration,
    regs: Ints,
    width: int,
    pointer: CppExpression,
    place: CppExpression,
    stream: bool,
) -> str:
    if width == 1:
        value = raw(cx, source, step, regs)
        if stream:
            return f"{call('__stcs', pointer, value).bare};"
        return assign(place, value)
    vector = vector_of(source.dtype, width)
    value = vector.make(components(cx, vector, source, step, regs))
    if not stream:
        return assign(at_address(vector.ctype, pointer), value)
    address = call(f"reinterpret_cast<{vector.ctype}*>", pointer)
    return f"{call('__stcs', address, value).bare};"


def components(
    cx: Emission,
    vector: Vector,
    source: RegisterArray,
    step: RegisterIteration,
    regs: Ints,
) -> list[CppExpression]:
    """The components of a vector whose first element is in registers ``regs``."""
    found: list[CppExpression] = []
    for i in range(vector.count):
        first = regs + i * vector.unit
        if source.packed:
            if vector.unit == 1:
                return [raw(cx, source, step, regs)]
            if (first % 2).any():
                raise CodegenError(f"a vector splits the words of {source.name}")
            found.append(at(cx, source, step, first // 2))
        elif vector.unit == 1:
            found.append(at(cx, source, step, first))
        else:
            held = [at(cx, source, step, first + j) for j in range(vector.unit)]
            parts = [_shifted(source.dtype, x, j) for j, x in enumerate(held)]
            found.append(joined("|", parts))
    return found


def _shifted(dtype: DType, value: CppExpression, place: int) -> CppExpression:
    """An element of less than 32 bits at its place in a word."""
    wide = converted("u32", converted(BITS[dtype.bits], value))
    return binary("<<", wide, name(str(dtype.bits * place))) if place else wide


def _reduction(
    cx: Emission,
    op: o.StoreGlobal,
    source: RegisterArray,
    step: RegisterIteration,
    regs: Ints,
    width: int,
    pointer: CppExpression,
) -> str:
    form = reduction(source.dtype, op.atomic or "")
    if form is None or width != form.width:
        raise CodegenError(f"no atomic {op.atomic} of {width} x {source.dtype}")
    if source.packed:
        value = at(cx, source, step, regs // form.width)
    else:
        value = read(cx, source, step, regs)
    return f"{call(form.function, pointer, value).bare};"
