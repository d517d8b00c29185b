"""How many fills of a ring may be in flight at a drain, within one group.

A drain of fill n, when F fills have been issued, may leave F - n - 1 cp.async groups
pending. F and n are counters carried by loops; their difference is constant when every
loop body fills as often as it drains. Branches that fill differently carry the number
as a scalar, too; where no scalar is the number, it is unknown.
"""

from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Expr, Sym
from argus.ir.memory import Ring
from argus.ir.walk import walk
from argus.lower.affine import UNKNOWN, Linear, Relations, add, constant

Kind = type[o.RingPublish] | type[o.RingWait]


def pending_fills(block: o.Block, ring: Ring) -> dict[int, int]:
    """For each RingWait of ``ring`` (by id), the fills issued after the one it names.

    A wait whose number is not shown to be constant is left out: it waits for all.
    """
    walker = _Walker(ring, o.RingPublish)
    walker.run(block)
    return walker.found


def operations(block: o.Block, ring: Ring, kind: Kind) -> Linear:
    """How many fills (RingPublish) or drains (RingWait) a whole group makes."""
    walker = _Walker(ring, kind)
    walker.run(block)
    return walker.count


class _Walker(Relations):
    def __init__(self, ring: Ring, kind: Kind) -> None:
        super().__init__()
        self.ring = ring
        self.kind = kind
        self.count: Linear = {None: 0}
        """Operations of the kind so far."""
        self.found: dict[int, int] = {}
        self._counter: Sym | None = None
        """The carry of the present loop that counts them."""
        self._end: Linear = {None: 0}
        """Their number at the end of the present loop's body."""

    def step(self, op: o.AnyOp) -> None:
        """Count fills and drains on the way."""
        match op:
            case o.RingPublish() | o.RingWait() if op.ring is self.ring:
                if isinstance(op, o.RingWait):
                    self._drain(op)
                if isinstance(op, self.kind):
                    self.count = add(self.linear(op.n), {None: 1})
            case o.If():
                self._branch(op)
            case (
                o.For() | o.Roles() | o.Binding() | o.RegisterOp() | o.Dot()
                | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                super().step(op)
            case _:
                assert_never(op)

    def _counts(self, op: o.For | o.If) -> bool:
        blocks = (op.body,) if isinstance(op, o.For) else (op.then, op.other)
        return any(
            isinstance(x, self.kind) and x.ring is self.ring
            for block in blocks
            for x in walk(block)
        )

    def _drain(self, op: o.RingWait) -> None:
        ahead = constant(add(self.count, self.linear(op.n), -1))
        if ahead is not None and ahead >= 1:
            self.found[id(op)] = ahead - 1
        else:
            self.found.pop(id(op), None)

    def _is_count(self, count: Linear, e: Expr) -> bool:
        return constant(add(count, self.linear(e), -1)) == 0

    def _branch(self, op: o.If) -> None:
        before = self.count
        self.run(op.then)
        then, self.count = self.count, before
        self.run(op.other)
        other, self.count = self.count, before
        if not self._counts(op):
            return
        merged = (
            m.result
            for m in op.scalars
            if self._is_count(then, m.then) and self._is_count(other, m.other)
        )
        name = next(merged, None)
        self.count = _unknown(op) if name is None else self.linear(name)

    def loop(self, op: o.For) -> None:
        """The carry that enters and goes on with the number is that number."""
        if not self._counts(op):
            super().loop(op)
            return
        entry = self.count
        for carry in (*op.scalars, None):
            if carry is not None and not self._is_count(entry, carry.init):
                continue
            self._counter = None if carry is None else carry.arg
            super().loop(op)
            if carry is None:
                self.count = _unknown(op)
            elif self._is_count(self._end, carry.yielded):
                self.count = self.linear(carry.result)
                return

    def body(self, op: o.For) -> None:
        """Begin with the number at the head."""
        if not self._counts(op):
            super().body(op)
            return
        counter = self._counter
        self.count = _unknown(op) if counter is None else self.linear(counter)
        super().body(op)
        self._counter, self._end = counter, self.count


def _unknown(op: o.AnyOp) -> Linear:
    return {Sym(f"{UNKNOWN}{id(op)}", "let"): 1, None: 0}
