"""What an operation of a placed program does, from the records of its instructions.

    CopyAsync by TMA   argus_tma_load_2d   writes [smem] by the async proxy, completes
                                           on an mbarrier, issued by one elected thread
    Dot by wgmma       argus_wgmma_...     reads [desc_a], [desc_b] by the async proxy
                                           and d in registers, completes by wgmma group
    WgmmaWait          argus_wgmma_wait    awaits wgmma groups

An operation binds operands of its instruction to its own views and tiles; all else is
the record's. Placing (which waits and fences are missing?), the verifier, the
interpreter and the model read what is here: they have machines of their own, which
hold each other in check, and no facts of their own about instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import GlobalTensor, GlobalView, SharedView
from argus.ir.placement import TmaPlan, VectorPlan
from argus.isa import cp_async, ldmatrix, memory, registry, tma
from argus.isa.record import (
    Awaits,
    Completes,
    Instruction,
    Ordinary,
    Proxy,
    Scope,
)
from argus.isa.registers import setmaxnreg_function

__all__ = [
    "EffectsTable",
    "GlobalTouch",
    "OpEffects",
    "Touch",
    "effects_of",
    "waiting_scopes",
]

_Operand = SharedView | GlobalView | GlobalTensor | o.Tile | None


@dataclass(frozen=True)
class Touch:
    """An access to shared memory through a proxy; it is over by ``over``."""

    view: SharedView
    write: bool
    proxy: Proxy
    over: Completes


@dataclass(frozen=True)
class GlobalTouch:
    """An access to global memory: of a tile, or (``view`` None) of one element."""

    tensor: GlobalTensor
    view: GlobalView | None
    write: bool


@dataclass(frozen=True)
class OpEffects:
    """What an operation does, and who executes it together (``scope``).

    ``results`` are register tiles that its instruction writes until it is complete, and
    ``sources`` those that it only reads. ``commits``, ``awaits`` and ``fence`` are
    those of :class:`~argus.isa.record.Effects`. ``instruction`` is the record, where
    that is not an ordinary access.
    """

    scope: Scope = "thread"
    completes: Completes = "issue"
    touches: tuple[Touch, ...] = ()
    elsewhere: tuple[GlobalTouch, ...] = ()
    sources: tuple[o.Tile, ...] = ()
    results: tuple[o.Tile, ...] = ()
    commits: tuple[Completes, ...] = ()
    awaits: tuple[Awaits, ...] = ()
    fence: Proxy | None = None
    instruction: Instruction | None = None

    @property
    def later(self) -> bool:
        """Whether it may still run when the next operation begins."""
        return self.completes != "issue"

    @property
    def reads(self) -> tuple[Touch, ...]:
        """Its reads of shared memory."""
        return tuple(t for t in self.touches if not t.write)

    @property
    def writes(self) -> tuple[Touch, ...]:
        """Its writes to shared memory."""
        return tuple(t for t in self.touches if t.write)


NOTHING = OpEffects()
"""Registers and scalars only, in program order."""


def effects_of(op: o.AnyOp) -> OpEffects:
    """What an operation does.

    An access that has no plan yet is an ordinary one. Raises ValueError for another
    operation that has no plan and needs one.
    """
    match op:
        case (
            o.Let() | o.Extract() | o.RegisterOp() | o.Structure() | o.RingOp()
            | o.Annotation()
        ):  # fmt: skip
            return NOTHING  # rings are expanded into operations of their own
        case o.Dot():
            return _product(op)
        case o.CopyAsync():
            return _copy(op)
        case o.CopyOut():
            function = tma.store_function(op.dst.tensor.rank)
            return _does(registry.lookup(function), {"smem": op.src, "map": op.dst})
        case o.LoadGlobal():
            record = memory.ORDINARY["ld.global"]
            return _does(record, {"p": op.view, "v": op.result})
        case o.Atomic():
            bound = {"p": op.view, "v": op.src, "c": op.expected}
            return _does(_store_global(op), bound)
        case o.StoreGlobal():
            return _does(_store_global(op), {"p": op.view, "v": op.src})
        case o.LoadScalar():
            return _does(memory.ORDINARY["ld.global"], {"p": op.tensor})
        case o.LoadShared():
            return _shared(op.plan, op.view, op.result, "ld.shared")
        case o.StoreShared():
            return _shared(op.plan, op.view, op.src, "st.shared")
        case o.CopyOutCommit():
            return _named("argus_tma_store_commit")
        case o.CopyOutWait():
            return _named("argus_tma_store_wait" + "_read" * op.read)
        case o.CpAsyncCommit():
            return _named("argus_cp_async_commit")
        case o.CpAsyncWait():
            return _named("argus_cp_async_wait")
        case o.CpAsyncArrive():
            return _named("argus_cp_async_arrive")
        case o.WgmmaCommit():
            return _named("argus_wgmma_commit")
        case o.WgmmaWait():
            return _named("argus_wgmma_wait")
        case o.BarrierExpect():
            return _named("argus_mbar_expect")
        case o.BarrierArrive():
            return replace(_named("argus_mbar_arrive"), scope=_ARRIVES[op.per])
        case o.BarrierWait():
            return _named("argus_mbar_wait")
        case o.Sync():
            return _named("argus_named_arrive" if op.arrive_only else _NAMED_SYNC)
        case o.ClusterSync():
            return _named("argus_cluster_wait")
        case o.Fence():
            return NOTHING if op.kind == "threadfence" else _named(_FENCES[op.kind])
        case o.SetMaxRegisters():
            return _named(setmaxnreg_function(grow=op.grow))
        case _:
            assert_never(op)


_NAMED_SYNC = "argus_named_sync"
"""The record of every barrier of threads in a block: what it waits for is the same."""
_ARRIVES: Mapping[str, Scope] = {
    "role": "elected",
    "warpgroup": "warpgroup",
    "warp": "warp",
    "thread": "thread",
}
_FENCES = {
    "proxy.async": "argus_fence_proxy_async",
    "mbarrier_init": "argus_fence_mbarrier_init",
    "wgmma": "argus_wgmma_fence",
}


@lru_cache(maxsize=1)
def waiting_scopes() -> Mapping[Awaits, Scope]:
    """Who executes operations that complete in groups, and waits for these, by kind."""
    records = map(registry.lookup, _GROUP_WAITS)
    return {r.effects.awaits[0]: r.scope for r in records}


_GROUP_WAITS = (
    "argus_cp_async_wait",
    "argus_tma_store_wait_read",
    "argus_wgmma_wait",
)


class EffectsTable:
    """Effects of the operations of a program, each found once: nobody changes them."""

    def __init__(self) -> None:
        self._found: dict[o.AnyOp, OpEffects] = {}

    def of(self, op: o.AnyOp) -> OpEffects:
        """What an operation does."""
        found = self._found.get(op)
        if found is None:
            found = self._found[op] = effects_of(op)
        return found


def _named(function: str) -> OpEffects:
    return _does(registry.lookup(function), {})


def _does(record: Instruction | Ordinary, bound: Mapping[str, _Operand]) -> OpEffects:
    """Effects of an operation that binds operands of an instruction."""
    effects = record.effects
    touches: list[Touch] = []
    elsewhere: list[GlobalTouch] = []
    tiles: tuple[list[o.Tile], list[o.Tile]] = ([], [])
    for write, names in enumerate((effects.reads, effects.writes)):
        over = effects.completes if write else effects.released or effects.completes
        for name in names:
            match bound.get(name.strip("[]")):
                case SharedView() as view:
                    touches.append(Touch(view, bool(write), effects.proxy, over))
                case GlobalView() as view:
                    elsewhere.append(GlobalTouch(view.tensor, view, bool(write)))
                case GlobalTensor() as tensor:
                    elsewhere.append(GlobalTouch(tensor, None, bool(write)))
                case o.Tile() as tile:
                    tiles[write].append(tile)
                case None:
                    # Addresses and numbers; barriers are fields of operations.
                    if name.startswith("[") and name != "[bar]":
                        raise ValueError(f"no operation says what {name} is")
    return OpEffects(
        record.scope,
        effects.completes,
        tuple(touches),
        tuple(elsewhere),
        tuple(tile for tile in tiles[0] if tile not in tiles[1]),
        tuple(tiles[1]),
        effects.commits,
        effects.awaits,
        effects.fence,
        record if isinstance(record, Instruction) else None,
    )


def _product(op: o.Dot) -> OpEffects:
    if op.plan is None:
        raise ValueError(f"line {op.span.line}: a dot is not placed")
    operands = {"a": op.a, "desc_a": op.a, "b": op.b, "desc_b": op.b}
    bound = {"d": op.result, **operands}
    return _does(registry.lookup(op.plan.instruction), bound)


def _copy(op: o.CopyAsync) -> OpEffects:
    match op.plan:
        case TmaPlan(multicast=n):
            function = tma.load_function(
                op.src.tensor.rank, multicast=n > 1, hint=op.evict is not None
            )
            bound = {"smem": op.dst, "map": op.src}
        case VectorPlan(width=width):
            function = cp_async.function_name(width * op.src.dtype.bytes)
            bound = {"smem": op.dst, "gmem": op.src}
        case None:
            raise ValueError(f"line {op.span.line}: a copy is not placed")
        case _:
            assert_never(op.plan)
    return _does(registry.lookup(function), bound)


def _store_global(op: o.StoreGlobal) -> Instruction | Ordinary:
    if op.atomic is None:
        return memory.ORDINARY["st.global"]
    old = isinstance(op, o.Atomic)
    form = memory.reduction(op.view.dtype, op.atomic, old=old)
    if form is None:
        what = f"{op.view.dtype} has no atomic {op.atomic}"
        raise ValueError(f"line {op.span.line}: {what}")
    return registry.lookup(form.function)


def _shared(
    plan: VectorPlan | None, view: SharedView, tile: o.Tile, ordinary: str
) -> OpEffects:
    kind = ordinary if plan is None else plan.instruction
    if kind in memory.ORDINARY:
        return _does(memory.ORDINARY[kind], {"p": view, "v": tile})
    assert plan is not None
    function = ldmatrix.function_name(
        plan.width // 2,
        load=kind.startswith("ldmatrix"),
        trans=kind.endswith(".trans"),
    )
    return _does(registry.lookup(function), {"smem": view, "r": tile})
