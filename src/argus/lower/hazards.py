"""Pass: syncs, proxy fences and store waits that shared memory needs within a group.

In each group: a read after other threads' writes, and a write after other threads'
reads or writes, needs a sync between them; a buffer that a TMA store still reads may be
written only after the store's group has been waited for. Slots of rings between roles
need neither, since the ring's barriers order them. Ordinary accesses that the
asynchronous proxy follows (:mod:`argus.lower.proxies`) need ``fence.proxy.async``
before that sync, or before the arrival that hands the slot on. An author's own syncs
and fences count, so what is inserted is only what is missing. An author's own barriers
hand on what its author has written and fenced; reads before them, which no author sees
to be pending, are fenced here, too.

Accesses are told apart where constants show that they touch different stages or parts
of a buffer; everything else is taken to meet. Loops are walked, as they were before the
pass, until the state at their head is stable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.memory import Ring, SharedView
from argus.ir.program import Program
from argus.isa.effects import Touch, effects_of
from argus.lower.groups import groups, walk_group
from argus.lower.proxies import AsyncAccesses
from argus.lower.touched import (
    NONE,
    SyncState,
    Views,
    any_meets,
    committed,
    copies_done,
    stores_done,
)


def insert_syncs(program: Program) -> None:
    """Insert Sync, Fence and CopyOutWait; end clusters together."""
    found = groups(program)
    asynchronous = AsyncAccesses(found)
    in_roles = frozenset(
        id(touch.view.alloc)
        for g in found
        if g.role is not None
        for op in walk_group(g.block)
        for touch in effects_of(op).touches
    )
    for group in found:
        pass_ = _Pass(program.rings, asynchronous, in_roles)
        state, ops = pass_.run(group.block, SyncState())
        pass_.finish(state, ops, group.span)
        ends = group.role is not None or len(found) == 1
        if program.cluster > 1 and ends:
            note = "no block leaves while others may still reach its memory"
            ops.append(o.ClusterSync(span=group.span, note=note))
        group.block.ops = ops


class _Pass:
    def __init__(
        self,
        rings: list[Ring],
        asynchronous: AsyncAccesses,
        in_roles: frozenset[int],
    ) -> None:
        self.asynchronous = asynchronous
        self.in_roles = in_roles
        self.ignored: set[int] = set()
        """Slots that barriers order."""
        self.handed_on: dict[int, set[int]] = {}
        """By barriers that placing has made, slots of which an arrival speaks."""
        self.source: dict[int, list[o.AnyOp]] = {}
        """Operations of each block before the pass, by its id."""
        for ring in rings:
            fields = set(map(id, ring.fields.values()))
            for barriers in (ring.full, ring.empty):
                if barriers is not None:
                    self.handed_on[id(barriers)] = fields
            if ring.empty is not None:
                self.ignored |= fields

    def run(self, block: o.Block, state: SyncState) -> tuple[SyncState, list[o.AnyOp]]:
        """What is touched after a block, and the block with what it needs inserted."""
        out: list[o.AnyOp] = []
        for op in self.source.setdefault(id(block), block.ops):
            match op:
                case o.For():
                    state = self._loop(op, state)
                    out.append(op)
                case o.If():
                    then, op.then.ops = self.run(op.then, state)
                    other, op.other.ops = self.run(op.other, state)
                    state = then.join(other)
                    out.append(op)
                case o.Roles():
                    state = self._before_roles(state, out, op.span)
                    out.append(op)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    state = self._step(op, state, out)
                case _:
                    assert_never(op)
        return state, out

    def finish(self, state: SyncState, out: list[o.AnyOp], span: Span) -> None:
        """Stores must have read shared memory before the block may leave."""
        note = "shared memory must outlive the stores that read it"
        self._complete(state, out, span, note)

    def _loop(self, op: o.For, state: SyncState) -> SyncState:
        head = state
        while True:
            after, ops = self.run(op.body, head)
            joined = head.join(after)
            if joined == head:
                op.body.ops = ops
                return joined
            head = joined

    def _before_roles(
        self, state: SyncState, out: list[o.AnyOp], span: Span
    ) -> SyncState:
        """What common code touched is ordered before what roles do with it."""
        note = "roles have threads of their own to wait for stores"
        state = self._complete(state, out, span, note)
        seen = {id(v.alloc) for v in state.written | state.read}
        if seen & self.in_roles:
            why = "the roles see what the whole block did"
            state = self._insert_sync(state, out, span, why)
        return state

    def _step(self, op: o.AnyOp, state: SyncState, out: list[o.AnyOp]) -> SyncState:
        does = effects_of(op)
        cluster = isinstance(op, o.CopyAsync) and op.multicast > 1
        for touch in does.writes:
            state = self._before_write(touch.view, state, out, op.span, cluster)
            if not _ordered_elsewhere(op, touch):
                seen = self._seen(touch.view)
                state = replace(state, written=state.written | seen)
            state = self._unfenced(op, touch, state)
        for touch in does.reads:
            state = self._before_read(touch.view, state, out, op.span)
            seen = self._seen(touch.view)
            if touch.over == "bulk_read":
                state = replace(state, open=state.open | seen)
            else:
                state = replace(state, read=state.read | seen)
            state = self._unfenced(op, touch, state)
        if "bulk_read" in does.commits:
            state = committed(state)
        if "bulk_read" in does.awaits and isinstance(op, o.GroupWait):
            state = stores_done(state, op.pending)
        if "cp_async_group" in does.awaits and isinstance(op, o.GroupWait):
            state = copies_done(state, op.pending)
        if does.fence == "async":
            state = replace(state, unfenced=frozenset())
        # A named barrier may be one of other threads, too.
        named = isinstance(op, o.Sync) and op.name is not None
        slots = None
        if isinstance(op, o.BarrierArrive):
            slots = self.handed_on.get(id(op.barrier.alloc))
        if slots is not None:
            state = self._fence(state, slots, out, op.span)
        elif named or isinstance(op, o.BarrierArrive):
            state = self._fence_reads(state, out, op.span)
        if "threads" in does.awaits and not named:
            state = self._sync(state, out, op.span)
        out.append(op)
        return state

    def _seen(self, view: SharedView) -> Views:
        return NONE if id(view.alloc) in self.ignored else frozenset({view})

    def _unfenced(self, op: o.AnyOp, touch: Touch, state: SyncState) -> SyncState:
        if not self.asynchronous.follow(op, touch):
            return state
        if touch.over == "cp_async_group":
            return replace(state, copied=state.copied | {touch})
        return replace(state, unfenced=state.unfenced | {touch})

    def _fence(
        self, state: SyncState, handed_on: set[int], out: list[o.AnyOp], span: Span
    ) -> SyncState:
        """What is handed on now is fenced, and with it all else."""
        bare = [t for t in state.unfenced if id(t.view.alloc) in handed_on]
        if not bare:
            return state
        note = (
            "ordinary writes become visible to TMA and wgmma"
            if any(t.write for t in bare)
            else "ordinary reads come before what TMA writes there next"
        )
        out.append(o.Fence(kind="proxy.async", span=span, note=note))
        return replace(state, unfenced=frozenset())

    def _fence_reads(
        self, state: SyncState, out: list[o.AnyOp], span: Span
    ) -> SyncState:
        """What was read before an author's own arrival is fenced."""
        read = {id(t.view.alloc) for t in state.unfenced if not t.write}
        written = {id(t.view.alloc) for t in state.unfenced if t.write}
        return self._fence(state, read - written, out, span)

    def _sync(self, state: SyncState, out: list[o.AnyOp], span: Span) -> SyncState:
        """Effect of a sync, with the fence it needs inserted before it."""
        touched = {id(t.view.alloc) for t in state.unfenced}
        state = self._fence(state, touched - self.ignored, out, span)
        return replace(state, written=NONE, read=NONE)

    def _insert_sync(
        self,
        state: SyncState,
        out: list[o.AnyOp],
        span: Span,
        why: str,
        cluster: bool = False,
    ) -> SyncState:
        state = self._sync(state, out, span)
        if cluster:
            out.append(o.ClusterSync(span=span, note=why))
        else:
            out.append(o.Sync(threads=0, span=span, note=why))
        return state

    def _before_write(
        self,
        view: SharedView,
        state: SyncState,
        out: list[o.AnyOp],
        span: Span,
        cluster: bool = False,
    ) -> SyncState:
        """``cluster``: the write reaches the same buffer of all blocks of a cluster."""
        if id(view.alloc) in self.ignored:
            return state
        name = view.alloc.name
        if any_meets(view, state.open):
            state = self._commit(state, out, span)
        meets = [i for i, s in enumerate(state.stores) if any_meets(view, s)]
        if meets:
            pending = len(state.stores) - 1 - meets[-1]
            note = f"TMA has read {name}, which is overwritten next"
            out.append(o.CopyOutWait(pending=pending, read=True, span=span, note=note))
            state = stores_done(state, pending)
        for views, verb in ((state.read, "read"), (state.written, "written")):
            if any_meets(view, views):
                why = f"all threads have {verb} {name}, which is overwritten next"
                return self._insert_sync(state, out, span, why, cluster)
        return state

    def _before_read(
        self, view: SharedView, state: SyncState, out: list[o.AnyOp], span: Span
    ) -> SyncState:
        if not any_meets(view, state.written):
            return state
        why = f"all threads have written {view.alloc.name}, which is read next"
        return self._insert_sync(state, out, span, why)

    def _commit(self, state: SyncState, out: list[o.AnyOp], span: Span) -> SyncState:
        out.append(o.CopyOutCommit(span=span, note="closes the stores issued so far"))
        return committed(state)

    def _complete(
        self, state: SyncState, out: list[o.AnyOp], span: Span, note: str
    ) -> SyncState:
        """Wait until all stores have read shared memory."""
        if state.open:
            state = self._commit(state, out, span)
        if not state.stores:
            return state
        out.append(o.CopyOutWait(pending=0, read=True, span=span, note=note))
        return stores_done(state, 0)


def _ordered_elsewhere(op: o.AnyOp, touch: Touch) -> bool:
    """Whether readers of a write wait for it: in a ring, or at an mbarrier."""
    ring = isinstance(op, o.CopyAsync) and op.ring is not None
    return ring or touch.over == "mbarrier"
