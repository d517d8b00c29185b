"""Asynchronous copies, barriers, fences: operations about when, not what.

One elected thread of a group issues TMA copies and single arrivals. It is chosen once,
by ``elect.sync`` in the group's first warp, so that groups of bulk copies, which belong
to the thread that issued them, are waited for by the same thread.
"""

from __future__ import annotations

import numpy as np

from argus.codegen.addresses import (
    barrier_address,
    locate,
    register_coordinates,
    shared_address,
    shared_offsets,
    stage_offset,
)
from argus.codegen.code import (
    PRECEDENCE,
    UNARY,
    CppExpression,
    binary,
    call,
    converted,
    name,
    plus,
)
from argus.codegen.context import TID, Emission, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.expressions import modular
from argus.codegen.matrix import WARPGROUP
from argus.codegen.memory import owner, vector_plan
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, lift
from argus.ir.placement import TmaBox, TmaPlan, VectorPlan
from argus.isa import cp_async, registers, tma
from argus.isa.effects import effects_of
from argus.isa.sync import NAMED_BARRIERS


def is_elected(op: o.AnyOp) -> bool:
    """True when one elected thread of the group carries out ``op``."""
    # An arrival in each block of the cluster is made by as many lanes.
    apart = isinstance(op, o.BarrierArrive) and op.cluster
    return effects_of(op).scope == "elected" and not apart


def elected(cx: Emission) -> str:
    """The flag of the elected thread, declared once where the group begins."""
    key = (lift(0), "elected")
    lanes = cx.program.target.warp_threads
    if key not in cx.group.values:
        flag = cx.names.unique(f"{cx.group.name}_elected")
        first = f"{cx.code(TID).operand} < {lanes} && " if cx.group.warps > 1 else ""
        cx.group.place.line(f"const bool {flag} = {first}argus_elect();")
        cx.group.values[key] = Sym(flag, "thread", "bool")
    return cx.group.values[key].name


def copy_async(cx: Emission, op: o.CopyAsync) -> None:
    """TMA boxes (by the elected thread), or cp.async vectors (by all)."""
    if not isinstance(op.plan, TmaPlan):
        _cp_async(cx, op, vector_plan(op.plan, "CopyAsync"))
        return
    plan = op.plan
    if op.barrier is None:
        raise CodegenError("a TMA load has no barrier")
    barrier = barrier_address(cx, op.barrier)
    tensor_map = _map(cx, plan)
    base = stage_offset(op.dst)
    for box in plan.boxes:
        address = shared_address(cx, base + box.offset)
        multicast, hint = plan.multicast > 1, op.evict is not None
        function = tma.load_function(len(box.coords), multicast=multicast, hint=hint)
        arguments = [address, tensor_map, barrier, *_coords(cx, box)]
        if multicast:
            arguments.append(name(hex((1 << plan.multicast) - 1)))
        if op.evict is not None:
            arguments.append(_policy(op.evict))
        cx.out.line(f"{call(function, *arguments).bare};")


def _policy(evict: str) -> CppExpression:
    known = {"first": "evict_first", "last": "evict_last", "normal": "evict_normal"}
    known |= {name: name for name in known.values()} | {"stream": "evict_first"}
    if evict not in known:
        raise CodegenError(f"evict={evict!r} is unknown")
    return call(tma.policy_function(known[evict]))


def _map(cx: Emission, plan: TmaPlan) -> CppExpression:
    index = cx.program.tensor_maps.index(plan.map)
    cx.maps[index] = None
    return CppExpression(f"&{cx.spelled[map_symbol(index)]}", UNARY)


def map_symbol(index: int) -> str:
    """Name under which the identifier of a tensor map is kept."""
    return f"@map{index}"


def _coords(cx: Emission, box: TmaBox) -> list[CppExpression]:
    """Coordinates innermost first, as the instruction takes them."""
    return [_coordinate(cx, c) for c in reversed(box.coords)]


def _coordinate(cx: Emission, c: Expr) -> CppExpression:
    """The first coordinate of a box, which the instruction takes in 32 bits.

    What has more is outside of the tensor, and so is the end of 32 bits.
    """
    if cx.ctype(c) == "int":
        return cx.code(c)
    value = modular(c, "u64", cx.spell, cx.scalars)
    return call("argus_coordinate", converted("long long", value))


def _cp_async(cx: Emission, op: o.CopyAsync, plan: VectorPlan) -> None:
    size = plan.width * op.dst.dtype.bytes
    if size not in cp_async.SIZES:
        raise CodegenError(f"cp.async copies {cp_async.SIZES} bytes, not {size}")
    layout = plan.layout
    first = np.arange(plan.accesses) * plan.width
    parts = register_coordinates(layout)
    offsets = shared_offsets(
        cx,
        op.dst,
        tuple(lift(e) for e in layout.thread_part(TID)),
        [part[first] for part in parts],
        f"{op.dst.alloc.name}_at",
    )
    guard = owner(cx, layout) if plan.unique else None
    function = cp_async.function_name(size)
    source = cx.tensors[op.src.tensor.name]

    def access(step: RegisterIteration) -> list[str]:
        where = locate(cx, op.src, layout, step, step.values * plan.width)
        address = shared_address(cx, offsets(step, step.values))
        pointer = plus(name(source), where.offset)
        copy = call(function, address, pointer, where.condition or name("true"))
        body = f"{copy.bare};"
        return [*where.setup, f"if ({guard.bare}) {body}" if guard else body]

    cx.loop(plan.accesses, access)


