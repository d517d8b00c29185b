"""Pass: close wgmma groups, and wait for them as late as correctness allows.

Each dot on wgmma becomes its own group (WgmmaCommit behind it). A WgmmaWait is inserted
before the first operation that reads or overwrites a result, before the release of a
ring slot that a group still reads, before ordinary writes to a buffer it reads, and at
the end of the group's program. It leaves in flight all groups committed later.
Consecutive dots on one accumulator need no wait between them (PTX ISA, wgmma: accesses
to the same accumulator by wgmma of the same shape are in order).

The groups in flight at the head of a loop are those of the entry joined with those of
the back edge; the analysis runs each body until that is stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Binary, Expr
from argus.ir.memory import SharedView
from argus.ir.placement import WgmmaPlan
from argus.ir.program import Program
from argus.ir.walk import used
from argus.lower.groups import groups

_Slot = tuple[int, Expr]
"""A buffer (by id) and the stage expression that is read."""


@dataclass(frozen=True)
class _Group:
    """One committed wgmma group: results not readable yet, slots still read."""

    tiles: frozenset[int]
    slots: frozenset[_Slot]


_State = tuple[_Group, ...]
"""Groups in flight, oldest first."""
_MOST = 8


def insert_wgmma_waits(program: Program) -> None:
    """Insert WgmmaCommit and WgmmaWait in every group of the program."""
    for group in groups(program):
        _Walker().run(group.block, group.span)


class _Walker:
    def __init__(self) -> None:
        self.tiles: dict[int, o.Tile] = {}

    def run(self, block: o.Block, span: Span) -> None:
        state, ops = self._run(block, ())
        if state:
            self._wait(state, len(state) - 1, ops, span, "before the role ends")
        block.ops = ops

    def _run(self, block: o.Block, state: _State) -> tuple[_State, list[o.AnyOp]]:
        """State after the block, and the block's operations with waits inserted."""
        out: list[o.AnyOp] = []
        for op in block.ops:
            match op:
                case o.Roles():
                    out.append(op)
                case o.For():
                    state = self._loop(op, state, out)
                case o.If():
                    state = self._branch(op, state, out)
                case o.Dot(plan=WgmmaPlan()):
                    state = self._dot(op, state, out)
                case o.WgmmaCommit():
                    pass
                case o.WgmmaWait():
                    position = len(state) - 1 - op.pending
                    if position >= 0:
                        state = self._wait(
                            state, position, out, op.span, op.note or "as written"
                        )
                case _:
                    state = self._before(op, state, out)
                    out.append(op)
        return state, out

    def _before(self, op: o.AnyOp, state: _State, out: list[o.AnyOp]) -> _State:
        """Insert the wait that ``op`` needs."""
        if not state:
            return state
        ids = {t.id for t in used(op)}
        need, why = -1, ""
        for i, group in enumerate(state):
            if ids & group.tiles:
                need, why = i, "the result is read next"
            match op:
                case o.RingRelease():
                    stage = op.n % op.ring.stages
                    fields = op.ring.fields.values()
                    if group.slots & {(id(f), stage) for f in fields}:
                        need, why = i, "the slot must not be read any more"
                case o.StoreShared():
                    if any(s[0] == id(op.view.alloc) for s in group.slots):
                        need, why = i, "the buffer is overwritten next"
                case o.CopyAsync(ring=None):
                    if any(s[0] == id(op.dst.alloc) for s in group.slots):
                        need, why = i, "the buffer is overwritten next"
                case _:
                    pass
        return self._wait(state, need, out, op.span, why) if need >= 0 else state

    def _wait(
        self, state: _State, last: int, out: list[o.AnyOp], span: Span, why: str
    ) -> _State:
        """Wait for groups 0..last."""
        ids = sorted(i for g in state[: last + 1] for i in g.tiles)
        later = {i for g in state[last + 1 :] for i in g.tiles}
        tiles = tuple(self.tiles[i] for i in dict.fromkeys(ids) if i not in later)
        out.append(
            o.WgmmaWait(pending=len(state) - 1 - last, tiles=tiles, span=span, note=why)
        )
        return state[last + 1 :]

    def _dot(self, op: o.Dot, state: _State, out: list[o.AnyOp]) -> _State:
        """Issue: operands in registers and foreign accumulators must be complete."""
        acc = op.acc
        reads = {t.id for t in used(op)}
        chained = acc is not None and any(acc.id in g.tiles for g in state)
        if chained and acc is not None:
            reads.discard(acc.id)
        need = max((i for i, g in enumerate(state) if reads & g.tiles), default=-1)
        if need >= 0:
            state = self._wait(state, need, out, op.span, "an operand is its result")
        self.tiles[op.result.id] = op.result
        slots = frozenset(
            (id(v.alloc), v.stage) for v in (op.a, op.b) if isinstance(v, SharedView)
        )
        out.append(op)
        out.append(o.WgmmaCommit(span=op.span, note="one group per dot"))
        if chained and acc is not None:
            # The old name of the accumulator is gone: waiting for it means the newest.
            state = tuple(replace(g, tiles=g.tiles - {acc.id}) for g in state)
        state = (*state, _Group(frozenset({op.result.id}), slots))
        if len(state) > _MOST:
            state = self._wait(state, 0, out, op.span, f"at most {_MOST} in flight")
        return state

    def _loop(self, op: o.For, state: _State, out: list[o.AnyOp]) -> _State:
        # A carry in registers of its own is copied: its value must be there.
        copied = {c.init.id for c in op.tiles if not _shares(c.init, c.arg)}
        state = self._complete(copied, state, out, op.span)
        head = _rename(state, [(c.init, c.arg) for c in op.tiles], keep=True)
        for c in op.tiles:
            self.tiles[c.arg.id] = c.arg
            self.tiles[c.result.id] = c.result
        back = [(c.yielded, c.arg) for c in op.tiles]
        stages = [(c.yielded, c.arg) for c in op.scalars]
        copied = {c.yielded.id for c in op.tiles if not _shares(c.yielded, c.arg)}
        for _ in range(6):
            after, ops = self._run(op.body, head)
            after = self._complete(copied, after, ops, op.span)
            joined = _join(head, _restage(_rename(after, back), stages))
            if joined == head:
                break
            head = joined
        else:
            after, ops = self._run(op.body, head)
            if after:
                self._wait(after, len(after) - 1, ops, op.span, "the loop repeats")
            after = ()
        op.body.ops = ops
        out.append(op)
        left = _join(
            _rename(state, [(c.init, c.result) for c in op.tiles], keep=True),
            _restage(
                _rename(after, [(c.yielded, c.result) for c in op.tiles]),
                [(c.yielded, c.result) for c in op.scalars],
            ),
        )
        return left

    def _branch(self, op: o.If, state: _State, out: list[o.AnyOp]) -> _State:
        then, then_ops = self._run(op.then, state)
        other, other_ops = self._run(op.other, state)
        merged = {m.then.id for m in op.tiles}
        then = self._complete(merged, then, then_ops, op.span)
        merged = {m.other.id for m in op.tiles}
        other = self._complete(merged, other, other_ops, op.span)
        op.then.ops, op.other.ops = then_ops, other_ops
        out.append(op)
        return _join(then, other)

    def _complete(
        self, ids: set[int], state: _State, ops: list[o.AnyOp], span: Span
    ) -> _State:
        """Wait for the groups that compute any of these tiles."""
        need = max((i for i, g in enumerate(state) if ids & g.tiles), default=-1)
        if need < 0:
            return state
        return self._wait(state, need, ops, span, "the result is copied next")


