"""Pass: syncs, proxy fences and store waits that shared memory needs within a group.

Buffers synchronised between roles by barriers are not looked at here. For all others,
in each group: a read after other threads' writes, and a write after other threads'
reads, needs a sync between them; writes that TMA or wgmma will read need
``fence.proxy.async`` before that sync; a buffer that a TMA store still reads may be
written only after the store's group has been waited for. An author's own syncs and
fences count, so what is inserted is only what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.memory import SharedView
from argus.ir.placement import WgmmaPlan
from argus.ir.program import Program
from argus.lower.groups import groups, walk_group

_Buffers = frozenset[int]
_NONE: _Buffers = frozenset()


@dataclass(frozen=True)
class _State:
    """Buffers by id. ``stores``: groups of TMA stores in flight, oldest first."""

    written: _Buffers = _NONE
    read: _Buffers = _NONE
    unfenced: _Buffers = _NONE
    stores: tuple[_Buffers, ...] = ()

    def join(self, other: _State) -> _State:
        a, b = self.stores, other.stores
        if len(a) < len(b):
            a, b = b, a
        extra = len(a) - len(b)
        both = (x | y for x, y in zip(a[extra:], b, strict=True))
        return _State(
            self.written | other.written,
            self.read | other.read,
            self.unfenced | other.unfenced,
            (*a[:extra], *both),
        )


def insert_syncs(program: Program) -> None:
    """Insert Sync, Fence and CopyOutWait; end clusters together."""
    between_roles = frozenset(
        id(field)
        for ring in program.rings
        if ring.empty is not None
        for field in ring.fields.values()
    )
    found = groups(program)
    asynchronous = frozenset(
        id(v.alloc)
        for g in found
        for op in walk_group(g.block)
        for v in _async_reads(op)
    )
    for group in found:
        pass_ = _Pass(between_roles, asynchronous)
        state, ops = pass_.run(group.block, _State())
        ends = group.role is not None or len(found) == 1
        if state.stores:
            note = "shared memory must outlive the stores that read it"
            ops.append(o.CopyOutWait(pending=0, read=True, span=group.span, note=note))
        if program.cluster > 1 and ends:
            note = "no block leaves while others may still reach its memory"
            ops.append(o.ClusterSync(span=group.span, note=note))
        group.block.ops = ops


def _async_reads(op: o.AnyOp) -> Iterable[SharedView]:
    """Shared views read through the asynchronous proxy."""
    match op:
        case o.CopyOut():
            yield op.src
        case o.Dot(plan=WgmmaPlan()):
            for x in (op.a, op.b):
                if isinstance(x, SharedView):
                    yield x
        case _:
            return


class _Pass:
    def __init__(self, ignored: _Buffers, asynchronous: _Buffers) -> None:
        self.ignored = ignored
        self.asynchronous = asynchronous

    def run(self, block: o.Block, state: _State) -> tuple[_State, list[o.AnyOp]]:
        out: list[o.AnyOp] = []
        for op in block.ops:
            match op:
                case o.For():
                    state = self._loop(op, state)
                    out.append(op)
                case o.If():
                    then, op.then.ops = self.run(op.then, state)
                    other, op.other.ops = self.run(op.other, state)
                    state = then.join(other)
                    out.append(op)
                case _:
                    state = self._step(op, state, out)
        return state, out

    def _loop(self, op: o.For, state: _State) -> _State:
        head = state
        original = op.body.ops
        while True:
            op.body.ops = original
            after, ops = self.run(op.body, head)
            joined = head.join(after)
            if joined == head or len(joined.stores) > 8:
                op.body.ops = ops
                return joined
            head = joined

    def _step(self, op: o.AnyOp, state: _State, out: list[o.AnyOp]) -> _State:
        match op:
            case o.StoreShared():
                state = self._before_write(op.view, state, out, op.span)
                buffer = self._buffer(op.view)
                state = replace(
                    state,
                    written=state.written | buffer,
                    unfenced=state.unfenced | buffer & self.asynchronous,
                )
            case o.CopyAsync():
                state = self._before_write(op.dst, state, out, op.span)
                if op.ring is None and op.via == "cp_async":
                    buffer = self._buffer(op.dst)
                    state = replace(
                        state,
                        written=state.written | buffer,
                        unfenced=state.unfenced | buffer & self.asynchronous,
                    )
            case o.LoadShared():
                state = self._before_read(op.view, state, out, op.span)
                state = replace(state, read=state.read | self._buffer(op.view))
            case o.Dot():
                for view in _async_reads(op):
                    state = self._before_read(view, state, out, op.span)
                    state = replace(state, read=state.read | self._buffer(view))
            case o.CopyOut():
                state = self._before_read(op.src, state, out, op.span)
                state = replace(state, stores=(*state.stores, self._buffer(op.src)))
            case o.CopyOutWait():
                state = _stores_done(state, op.pending)
            case o.Fence(kind="proxy.async"):
                state = replace(state, unfenced=_NONE)
            case o.Sync(arrive_only=False, name=None):
                state = self._sync(state, out, op.span)
            case _:
                pass
        out.append(op)
        return state

    def _buffer(self, view: SharedView) -> _Buffers:
        return frozenset({id(view.alloc)}) - self.ignored

    def _sync(self, state: _State, out: list[o.AnyOp], span: Span) -> _State:
        """Effect of a sync, with the fence it needs inserted before it."""
        if state.unfenced:
            note = "ordinary writes become visible to TMA and wgmma"
            out.append(o.Fence(kind="proxy.async", span=span, note=note))
        return _State(stores=state.stores)

    def _insert_sync(
        self, state: _State, out: list[o.AnyOp], span: Span, why: str
    ) -> _State:
        state = self._sync(state, out, span)
        out.append(o.Sync(threads=0, span=span, note=why))
        return state

    def _before_write(
        self, view: SharedView, state: _State, out: list[o.AnyOp], span: Span
    ) -> _State:
        buffer = self._buffer(view)
        name = view.alloc.name
        last = max((i for i, s in enumerate(state.stores) if buffer & s), default=-1)
        if last >= 0:
            pending = len(state.stores) - 1 - last
            note = f"TMA has read {name}, which is overwritten next"
            out.append(o.CopyOutWait(pending=pending, read=True, span=span, note=note))
            state = _stores_done(state, pending)
        if buffer & state.read:
            why = f"all threads have read {name}, which is overwritten next"
            state = self._insert_sync(state, out, span, why)
        return state

    def _before_read(
        self, view: SharedView, state: _State, out: list[o.AnyOp], span: Span
    ) -> _State:
        buffer = self._buffer(view)
        if not buffer & state.written:
            return state
        why = f"all threads have written {view.alloc.name}, which is read next"
        return self._insert_sync(state, out, span, why)


def _stores_done(state: _State, pending: int) -> _State:
    """Only ``pending`` store groups remain; the issuing thread knows, others do not."""
    keep = len(state.stores) - pending
    done = frozenset(b for s in state.stores[: max(keep, 0)] for b in s)
    return replace(state, stores=state.stores[max(keep, 0) :], read=state.read | done)


def number_syncs(program: Program) -> None:
    """Give every Sync its hardware barrier: 0 the block, then roles, then names.

    Raises ArgusError AG0507 for more than 16.
    """
    numbers: dict[str, int] = {}

    def number(key: str, span: Span) -> int:
        if key not in numbers:
            numbers[key] = len(numbers) + 1
            if numbers[key] > 15:
                raise fail(
                    "AG0507", span, "the kernel needs more than 16 named barriers"
                )
        return numbers[key]

    for group in groups(program):
        for op in walk_group(group.block):
            if not isinstance(op, o.Sync):
                continue
            if op.name is not None:
                op.barrier = number(f"named {op.name}", op.span)
            elif group.role is None:
                op.threads, op.barrier = group.threads, 0
            else:
                op.threads = group.threads
                op.barrier = number(f"role {group.name}", op.span)