def copy_out(cx: Emission, op: o.CopyOut) -> None:
    """TMA stores, by the elected thread."""
    if op.plan is None:
        raise CodegenError("CopyOut has no plan")
    tensor_map = _map(cx, op.plan)
    base = stage_offset(op.src)
    for box in op.plan.boxes:
        address = shared_address(cx, base + box.offset)
        function = tma.store_function(len(box.coords))
        store = call(function, tensor_map, address, *_coords(cx, box))
        cx.out.line(f"{store.bare};")


def copy_out_wait(cx: Emission, op: o.CopyOutWait) -> None:
    """Wait for TMA stores of the elected thread."""
    kind = "_read" if op.read else ""
    cx.out.line(f"argus_tma_store_wait{kind}<{op.pending}>();")


def barrier_expect(cx: Emission, op: o.BarrierExpect) -> None:
    """Arrive and announce bytes."""
    barrier = barrier_address(cx, op.barrier)
    cx.out.line(f"{call('argus_mbar_expect', barrier, cx.code(op.bytes)).bare};")


def barrier_arrive(cx: Emission, op: o.BarrierArrive) -> None:
    """Arrive once per role, warpgroup, warp or thread; in all blocks if ``cluster``."""
    barrier = barrier_address(cx, op.barrier)
    lanes = cx.program.target.warp_threads
    threads = {"role": cx.group.threads, "warpgroup": WARPGROUP, "warp": lanes}
    if op.per == "thread":
        if not op.cluster:
            cx.out.line(f"argus_mbar_arrive({barrier.bare});")
            return
        cx.out.line(f"for (u32 rank = 0; rank < {cx.program.cluster}; ++rank)")
        cx.out.line(f"  argus_mbar_arrive_cluster({barrier.bare}, rank);")
        return
    if op.per == "warp":
        # The lane that arrives speaks for the accesses of all others.
        cx.out.line("__syncwarp();")
    unit = threads[op.per]
    within: Expr = TID if unit >= cx.group.threads else TID % unit
    if op.cluster:
        # Lane i of the arriving warp arrives in block i.
        block = cx.code(within)
        arrive = call("argus_mbar_arrive_cluster", barrier, block)
        inside = binary("<", block, name(str(cx.program.cluster)))
        body = f"{arrive.bare};"
        cx.out.line(f"if ({inside.bare}) {body}")
    elif op.per == "role":
        cx.out.line(f"argus_mbar_arrive({barrier.bare});")
    else:
        first = binary("==", cx.code(within), name("0"))
        cx.out.line(f"if ({first.bare}) argus_mbar_arrive({barrier.bare});")


def barrier_wait(cx: Emission, op: o.BarrierWait) -> None:
    """All threads wait for completion ``n``: phase parity n & 1, also for n = -1."""
    barrier = barrier_address(cx, op.barrier)
    # A ring hands over what TMA wrote here, or slots that only TMA writes next: no
    # ordinary access of another block is to be seen, and acquiring at cluster scope
    # would drop the L1 cache at every wait.
    explicit = op.barrier.alloc.role == "explicit"
    cluster = "_cluster" if cx.program.cluster > 1 and explicit else ""
    wait = call(f"argus_mbar_wait{cluster}", barrier, _parity(cx, op.n))
    cx.out.line(f"{wait.bare};")


def _parity(cx: Emission, n: Expr) -> CppExpression:
    if isinstance(n, Const):
        return name(str(int(n.value) & 1))
    return CppExpression(f"{cx.code(n).operand} & 1", PRECEDENCE["&"])


def sync(cx: Emission, op: o.Sync) -> None:
    """bar.sync, or its cheapest equal: __syncwarp, __syncthreads."""
    if op.barrier is not None and op.barrier >= NAMED_BARRIERS:
        raise CodegenError(f"a block has no barrier {op.barrier}")
    block = cx.program.threads
    if op.arrive_only:
        if op.barrier is None:
            raise CodegenError("bar.arrive needs a barrier number")
        cx.out.line(f"argus_named_arrive({op.barrier}, {op.threads});")
    elif op.threads == cx.program.target.warp_threads and op.name is None:
        cx.out.line("__syncwarp();")
    elif op.barrier in (None, 0) and op.threads == block:
        cx.out.line("__syncthreads();")
    elif op.barrier is None:
        raise CodegenError("a sync of part of the block needs a barrier number")
    else:
        cx.out.line(f"argus_named_sync({op.barrier}, {op.threads});")


def fence(cx: Emission, op: o.Fence) -> None:
    """A memory fence by all threads."""
    text = {
        "proxy.async": "argus_fence_proxy_async();",
        "mbarrier_init": "argus_fence_mbarrier_init();",
        "wgmma": "argus_wgmma_fence();",
        "threadfence": "__threadfence();",
    }
    cx.out.line(text[op.kind])


def set_max_registers(cx: Emission, op: o.SetMaxRegisters) -> None:
    """setmaxnreg, by all warps of the warpgroup."""
    if op.count not in registers.BUDGETS:
        raise CodegenError(f"a budget of {op.count} registers")
    cx.out.line(f"{registers.setmaxnreg_function(grow=op.grow)}<{op.count}>();")
