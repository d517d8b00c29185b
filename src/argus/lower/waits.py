"""Pass: close wgmma groups, and wait for them as late as correctness allows.

Each dot on wgmma becomes its own group (WgmmaCommit behind it). A WgmmaWait is inserted
before the first operation that reads or overwrites a result or a register operand,
before the release of a ring slot that a group still reads, before other writes to a
buffer it reads, and at the end of the group's program. It leaves in flight all groups
committed later. Consecutive dots on one accumulator need no wait between them (PTX ISA,
wgmma: accesses to the same accumulator by wgmma of the same shape are in order).

The groups in flight at the head of a loop are those of the entry joined with those of
the back edge; the analysis runs each body, as it was before the pass, until that is
stable. What a group is, and what it becomes where control flow meets, is in
:mod:`argus.lower.in_flight`.
"""

from __future__ import annotations

from typing import assert_never

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.memory import Ring
from argus.ir.program import Program
from argus.ir.walk import defined, used
from argus.isa.effects import effects_of
from argus.lower.affine import Relations
from argus.lower.groups import groups
from argus.lower.in_flight import (
    InFlight,
    Slot,
    State,
    any_stage,
    join,
    rename,
    restage,
    results,
)

_MOST = 8
"""Most groups in flight."""
_ITERATIONS = 16
"""After so many iterations of a loop's analysis, slots are no longer told apart."""


def insert_wgmma_waits(program: Program) -> None:
    """Insert WgmmaCommit and WgmmaWait in every group of the program."""
    for group in groups(program):
        relations = Relations()
        relations.run(group.block)
        _Walker(relations).run(group.block, group.span)


