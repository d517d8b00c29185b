"""How many fills of a ring may be in flight at a drain, within one group.

A drain of fill n, when F fills have been issued, may leave F - n - 1 cp.async groups
pending. F and n are counters carried by loops; their difference is constant when every
loop body fills as often as it drains. It is found by assuming, at each loop, that
carried scalars keep the differences they enter with, and checking that one pass through
the body preserves them.
"""

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Sym
from argus.ir.memory import Ring
from argus.ir.walk import walk

Linear = dict[Expr | None, int]
"""Sum of coefficient * atom; the key None holds the constant."""


def pending_fills(block: o.Block, ring: Ring) -> dict[int, int]:
    """For each RingWait of ``ring`` (by id), the fills issued after the one it names.

    A wait whose number is not shown to be constant is left out: it waits for all.
    """
    walker = _Walker(ring)
    walker.run(block)
    return walker.found


class _Walker:
    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.known: dict[str, Linear] = {}
        self.filled: Linear = {None: 0}
        """Fills issued so far."""
        self.found: dict[int, int] = {}

    def linear(self, e: Expr) -> Linear:
        """``e`` as a sum over atoms, with what is known of symbols put in."""
        match e:
            case Const(value=v) if isinstance(v, int):
                return {None: int(v)}
            case Sym(name=n) if n in self.known:
                return dict(self.known[n])
            case Binary(op="+", left=a, right=b):
                return _add(self.linear(a), self.linear(b), 1)
            case Binary(op="-", left=a, right=b):
                return _add(self.linear(a), self.linear(b), -1)
            case _:
                return {e: 1, None: 0}

    def run(self, block: o.Block) -> None:
        for op in block.ops:
            match op:
                case o.Let():
                    self.known[op.sym.name] = self.linear(op.value)
                case o.RingPublish() if op.ring is self.ring:
                    self.filled = _add(self.linear(op.n), {None: 1}, 1)
                case o.RingWait() if op.ring is self.ring:
                    self._drain(op)
                case o.For():
                    self._loop(op)
                case o.If():
                    self._branch(op)
                case _:
                    pass

    def _drain(self, op: o.RingWait) -> None:
        ahead = _constant(_add(self.filled, self.linear(op.n), -1))
        if ahead is not None and ahead >= 1:
            self.found[id(op)] = ahead - 1
        else:
            self.found.pop(id(op), None)

    def _branch(self, op: o.If) -> None:
        before = dict(self.filled)
        fills = any(
            isinstance(x, o.RingPublish) and x.ring is self.ring
            for b in (op.then, op.other)
            for x in walk(b)
        )
        for inner in (op.then, op.other):
            self.filled = dict(before)
            self.run(inner)
        self.filled = {Sym(f"unknown{id(op)}", "let"): 1, None: 0} if fills else before

    def _loop(self, op: o.For) -> None:
        """Assume the entry differences between carried scalars; keep what holds."""
        carries = list(op.scalars)
        inits = [self.linear(c.init) for c in carries]
        fills = any(
            isinstance(x, o.RingPublish) and x.ring is self.ring for x in walk(op.body)
        )
        entry = dict(self.filled)
        related = set(range(1, len(carries)))
        while True:
            for i, c in enumerate(carries):
                self.known.pop(c.arg.name, None)
                difference = _constant(_add(inits[i], inits[0], -1))
                if i in related and difference is not None:
                    self.known[c.arg.name] = {carries[0].arg: 1, None: difference}
            self.filled = self._entering(op, carries, inits, entry) if fills else entry
            self.run(op.body)
            yields = [self.linear(c.yielded) for c in carries]
            broken = {
                i
                for i in related
                if _constant(_add(yields[i], yields[0], -1))
                != _constant(_add(inits[i], inits[0], -1))
            }
            if not broken:
                break
            related -= broken
        for i in related:
            difference = _constant(_add(inits[i], inits[0], -1))
            if difference is not None:
                name = carries[i].result.name
                self.known[name] = {carries[0].result: 1, None: difference}
        if fills:
            self.filled = self._leaving(carries, inits, entry)
        else:
            self.filled = entry

    def _entering(
        self,
        op: o.For,
        carries: list[o.ScalarCarry],
        inits: list[Linear],
        entry: Linear,
    ) -> Linear:
        """The fill count inside the loop: the carry that enters with it."""
        for c, init in zip(carries, inits, strict=True):
            if _constant(_add(entry, init, -1)) == 0:
                return self.linear(c.arg)
        return {Sym(f"unknown{id(op)}", "let"): 1, None: 0}

    def _leaving(
        self, carries: list[o.ScalarCarry], inits: list[Linear], entry: Linear
    ) -> Linear:
        for c, init in zip(carries, inits, strict=True):
            if _constant(_add(entry, init, -1)) == 0:
                return self.linear(c.result)
        return {Sym("unknown_after", "let"): 1, None: 0}


def _add(a: Linear, b: Linear, sign: int) -> Linear:
    result = dict(a)
    for key, value in b.items():
        result[key] = result.get(key, 0) + sign * value
    return {k: v for k, v in result.items() if v or k is None}


def _constant(a: Linear) -> int | None:
    return a.get(None, 0) if all(k is None for k in a) else None
