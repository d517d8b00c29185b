"""Walks one role in program order, keeping what is known of every tile.

A loop body is walked twice. The first pass starts from the values before the loop and
shows what an iteration yields; from that and the initial value follows the form that a
carried tile has in iteration ``it``: its yielded form at ``it - 1``, or the initial one
at 0. The second pass starts from that form, is the one whose findings count, and must
yield what the first one did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.annotations import Assume, Check, Expect, Tag, Trust
from argus.ir.expr import Sym
from argus.ir.memory import SharedAlloc
from argus.ir.walk import walk as every
from argus.verify.tags import carried, loops, products, registers, transfers
from argus.verify.tags.annotated import assume, tag
from argus.verify.tags.checks import check
from argus.verify.tags.memory import Key
from argus.verify.tags.shared_tags import without
from argus.verify.tags.state import State
from argus.verify.tags.values import Value

__all__ = ["walk"]


def walk(state: State, block: o.Block, label: str) -> None:
    """Every operation of a block."""
    count = 0
    for op in block.ops:
        if isinstance(op, o.For | o.If):
            count += 1
            _structure(state, op, f"{label}.{count}")
        else:
            _operation(state, op)


def _structure(state: State, op: o.For | o.If, label: str) -> None:
    if isinstance(op, o.For):
        _loop(state, op, label)
    else:
        _branch(state, op, label)


def _operation(state: State, op: o.AnyOp) -> None:
    match op:
        case o.Let() | o.LoadScalar():
            loops.let(state.world, op, state.env)
            if isinstance(op, o.LoadScalar):
                transfers.load_scalar(state, op)
        case (
            o.Full() | o.Index() | o.Elementwise() | o.Cast() | o.Broadcast()
            | o.Transpose() | o.Reduce() | o.Split() | o.Slice() | o.Scan()
            | o.Reinterpret() | o.Convert()
        ):  # fmt: skip
            state.values[op.result] = registers.run(state, op)
        case o.Dot():
            state.values[op.result] = products.dot(state, op)
        case o.LoadGlobal():
            state.values[op.result] = transfers.load_global(state, op)
        case o.LoadShared():
            state.values[op.result] = transfers.load_shared(state, op)
        case o.StoreGlobal():
            transfers.store_global(state, op)
        case o.StoreShared():
            transfers.store_shared(state, op)
        case o.CopyAsync():
            transfers.copy_in(state, op)
        case o.CopyOut():
            transfers.copy_out(state, op)
        case o.BarrierWait():
            state.waits[op.barrier.alloc] = state.close(op.n)
        case Tag():
            tag(state, op)
        case Check():
            check(state, op)
        case Assume():
            assume(state, op)
        case (
            Expect() | Trust() | o.CopyOutCommit() | o.CopyOutWait()
            | o.CpAsyncCommit() | o.CpAsyncWait() | o.CpAsyncArrive()
            | o.BarrierExpect() | o.BarrierArrive() | o.Sync() | o.ClusterSync()
            | o.Fence() | o.WgmmaCommit() | o.WgmmaWait() | o.SetMaxRegisters()
            | o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease()
            | o.Roles() | o.For() | o.If()
        ):  # fmt: skip
            pass
        case _:
            assert_never(op)


def _loop(state: State, op: o.For, label: str) -> None:
    entered = loops.enter(state.world, op, state.scope, state.env, label)
    it, number = entered.loop.sym, id(op)
    outer_scope, before = state.scope, dict(state.memory.current)
    inits = [state.get(c.init) for c in op.tiles]
    passes = 2 if op.tiles or _writes_shared(op) else 1
    # A tag inside is none of the iteration before; what is written inside is no longer
    # what was tagged before the loop.
    tagged = without(state.tagged, _written(op))
    args = [carried.first(v, number) for v in inits]
    yields: list[Value] = []
    for turn in range(passes):
        last = turn == passes - 1
        state.scope, state.env = entered.scope, dict(entered.inside)
        state.tagged = list(tagged)
        for c, value in zip(op.tiles, args, strict=True):
            state.values[c.arg] = value
        state.findings.quiet += not last
        walk(state, op.body, label)
        state.findings.quiet -= not last
        yields = [state.get(c.yielded) for c in op.tiles]
        if not last:
            args = [
                carried.argument(entered.scope, a, y, it, number)
                for a, y in zip(inits, yields, strict=True)
            ]
            _carry_memory(state, before, it)
    state.scope, state.env, state.tagged = outer_scope, dict(entered.after), tagged
    for c, init, y in zip(op.tiles, inits, yields, strict=True):
        state.values[c.result] = carried.result(
            entered.scope, outer_scope, init, y, it, entered.loop.trips, number
        )
    trips = {it.name: entered.loop.trips - 1}
    for key, content in state.memory.current.items():
        if content is not before.get(key):
            state.memory.current[key] = carried.shifted(state.world, content, trips)


def _carry_memory(state: State, before: dict[Key, Value], it: Sym) -> None:
    """Contents at the beginning of an iteration: those of the one before."""
    back = {it.name: it - 1}
    for key, content in list(state.memory.current.items()):
        if content is before.get(key):
            continue
        moved = carried.shifted(state.world, content, back)
        init = before.get(key)
        if init is None:
            written = moved.written
            moved = replace(moved, written=None if written is None else written & False)
        state.memory.current[key] = moved


def _writes_shared(op: o.For) -> bool:
    return bool(_written(op))


def _written(op: o.For | o.If) -> set[SharedAlloc]:
    found: set[SharedAlloc] = set()
    for x in every(o.Block([op])):
        match x:
            case o.StoreShared(view=view) | o.CopyAsync(dst=view):
                found.add(view.alloc)
            case _:
                pass
    return found


def _branch(state: State, op: o.If, label: str) -> None:
    cond = state.close(op.cond)
    scope, env = state.scope, state.env
    state.scope, state.env = scope.when(cond), dict(env)
    tagged = state.tagged
    walk(state, op.then, label + "t")
    then, state.tagged = state.env, list(tagged)
    state.scope, state.env = scope.when(carried.negation(cond)), dict(env)
    walk(state, op.other, label + "e")
    other = state.env
    written = _written(op)
    state.scope, state.env, state.tagged = scope, env, without(tagged, written)
    loops.leave_if(state.world, op, then, other, env)
    for merge in op.tiles:
        a, b = state.get(merge.then), state.get(merge.other)
        state.values[merge.result] = carried.merged(scope, cond, a, b)