class _Walker:
    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        self.tiles: dict[int, o.Tile] = {}
        self.source: dict[int, list[o.AnyOp]] = {}
        """Operations of each block before the pass, by its id."""

    def run(self, block: o.Block, span: Span) -> None:
        state, ops = self._run(block, ())
        self._all(state, ops, span, "before the role ends")
        block.ops = ops

    def _run(self, block: o.Block, state: State) -> tuple[State, list[o.AnyOp]]:
        """State after the block, and the block's operations with waits inserted."""
        out: list[o.AnyOp] = []
        for op in self.source.setdefault(id(block), block.ops):
            match op:
                case o.Roles():
                    state = self._all(state, out, op.span, "before the roles begin")
                    out.append(op)
                case o.For():
                    state = self._loop(op, state, out)
                case o.If():
                    state = self._branch(op, state, out)
                case o.Dot() if effects_of(op).completes == "wgmma_group":
                    state = self._dot(op, state, out)
                case o.WgmmaWait():
                    position = len(state) - 1 - op.pending
                    if position >= 0:
                        why = op.note or "as written"
                        state = self._wait(state, position, out, op.span, why)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Commit() | o.CopyOutWait() | o.CpAsyncWait() | o.BarrierOp()
                    | o.Sync() | o.ClusterSync() | o.Fence() | o.SetMaxRegisters()
                    | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    state = self._before(op, state, out)
                    out.append(op)
                case _:
                    assert_never(op)
        return state, out

    # -- what needs a wait

    def _before(self, op: o.AnyOp, state: State, out: list[o.AnyOp]) -> State:
        """Insert the wait that ``op`` needs."""
        need, why = -1, ""
        for i, group in enumerate(state):
            reason = self._conflict(op, group)
            if reason is not None:
                need, why = i, reason
        return self._wait(state, need, out, op.span, why) if need >= 0 else state

    def _conflict(self, op: o.AnyOp, group: InFlight) -> str | None:
        """Why ``op`` may not run while ``group`` is in flight, or None."""
        if any(t.id in group.tiles for t in used(op)):
            return "the result is read next"
        for made in defined(op):
            if self._overwrites(made, group):
                return "registers in use are written next"
        match op:
            case o.RingRelease():
                fields = {id(f) for f in op.ring.fields.values()}
                if any(
                    s.buffer in fields and self._same(s, op.ring.stages, op)
                    for s in group.slots
                ):
                    return "the slot must not be read any more"
            case o.CopyAsync(ring=Ring()):
                pass  # its fill waits until the slot has been released
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingAcquire() | o.RingPublish()
                | o.RingWait() | o.Annotation()
            ):  # fmt: skip
                written = {id(t.view.alloc) for t in effects_of(op).writes}
                if any(s.buffer in written for s in group.slots):
                    return "the buffer is overwritten next"
            case _:
                assert_never(op)
        return None

    def _overwrites(self, made: o.Tile, group: InFlight) -> bool:
        if made.id in group.operands:
            return True
        return any(shares(made, self.tiles[t]) for t in (*group.tiles, *group.operands))

    def _same(self, slot: Slot, stages: int, op: o.RingRelease) -> bool:
        """True unless the slot is shown to be another than the one released."""
        if slot.number is None or stages == 1:
            return True
        apart = self.relations.difference(slot.number, op.n)
        return apart is None or apart % stages == 0

    # -- waiting

    def _wait(
        self, state: State, last: int, out: list[o.AnyOp], span: Span, why: str
    ) -> State:
        """Wait for groups 0..last."""
        ids = sorted({i for g in state[: last + 1] for i in g.tiles})
        later = {i for g in state[last + 1 :] for i in g.tiles}
        tiles = tuple(self.tiles[i] for i in ids if i not in later)
        out.append(
            o.WgmmaWait(pending=len(state) - 1 - last, tiles=tiles, span=span, note=why)
        )
        return state[last + 1 :]

    def _all(self, state: State, ops: list[o.AnyOp], span: Span, why: str) -> State:
        """Wait for everything."""
        return self._wait(state, len(state) - 1, ops, span, why) if state else state

    def _complete(
        self, ids: set[int], state: State, ops: list[o.AnyOp], span: Span
    ) -> State:
        """Wait for the groups that compute any of these tiles."""
        need = max((i for i, g in enumerate(state) if ids & g.tiles), default=-1)
        if need < 0:
            return state
        return self._wait(state, need, ops, span, "the result is copied next")

    # -- operations

    def _dot(self, op: o.Dot, state: State, out: list[o.AnyOp]) -> State:
        """Issue: operands in registers and foreign accumulators must be complete."""
        acc = op.acc
        reads = {t.id for t in used(op)}
        chained = acc is not None and shares(acc, op.result)
        if chained and acc is not None:
            reads.discard(acc.id)
        need = max(
            (
                i
                for i, g in enumerate(state)
                if reads & g.tiles or self._foreign(op, acc if chained else None, g)
            ),
            default=-1,
        )
        if need >= 0:
            state = self._wait(state, need, out, op.span, "an operand is its result")
        does = effects_of(op)
        for tile in (*does.results, *does.sources):
            self.tiles[tile.id] = tile
        made = frozenset(t.id for t in does.results)
        operands = frozenset(t.id for t in does.sources)
        slots = frozenset(Slot.of(t.view) for t in does.reads)
        out.append(op)
        out.append(o.WgmmaCommit(span=op.span, note="one group per dot"))
        if chained and acc is not None:
            # The old name of the accumulator is gone: waiting for it means the newest.
            state = tuple(g.without(acc.id) for g in state)
        state = (*state, InFlight(made, operands, slots))
        if len(state) > _MOST:
            state = self._wait(state, 0, out, op.span, f"at most {_MOST} in flight")
        return state

    def _foreign(self, op: o.Dot, acc: o.Tile | None, group: InFlight) -> bool:
        """True when the dot writes registers that another product in flight uses."""
        results = group.tiles - ({acc.id} if acc is not None else set())
        return op.result.id in group.operands or any(
            shares(op.result, self.tiles[t]) for t in (*results, *group.operands)
        )

    def _loop(self, op: o.For, state: State, out: list[o.AnyOp]) -> State:
        # A carry in registers of its own is copied: its value must be there.
        copied = {c.init.id for c in op.tiles if not shares(c.init, c.arg)}
        state = self._complete(copied, state, out, op.span)
        outer = results(state)
        entry = [(c.init, c.arg) for c in op.tiles]
        head = rename(state, entry, outer)
        for c in op.tiles:
            self.tiles[c.arg.id] = c.arg
            self.tiles[c.result.id] = c.result
        back = [(c.yielded, c.arg) for c in op.tiles]
        copied = {c.yielded.id for c in op.tiles if not shares(c.yielded, c.arg)}
        iterations = 0
        while True:
            after, ops = self._run(op.body, head)
            after = self._complete(copied, after, ops, op.span)
            around = restage(
                rename(after, back, outer), op, [c.arg for c in op.scalars]
            )
            iterations += 1
            if iterations > _ITERATIONS:
                around = any_stage(around)
            joined = join(head, around)
            if joined == head:
                break
            head = joined
        op.body.ops = ops
        out.append(op)
        leave = [(c.yielded, c.result) for c in op.tiles]
        return join(
            rename(state, [(c.init, c.result) for c in op.tiles], outer),
            restage(rename(after, leave, outer), op, [c.result for c in op.scalars]),
        )

    def _branch(self, op: o.If, state: State, out: list[o.AnyOp]) -> State:
        ends: list[State] = []
        for block, merged in (
            (op.then, {m.then.id for m in op.tiles}),
            (op.other, {m.other.id for m in op.tiles}),
        ):
            after, ops = self._run(block, state)
            after = self._complete(merged, after, ops, op.span)
            # What only the branch names, nobody reads after it.
            ends.append(rename(after, [], results(state)))
            block.ops = ops
        out.append(op)
        return join(*ends)


def shares(a: o.Tile, b: o.Tile) -> bool:
    """True when both names stand for the same registers."""
    return a is b or (a.storage is not None and a.storage == b.storage)
