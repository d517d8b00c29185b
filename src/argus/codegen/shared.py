"""Loads and stores between registers and shared memory: vectors, ldmatrix, stmatrix."""

from __future__ import annotations

import numpy as np

from argus.codegen.addresses import (
    Offsets,
    register_coordinates,
    shared_address,
    shared_offsets,
    shared_pointer,
)
from argus.codegen.code import CppExpression, at_address, call, converted, name, plus
from argus.codegen.context import TID, Emission, Ints, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.memory import owner, same_layout, spread, vector_plan
from argus.codegen.registers import assign, at, both_halves
from argus.codegen.storage import RegisterArray
from argus.codegen.stores import components, store_halves
from argus.codegen.vectors import vector_of
from argus.ir import ops as o
from argus.ir.expr import lift
from argus.ir.memory import SharedView
from argus.ir.placement import VectorPlan
from argus.isa import ldmatrix
from argus.layout import WARP_LANES


def load_shared(cx: Emission, op: o.LoadShared) -> None:
    """Vector loads, or ldmatrix."""
    plan = vector_plan(op.plan, "LoadShared")
    same_layout(plan, op.result)
    target = cx.array(op.result)
    if plan.instruction.startswith("ldmatrix"):
        _matrices(cx, op.view, plan, target, "ldmatrix")
        return
    vector = vector_of(op.view.dtype, plan.width)
    offsets = _vector_offsets(cx, op.view, plan)
    if plan.width == 1 and target.packed:
        _load_shared_pairs(cx, plan, target, op.view)
        return

    def access(step: RegisterIteration) -> list[str]:
        pointer = shared_pointer(cx, offsets(step, step.values))
        if plan.width == 1:
            element = at_address(f"const {target.dtype.memory}", pointer)
            return [assign(at(cx, target, step, step.values), element)]
        loaded = at_address(f"const {vector.ctype}", pointer)
        lines = [f"const {vector.ctype} v = {loaded.bare};"]
        return lines + spread(cx, vector, target, step, plan.width, None, name("0"))

    cx.loop(plan.accesses, access)


def _load_shared_pairs(
    cx: Emission, plan: VectorPlan, target: RegisterArray, view: SharedView
) -> None:
    offsets = _vector_offsets(cx, view, plan)

    def half(step: RegisterIteration, regs: Ints) -> CppExpression:
        return at_address("const u16", shared_pointer(cx, offsets(step, regs)))

    def pair(step: RegisterIteration) -> list[str]:
        low, high = (half(step, 2 * step.values + i) for i in (0, 1))
        word = at(cx, target, step, step.values)
        return [assign(word, both_halves(low, converted("u32", high)))]

    count = plan.accesses
    cx.loop(count // 2, pair)
    if count % 2:
        last = RegisterIteration(None, np.array([count // 2]))
        low = half(last, np.array([count - 1]))
        cx.out.line(assign(at(cx, target, last, last.values), low))


def store_shared(cx: Emission, op: o.StoreShared) -> None:
    """Vector stores, or stmatrix."""
    plan = vector_plan(op.plan, "StoreShared")
    same_layout(plan, op.src)
    source = cx.array(op.src)
    if plan.instruction.startswith("stmatrix"):
        _matrices(cx, op.view, plan, source, "stmatrix")
        return
    vector = vector_of(op.view.dtype, plan.width)
    offsets = _vector_offsets(cx, op.view, plan)
    guard = owner(cx, plan.layout) if plan.unique else None
    element = source.dtype.memory if plan.width == 1 else vector.ctype

    def access(step: RegisterIteration) -> list[str]:
        pointer = shared_pointer(cx, offsets(step, step.values))
        value = vector.make(
            components(cx, vector, source, step, step.values * plan.width)
        )
        body = assign(at_address(element, pointer), value)
        return [f"if ({guard.bare}) {body}" if guard else body]

    if plan.width == 1 and source.packed and plan.accesses > 1:
        store_halves(cx, plan.accesses, access)
        return
    cx.loop(plan.accesses, access)


def _vector_offsets(cx: Emission, view: SharedView, plan: VectorPlan) -> Offsets:
    parts = register_coordinates(plan.layout)
    first = np.arange(plan.accesses) * plan.width
    by_thread = tuple(lift(e) for e in plan.layout.thread_part(TID))
    by_access = [part[first] for part in parts]
    return shared_offsets(cx, view, by_thread, by_access, f"{view.alloc.name}_at")


def _matrices(
    cx: Emission, view: SharedView, plan: VectorPlan, array: RegisterArray, family: str
) -> None:
    """Ldmatrix or stmatrix: each lane gives the address of one row of one matrix."""
    trans = plan.instruction.endswith("trans")
    matrices = plan.width // 2
    if not array.packed or matrices not in ldmatrix.COUNTS:
        raise CodegenError(f"{plan.instruction} of {plan.width} x {array.dtype}")
    layout = plan.layout
    lane = TID % WARP_LANES
    row, matrix = lane % 8, lane // 8 % matrices
    # Which (thread, register) holds the first element of the row: VectorPlan.
    holder = TID // WARP_LANES * WARP_LANES + (row // 2 if trans else row * 4)
    register = matrix * 2 + (row % 2 if trans else 0)
    by_thread = tuple(
        lift(a) + lift(b)
        for a, b in zip(
            layout.thread_part(holder), layout.reg_part(register), strict=True
        )
    )
    parts = register_coordinates(layout)
    first = np.arange(plan.accesses) * plan.width
    inside = np.arange(plan.width)
    for part in parts:
        whole = part[first[:, None] + inside]
        if not np.array_equal(whole, part[first][:, None] + part[inside]):
            raise CodegenError(f"{plan.instruction}: accesses differ in their shape")
    by_access = [part[first] for part in parts]
    offsets = shared_offsets(cx, view, by_thread, by_access, f"{view.alloc.name}_row")
    load = family == "ldmatrix"
    function = ldmatrix.function_name(matrices, load=load, trans=trans)

    def access(step: RegisterIteration) -> list[str]:
        address = shared_address(cx, offsets(step, step.values))
        words = plus(name(array.name), cx.code(step.index(step.values * matrices)))
        arguments = (words, address) if load else (address, words)
        return [f"{call(function, *arguments).bare};"]

    cx.loop(plan.accesses, access)
