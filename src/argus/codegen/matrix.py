"""Matrix products: wgmma with descriptors, and others on register fragments."""

from __future__ import annotations

import numpy as np

from argus.codegen import registers
from argus.codegen.addresses import shared_address, view_offset
from argus.codegen.code import call, plus
from argus.codegen.code import name as named
from argus.codegen.context import TID, Emission, RegisterIteration, num_regs
from argus.codegen.errors import CodegenError
from argus.codegen.storage import RegisterArray
from argus.ir import ops as o
from argus.ir.expr import Expr, Sym
from argus.ir.memory import SharedView
from argus.ir.placement import MatrixOperand, MmaPlan, WgmmaPlan
from argus.isa import registry
from argus.isa.descriptor import CHUNK
from argus.isa.register_product import WORD, RegisterProduct
from argus.isa.wgmma import THREADS as WARPGROUP
from argus.isa.wgmma import function_name


def dot(cx: Emission, op: o.Dot) -> None:
    """Print a placed dot. Raises CodegenError when it has no plan."""
    result = cx.array(op.result)
    if op.acc is not None:
        registers.copy(cx, result, cx.array(op.acc))
    match op.plan:
        case WgmmaPlan():
            _wgmma(cx, op, op.plan, result)
        case MmaPlan():
            _mma(cx, op, op.plan, result)
        case None:
            raise CodegenError("a dot has no plan")


