"""How many fills of a ring may be in flight at a drain, within one group.

A drain of fill n, when F fills have been issued, may leave F - n - 1 cp.async groups
pending. F and n are counters carried by loops; their difference is constant when every
loop body fills as often as it drains.
"""

from argus.ir import ops as o
from argus.ir.expr import Sym
from argus.ir.memory import Ring
from argus.ir.walk import walk
from argus.lower.affine import Linear, Relations, add, constant


def pending_fills(block: o.Block, ring: Ring) -> dict[int, int]:
    """For each RingWait of ``ring`` (by id), the fills issued after the one it names.

    A wait whose number is not shown to be constant is left out: it waits for all.
    """
    walker = _Walker(ring)
    walker.run(block)
    return walker.found


class _Walker(Relations):
    def __init__(self, ring: Ring) -> None:
        super().__init__()
        self.ring = ring
        self.filled: Linear = {None: 0}
        """Fills issued so far."""
        self.found: dict[int, int] = {}
        self._counter: Sym | None = None
        """The carry of the present loop that counts fills."""
        self._end: Linear = {None: 0}
        """Fills at the end of the present loop's body."""

    def step(self, op: o.AnyOp) -> None:
        """Count fills and drains on the way."""
        match op:
            case o.RingPublish() if op.ring is self.ring:
                self.filled = add(self.linear(op.n), {None: 1})
            case o.RingWait() if op.ring is self.ring:
                self._drain(op)
            case o.If():
                before = self.filled
                for inner in (op.then, op.other):
                    self.filled = before
                    self.run(inner)
                self.filled = _unknown(op) if self._fills(op) else before
            case _:
                super().step(op)

    def _fills(self, op: o.For | o.If) -> bool:
        blocks = (op.body,) if isinstance(op, o.For) else (op.then, op.other)
        return any(
            isinstance(x, o.RingPublish) and x.ring is self.ring
            for block in blocks
            for x in walk(block)
        )

    def _drain(self, op: o.RingWait) -> None:
        ahead = constant(add(self.filled, self.linear(op.n), -1))
        if ahead is not None and ahead >= 1:
            self.found[id(op)] = ahead - 1
        else:
            self.found.pop(id(op), None)

    def loop(self, op: o.For) -> None:
        """The carry that enters with the number of fills is that number throughout."""
        if not self._fills(op):
            super().loop(op)
            return
        entry = self.filled
        counter = next(
            (
                c
                for c in op.scalars
                if constant(add(entry, self.linear(c.init), -1)) == 0
            ),
            None,
        )
        self._counter = None if counter is None else counter.arg
        super().loop(op)
        if counter is not None:
            end = add(self._end, self.linear(counter.yielded), -1)
            if constant(end) != 0:
                counter = self._counter = None
                self.filled = entry
                super().loop(op)
        self.filled = _unknown(op) if counter is None else self.linear(counter.result)

    def body(self, op: o.For) -> None:
        """Begin with the number of fills at the head."""
        if self._fills(op):
            counter = self._counter
            self.filled = _unknown(op) if counter is None else self.linear(counter)
            super().body(op)
            self._counter, self._end = counter, self.filled
        else:
            super().body(op)


def _unknown(op: o.AnyOp) -> Linear:
    return {Sym(f"fills after {id(op)}", "let"): 1, None: 0}