def _shares(a: o.Tile, b: o.Tile) -> bool:
    """True when both names stand for the same registers."""
    return a.storage is not None and a.storage == b.storage


def _rename(
    state: _State, pairs: list[tuple[o.Tile, o.Tile]], *, keep: bool = False
) -> _State:
    """State with tiles renamed; names not carried disappear unless ``keep``."""
    table: dict[int, set[int]] = {}
    for old, new in pairs:
        table.setdefault(old.id, set()).add(new.id)
    result: list[_Group] = []
    for g in state:
        tiles = {n for t in g.tiles for n in table.get(t, set())}
        tiles |= {t for t in g.tiles if keep and t not in table}
        result.append(_Group(frozenset(tiles), g.slots))
    return tuple(result)


def _restage(state: _State, pairs: Sequence[tuple[Expr, Expr]]) -> _State:
    """Stage expressions across a back edge: yielded values become arguments."""

    def renamed(e: Expr) -> Expr:
        for old, new in pairs:
            if e == old:
                return new
        if isinstance(e, Binary):
            return Binary(e.op, renamed(e.left), renamed(e.right))
        return e

    return tuple(
        _Group(g.tiles, frozenset((b, renamed(e)) for b, e in g.slots)) for g in state
    )


def _join(a: _State, b: _State) -> _State:
    """Either state may hold: aligned at the newest group, joined group by group."""
    if len(a) < len(b):
        a, b = b, a
    extra = len(a) - len(b)
    joined = [
        _Group(x.tiles | y.tiles, x.slots | y.slots)
        for x, y in zip(a[extra:], b, strict=True)
    ]
    return (*a[:extra], *joined)