def _wgmma(cx: Emission, op: o.Dot, plan: WgmmaPlan, result: RegisterArray) -> None:
    """All instructions of one dot, k outermost, so that accumulators alternate."""
    if not isinstance(op.b, SharedView):
        raise CodegenError("B of wgmma is in shared memory")
    record = registry.lookup(plan.instruction)
    if record.family != "wgmma":
        raise CodegenError(f"{record.function} in a plan for wgmma")
    if record.constraints.extent("n") != plan.inst_n:
        raise CodegenError(f"{record.function} in a plan for {plan.inst_n} columns")
    if ("a" in record.effects.reads) == isinstance(op.a, SharedView):
        raise CodegenError(f"{record.function} takes A from elsewhere")
    # What is transposed: the name says it here, the operands say it to the proofs.
    majors = (int(plan.a is not None and plan.a.mn_major), int(plan.b.mn_major))
    written = function_name(plan.inst_n, op.a.dtype.name, plan.a is None, *majors)
    if record.function != written:
        raise CodegenError(f"{record.function} where operands ask for {written}")
    name = record.function
    words = desc_a = ""
    if isinstance(op.a, SharedView):
        if plan.a is None:
            raise CodegenError("A is in shared memory, but the plan has no descriptor")
        desc_a = _descriptor(cx, op.a, plan.a)
    else:
        words = _words(cx, cx.array(op.a))
    desc_b = _descriptor(cx, op.b, plan.b)
    cx.out.line("argus_wgmma_fence();")
    for k in range(plan.k_steps):
        scale = 0 if op.acc is None and k == 0 else 1
        for i in range(plan.m_atoms):
            if words:
                left = _from(words, (i * plan.k_steps + k) * 4)
            else:
                assert plan.a is not None
                left = _from(desc_a, plan.a.offsets[i][k] // CHUNK)
            for j in range(plan.n_atoms):
                acc = _from(result.name, (i * plan.n_atoms + j) * (plan.inst_n // 2))
                right = _from(desc_b, plan.b.offsets[j][k] // CHUNK)
                cx.out.line(f"{name}({acc}, {left}, {right}, {scale});")


def _words(cx: Emission, array: RegisterArray) -> str:
    """The 32-bit registers in which an instruction takes the elements of an array."""
    if array.packed or array.dtype.bytes > WORD:
        return array.name
    name = cx.names.unique(f"{array.name}_words")
    count = array.regs * array.dtype.bytes // WORD
    cx.out.line(f"u32 {name}[{count}];")
    made = call(f"argus_words<{count}>", named(name), named(array.name))
    cx.out.line(f"{made.bare};")
    return name


def _from(name: str, offset: int) -> str:
    return f"{name} + {offset}" if offset else name


def _descriptor(cx: Emission, view: SharedView, operand: MatrixOperand) -> str:
    """Declare the descriptor of an operand's first atom and step.

    Later ones differ by a multiple of 16 bytes: the address field holds address / 16 in
    14 bits, so adding to the descriptor is adding to the address (PTX ISA, "Matrix
    descriptor"); shared memory ends below 256 KiB, so nothing carries out of the field.
    """
    start = view_offset(view)
    if operand.warpgroup_stride and cx.group.threads > WARPGROUP:
        start = start + warpgroup(cx) * operand.warpgroup_stride
    name = cx.names.unique(f"{view.alloc.name}_desc")
    cx.out.line(
        f"const u64 {name} = argus_desc({shared_address(cx, start).bare}, "
        f"{operand.leading}, {operand.stride}, {operand.swizzle});"
    )
    return name


def warpgroup(cx: Emission) -> Expr:
    """Index of the warpgroup in its group, known to be the same in all its lanes."""
    key = (TID // WARPGROUP, "uniform")
    if key not in cx.group.values:
        name = cx.names.unique(f"{cx.group.name}_wg")
        sym = Sym(f"@{name}", "thread")
        cx.spelled[sym.name] = name
        cx.types[sym.name] = "int"
        cx.group.place.line(
            f"const int {name} = argus_shfl_idx({cx.code(TID // WARPGROUP).bare}, 0);"
        )
        cx.group.values[key] = sym
    return cx.group.values[key]


def wgmma_wait(cx: Emission, op: o.WgmmaWait) -> None:
    """Wait, then make the compiler see that the accumulators changed until now."""
    cx.out.line(f"argus_wgmma_wait<{op.pending}>();")
    for array in dict.fromkeys(cx.array(t).name for t in op.tiles):
        tile = next(t for t in op.tiles if cx.array(t).name == array)
        cx.out.line(f"argus_wgmma_tie<{num_regs(tile)}>({array});")


def _mma(cx: Emission, op: o.Dot, plan: MmaPlan, result: RegisterArray) -> None:
    """Register operands, in the plan's order, as a loop where it is one."""
    if not (isinstance(op.a, o.Tile) and isinstance(op.b, o.Tile)):
        raise CodegenError(f"{plan.instruction} takes its operands from registers")
    if op.acc is None:
        zero = registers.zero(op.result.dtype)
        registers.fill(cx, result, num_regs(op.result), lambda _s, _r: zero)
    a, b = _words(cx, cx.array(op.a)), _words(cx, cx.array(op.b))
    per_word = max(WORD // op.a.dtype.bytes, 1)
    does = registry.register_product(plan.instruction)
    _check_steps(op, plan, does)
    acc = np.array([s.acc for s in plan.steps])
    left = np.array([s.a for s in plan.steps]) // per_word
    right = np.array([s.b for s in plan.steps]) // per_word

    def step_lines(step: RegisterIteration) -> list[str]:
        parts = [
            plus(named(array), cx.code(step.index(table[step.values])))
            for array, table in ((result.name, acc), (a, left), (b, right))
        ]
        return [f"{call(does.function, *parts).bare};"]

    cx.loop(len(plan.steps), step_lines)


def _check_steps(op: o.Dot, plan: MmaPlan, does: RegisterProduct) -> None:
    """Raises CodegenError where a step leaves the registers of its tiles."""
    for tile, name, one in (
        (op.result, "acc", does.d), (op.a, "a", does.a), (op.b, "b", does.b),
    ):  # fmt: skip
        assert isinstance(tile, o.Tile)
        last = num_regs(tile) - one.num_regs
        if any(not 0 <= getattr(step, name) <= last for step in plan.steps):
            raise CodegenError(f"a step leaves the registers of {tile!r}")
