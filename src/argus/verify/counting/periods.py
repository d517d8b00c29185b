"""Which periods the scalars of a program may have: constants that they meet.

A scalar that is turned asks at some point whether it is S or S - 1, is divided by S, or
taken from S - 1. Whether it has the period is for the proof to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argus.ir.expr import Binary, Const, Expr, Select, Sym, symbols
from argus.verify.counting.positions import LONGEST

__all__ = ["Periods"]

_COMPARED = ("==", "!=", "<", "<=", ">", ">=", "^")


class Periods:
    """Periods of what the loops of a program carry, found when first asked for.

    ``made``: what scalars are made of, with what chooses between branches.
    """

    def __init__(self, made: Mapping[str, tuple[Expr, ...]]) -> None:
        self._made = made
        self._known: dict[str, tuple[int, ...]] = {}

    def of(self, carried: Sym) -> tuple[int, ...]:
        """Candidates for a scalar; none for one that nothing turns back."""
        name = carried.name
        if name not in self._known:
            self._known[name] = tuple(sorted(self._found(name)))
        return self._known[name]

    def _found(self, name: str) -> set[int]:
        seen = {name}
        todo = [name]
        found: set[int] = set()
        turned = False
        while todo:
            for e in self._made.get(todo.pop(), ()):
                turned = turned or _turns(e)
                found |= {n for n in _constants(e) if 1 < n <= LONGEST}
                for sym in symbols(e):
                    if sym.name not in seen:
                        seen.add(sym.name)
                        todo.append(sym.name)
        return found if turned else set()


def _turns(e: Expr) -> bool:
    """Whether more is done than adding."""
    match e:
        case Const() | Sym():
            return False
        case Binary(op="+", left=a, right=b):
            return _turns(a) or _turns(b)
        case Binary() | Select():
            return True


def _constants(e: Expr) -> Iterator[int]:
    match e:
        case Const() | Sym():
            return
        case Binary(op=op, left=a, right=b):
            for side in (a, b):
                yield from _constants(side)
                if isinstance(side, Const) and isinstance(side.value, int):
                    if op in _COMPARED or (op == "-" and side is a):
                        yield from (side.value, side.value + 1)
                    elif op == "%":
                        yield side.value
        case Select(cond=cond, then=a, other=b):
            for part in (cond, a, b):
                yield from _constants(part)
