"""Which scalars of a group differ by constants: ring counters, and copies of them.

Loops carry counters that move together (the fill and the drain of one ring, a slot and
the slot before it). At each loop the walk assumes that carried scalars keep the
differences they enter with, runs the body, and drops what the body does not preserve.
Nothing else is known of a carried scalar. Names are unique in a program, so what is
found holds wherever both scalars are in scope.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary

Linear = dict[Expr | None, int]
"""Sum of coefficient * atom; the key None holds the constant."""


def add(a: Linear, b: Linear, sign: int = 1) -> Linear:
    """``a + sign * b``."""
    result = dict(a)
    for key, value in b.items():
        result[key] = result.get(key, 0) + sign * value
    return {k: v for k, v in result.items() if v or k is None}


def constant(a: Linear) -> int | None:
    """The value of a sum without atoms, else None."""
    return a.get(None, 0) if all(k is None for k in a) else None


def expression(a: Linear) -> Expr | None:
    """The sum as an expression, or None when an atom is not a scalar of the program."""
    total: Expr = Const(a.get(None, 0))
    for atom, factor in a.items():
        if atom is None:
            continue
        if isinstance(atom, Sym) and atom.name.startswith(UNKNOWN):
            return None
        total = binary("+", binary("*", atom, factor), total)
    return total


UNKNOWN = "?"
"""How names of atoms begin that stand for a number nobody knows."""


class Relations:
    """Walks a group; afterwards (and meanwhile) compares scalars."""

    def __init__(self) -> None:
        self.known: dict[str, Linear] = {}

    def linear(self, e: Expr) -> Linear:
        """``e`` as a sum over atoms, with what is known of symbols put in."""
        match e:
            case Const(value=v) if isinstance(v, int):
                return {None: int(v)}
            case Sym(name=n) if n in self.known:
                return dict(self.known[n])
            case Binary(op="+", left=a, right=b):
                return add(self.linear(a), self.linear(b))
            case Binary(op="-", left=a, right=b):
                return add(self.linear(a), self.linear(b), -1)
            case Const() | Sym() | Binary() | Select():
                return {e: 1, None: 0}
            case _:
                assert_never(e)

    def difference(self, a: Expr, b: Expr) -> int | None:
        """``a - b`` where it is a known constant."""
        return constant(add(self.linear(a), self.linear(b), -1))

    def run(self, block: o.Block) -> None:
        """Walk a block."""
        for op in block.ops:
            self.step(op)

    def step(self, op: o.AnyOp) -> None:
        """Walk one operation."""
        match op:
            case o.Let():
                self.known[op.sym.name] = self.linear(op.value)
            case o.For():
                self.loop(op)
            case o.If():
                self.run(op.then)
                self.run(op.other)
            case (
                o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def loop(self, op: o.For) -> None:
        """Walk a loop until what it is assumed to keep is what it keeps."""
        carries = op.scalars
        inits = [self.linear(c.init) for c in carries]
        kept = {
            (i, j): d
            for i in range(len(carries))
            for j in range(i)
            if (d := constant(add(inits[i], inits[j], -1))) is not None
        }
        while True:
            self._relate([c.arg for c in carries], kept)
            self.body(op)
            yields = [self.linear(c.yielded) for c in carries]
            broken = [
                (i, j)
                for (i, j), d in kept.items()
                if constant(add(yields[i], yields[j], -1)) != d
            ]
            if not broken:
                break
            for pair in broken:
                del kept[pair]
        self._relate([c.result for c in carries], kept)

    def body(self, op: o.For) -> None:
        """Walk the body of a loop under the present assumptions."""
        self.run(op.body)

    def _relate(self, names: list[Sym], kept: dict[tuple[int, int], int]) -> None:
        """Each scalar in terms of the first that it keeps its distance from."""
        for i, sym in enumerate(names):
            self.known.pop(sym.name, None)
            base = next((j for j in range(i) if (i, j) in kept), None)
            if base is not None:
                offset: Linear = {None: kept[i, base]}
                self.known[sym.name] = add(self.linear(names[base]), offset)
