"""Mutations of placed programs that change when things happen.

    operator(program, rng) -> Program | None

As in `mutate.py`: a deep copy with one change, or None where there is no place for it.
``places(program, operator)`` is how many there are, ``at(program, operator, k)`` the
mutant of the k-th one, and the line of the source that was changed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from argus.ir import ops as o
from argus.ir.expr import Const, binary
from argus.ir.memory import BarrierRef, SharedView
from argus.ir.placement import TmaPlan
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, used, walk

Change = Callable[[], None]
Site = tuple[int, Change]
"""Line of the source, and what changes the program there."""
Sites = Callable[[Program], Iterator[Site]]
Operator = Callable[[Program, Random], Program | None]


def at(program: Program, sites: Sites, number: int) -> tuple[Program, int]:
    """The mutant of one place, and its line."""
    made = copy.deepcopy(program)
    line, change = list(sites(made))[number]
    change()
    return made, line


def places(program: Program, sites: Sites) -> int:
    """How many places a kind of change has."""
    return sum(1 for _ in sites(program))


def _operator(sites: Sites) -> Operator:
    def mutate(program: Program, rng: Random) -> Program | None:
        count = places(program, sites)
        return at(program, sites, rng.randrange(count))[0] if count else None

    mutate.__name__ = sites.__name__
    mutate.__doc__ = sites.__doc__
    return mutate


def _blocks(block: o.Block) -> Iterator[o.Block]:
    yield block
    for op in block.ops:
        for inner in blocks(op):
            yield from _blocks(inner)


def _delete(program: Program, *kinds: type[o.AnyOp]) -> Iterator[Site]:
    for block in _blocks(program.body):
        for op in list(block.ops):
            if isinstance(op, kinds):
                yield op.span.line, lambda b=block, x=op: b.ops.remove(x)


def _set(op: object, **values: object) -> Change:
    def change() -> None:
        for name, value in values.items():
            setattr(op, name, value)

    return change


def _of(program: Program, kind: type) -> Iterator[o.AnyOp]:
    return (op for op in walk(program.body) if isinstance(op, kind))


# -------------------------------------------------------------------------- deleted


def delete_wait(program: Program) -> Iterator[Site]:
    """A wait for a barrier is not there."""
    return _delete(program, o.BarrierWait)


def delete_arrive(program: Program) -> Iterator[Site]:
    """An arrival is not there."""
    return _delete(program, o.BarrierArrive, o.CpAsyncArrive)


def delete_expect(program: Program) -> Iterator[Site]:
    """Nobody announces the bytes."""
    return _delete(program, o.BarrierExpect)


def delete_copy(program: Program) -> Iterator[Site]:
    """One of the copies of a fill is not there."""
    return _delete(program, o.CopyAsync)


def delete_wgmma_wait(program: Program) -> Iterator[Site]:
    """A wait for matrix instructions is not there."""
    return _delete(program, o.WgmmaWait)


def delete_wgmma_commit(program: Program) -> Iterator[Site]:
    """A group of matrix instructions is not closed."""
    return _delete(program, o.WgmmaCommit)


def delete_copy_wait(program: Program) -> Iterator[Site]:
    """A wait for cp.async copies or TMA stores is not there."""
    return _delete(program, o.CpAsyncWait, o.CopyOutWait)


def delete_copy_commit(program: Program) -> Iterator[Site]:
    """A group of copies or stores is not closed."""
    return _delete(program, o.CpAsyncCommit, o.CopyOutCommit)


def delete_fence(program: Program) -> Iterator[Site]:
    """A fence is not there."""
    return _delete(program, o.Fence)


def delete_sync(program: Program) -> Iterator[Site]:
    """A sync is not there."""
    return _delete(program, o.Sync)


def delete_cluster_sync(program: Program) -> Iterator[Site]:
    """One role does not wait for its cluster."""
    return _delete(program, o.ClusterSync)


# ------------------------------------------------------------------ counts and phases


def wait_next(program: Program) -> Iterator[Site]:
    """A wait for completion n + 1."""
    for op in _of(program, o.BarrierWait):
        assert isinstance(op, o.BarrierWait)
        yield op.span.line, _set(op, n=binary("+", op.n, 1))


def wait_previous(program: Program) -> Iterator[Site]:
    """A wait for completion n - 1."""
    for op in _of(program, o.BarrierWait):
        assert isinstance(op, o.BarrierWait)
        yield op.span.line, _set(op, n=binary("-", op.n, 1))


def other_barrier(program: Program) -> Iterator[Site]:
    """The next barrier of the array is waited for, armed or arrived at."""
    for op in walk(program.body):
        if isinstance(
            op, o.BarrierWait | o.BarrierArrive | o.BarrierExpect | o.CpAsyncArrive
        ):
            count = op.barrier.alloc.count
            if count > 1:
                index = binary("%", binary("+", op.barrier.index, 1), count)
                yield (
                    op.span.line,
                    _set(op, barrier=BarrierRef(op.barrier.alloc, index)),
                )


def more_arrivals(program: Program) -> Iterator[Site]:
    """A barrier counts one more arrival."""
    for alloc in program.barriers:
        yield alloc.span.line, _set(alloc, arrivals=alloc.arrivals + 1)


def fewer_arrivals(program: Program) -> Iterator[Site]:
    """A barrier counts one arrival less."""
    for alloc in program.barriers:
        if alloc.arrivals > 1:
            yield alloc.span.line, _set(alloc, arrivals=alloc.arrivals - 1)


def more_bytes(program: Program) -> Iterator[Site]:
    """More bytes are expected than come."""
    for op in _of(program, o.BarrierExpect):
        assert isinstance(op, o.BarrierExpect)
        yield op.span.line, _set(op, bytes=binary("+", op.bytes, 128))


def fewer_bytes(program: Program) -> Iterator[Site]:
    """Fewer bytes are expected than come."""
    for op in _of(program, o.BarrierExpect):
        assert isinstance(op, o.BarrierExpect)
        yield op.span.line, _set(op, bytes=binary("-", op.bytes, 128))


def more_pending(program: Program) -> Iterator[Site]:
    """A wait leaves one more group in flight."""
    for op in walk(program.body):
        if isinstance(op, o.WgmmaWait | o.CpAsyncWait | o.CopyOutWait):
            yield op.span.line, _set(op, pending=op.pending + 1)


def sync_count(program: Program) -> Iterator[Site]:
    """A named barrier counts another warp."""
    for op in _of(program, o.Sync):
        assert isinstance(op, o.Sync)
        if op.barrier is not None:
            yield op.span.line, _set(op, threads=op.threads + 32)


def sync_odd(program: Program) -> Iterator[Site]:
    """A named barrier counts half a warp."""
    for op in _of(program, o.Sync):
        assert isinstance(op, o.Sync)
        if op.barrier is not None:
            yield op.span.line, _set(op, threads=op.threads - 16)


def sync_barrier(program: Program) -> Iterator[Site]:
    """A sync uses the hardware barrier of another one."""
    used = {op.barrier for op in _of(program, o.Sync) if isinstance(op, o.Sync)}
    for op in _of(program, o.Sync):
        assert isinstance(op, o.Sync)
        for other in sorted(x for x in used if x is not None):
            if op.barrier is not None and op.barrier != other:
                yield op.span.line, _set(op, barrier=other)
                break


# ------------------------------------------------------------------ places and orders


def other_stage(program: Program) -> Iterator[Site]:
    """An access is to the next stage of its buffer."""

    def moved(view: SharedView) -> SharedView:
        stage = binary("%", binary("+", view.stage, 1), view.alloc.stages)
        return replace(view, stage=stage)

    for op in walk(program.body):
        match op:
            case o.Dot():
                for side in ("a", "b"):
                    view = getattr(op, side)
                    if isinstance(view, SharedView) and view.alloc.stages > 1:
                        yield op.span.line, _set(op, **{side: moved(view)})
            case o.CopyAsync() if op.dst.alloc.stages > 1:
                yield op.span.line, _set(op, dst=moved(op.dst))
            case o.LoadShared() | o.StoreShared() if op.view.alloc.stages > 1:
                yield op.span.line, _set(op, view=moved(op.view))
            case _:
                pass


def early_arrive(program: Program) -> Iterator[Site]:
    """An arrival before the wait that comes before it."""
    for block in _blocks(program.body):
        for i, op in enumerate(block.ops):
            before = block.ops[i - 1] if i else None
            if isinstance(op, o.BarrierArrive) and isinstance(
                before, o.WgmmaWait | o.CopyOutWait | o.Sync | o.LoadShared | o.Fence
            ):
                yield op.span.line, lambda b=block, i=i: _swap(b, i - 1)


def swap_waits(program: Program) -> Iterator[Site]:
    """Two operations on order, one after the other, the other way round."""
    kinds = (
        o.BarrierWait | o.BarrierArrive | o.BarrierExpect | o.CopyAsync | o.Sync
        | o.Fence | o.CopyOut | o.CopyOutWait | o.CopyOutCommit | o.WgmmaWait
        | o.CpAsyncWait | o.CpAsyncCommit | o.LoadShared | o.StoreShared | o.Dot
        | o.WgmmaCommit
    )  # fmt: skip
    for block in _blocks(program.body):
        for i in range(len(block.ops) - 1):
            first, second = block.ops[i : i + 2]
            if not (isinstance(first, kinds) and isinstance(second, kinds)):
                continue
            # A register tile that is used before it is made is no program at all.
            if not any(x is y for x in used(second) for y in defined(first)):
                yield first.span.line, lambda b=block, i=i: _swap(b, i)


def _swap(block: o.Block, i: int) -> None:
    block.ops[i], block.ops[i + 1] = block.ops[i + 1], block.ops[i]


def one_iteration_less(program: Program) -> Iterator[Site]:
    """A loop of one role ends an iteration early."""
    for op in _of(program, o.For):
        assert isinstance(op, o.For)
        yield op.span.line, _set(op, stop=binary("-", op.stop, op.step))


def one_iteration_more(program: Program) -> Iterator[Site]:
    """A loop of one role does one more iteration."""
    for op in _of(program, o.For):
        assert isinstance(op, o.For)
        yield op.span.line, _set(op, stop=binary("+", op.stop, op.step))


def no_multicast(program: Program) -> Iterator[Site]:
    """A copy for the whole cluster goes to one block only."""
    for op in _of(program, o.CopyAsync):
        assert isinstance(op, o.CopyAsync)
        if isinstance(op.plan, TmaPlan) and op.plan.multicast > 1:
            yield op.span.line, _set(op, plan=replace(op.plan, multicast=1))


def own_block_only(program: Program) -> Iterator[Site]:
    """An arrival for the whole cluster reaches its own block only."""
    for op in _of(program, o.BarrierArrive):
        assert isinstance(op, o.BarrierArrive)
        if op.cluster:
            yield op.span.line, _set(op, cluster=False)


def per_role(program: Program) -> Iterator[Site]:
    """One thread arrives where each warp or warpgroup should."""
    for op in _of(program, o.BarrierArrive):
        assert isinstance(op, o.BarrierArrive)
        if op.per != "role":
            yield op.span.line, _set(op, per="role")


def counter_stands(program: Program) -> Iterator[Site]:
    """A ring's counter is not moved on."""
    for op in _of(program, o.For):
        assert isinstance(op, o.For)
        for carry in op.scalars:
            if carry.yielded != carry.arg:
                yield op.span.line, _set(carry, yielded=carry.arg)


def counter_starts(program: Program) -> Iterator[Site]:
    """A ring's counter begins one further on."""
    for op in _of(program, o.For):
        assert isinstance(op, o.For)
        for carry in op.scalars:
            if isinstance(carry.init, Const):
                yield op.span.line, _set(carry, init=binary("+", carry.init, 1))


SITES: tuple[Sites, ...] = (
    delete_wait, delete_arrive, delete_expect, delete_copy, delete_wgmma_wait,
    delete_wgmma_commit, delete_copy_wait, delete_copy_commit, delete_fence,
    delete_sync, delete_cluster_sync, wait_next, wait_previous, other_barrier,
    more_arrivals, fewer_arrivals, more_bytes, fewer_bytes, more_pending, sync_count,
    sync_odd, sync_barrier, other_stage, early_arrive, swap_waits, one_iteration_less,
    one_iteration_more, no_multicast, own_block_only, per_role, counter_stands,
    counter_starts,
)  # fmt: skip

ORDER: tuple[Operator, ...] = tuple(_operator(s) for s in SITES)
"""Each kind of change, at a place chosen by the random numbers."""
