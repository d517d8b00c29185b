"""What becomes of an exponential that may overflow.

That exp(x) is too large where x is says nothing yet: 1 / (1 + exp(-x)) is 0 then, as it
should be. Wrong is what makes a number that should be finite into none: infinity
divided by infinity, or the logarithm of infinity. So each tile has the exponentials of
which it may be infinite, and those of whose infinity it is the inverse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from argus.ir import ops as o
from argus.ir.functions import FUNCTIONS
from argus.ir.program import Program
from argus.ir.tile_facts import FactDomain, walked

__all__ = ["Misuse", "misused"]

_Ops = frozenset[o.Elementwise]
_NONE: _Ops = frozenset()


@dataclass(frozen=True)
class Misuse:
    """An exponential, and the operation that makes its infinity no number."""

    exponential: o.Elementwise
    use: o.Elementwise


@dataclass(frozen=True)
class _Taint:
    """Exponentials of which a tile may be infinite, or the inverse of infinity.

    ``broken``: what makes it no number. ``data``: it depends on elements of tensors,
    so that a choice by it is a guard.
    """

    large: _Ops = _NONE
    small: _Ops = _NONE
    broken: frozenset[Misuse] = frozenset()
    data: bool = False

    def joined(self, other: _Taint) -> _Taint:
        """Either of both."""
        return _Taint(
            self.large | other.large,
            self.small | other.small,
            self.broken | other.broken,
            self.data or other.data,
        )

    def without(self, op: o.Elementwise, misused: _Ops) -> _Taint:
        """Finite, but for what is broken by the infinity of these."""
        made = frozenset(Misuse(x, op) for x in misused)
        return _Taint(broken=self.broken | made, data=self.data)


@dataclass
class _Flow(FactDomain[_Taint]):
    """The domain."""

    wide: Collection[o.Elementwise]
    found: dict[Misuse, None] = field(default_factory=dict[Misuse, None])

    def nothing(self) -> _Taint:
        return _Taint()

    def element(self, held: _Taint) -> _Taint:
        return replace(held, data=True)

    def joined(self, one: _Taint, other: _Taint) -> _Taint:
        return one.joined(other)

    def product(self, op: o.Dot, parts: Sequence[_Taint]) -> _Taint:
        return replace(_joined(parts), data=True)

    def made(self, op: o.RegisterOp, parts: Sequence[_Taint]) -> _Taint:
        return _joined(parts)

    def stored(self, fact: _Taint) -> None:
        """Note what is stored and may be no number."""
        for misuse in sorted(fact.broken, key=lambda x: x.exponential.span.line):
            self.found.setdefault(misuse)

    def elementwise(self, op: o.Elementwise, args: Sequence[_Taint]) -> _Taint:
        """What an element-wise function makes of its operands."""
        law = FUNCTIONS[op.fn].law
        every = _joined(args)
        if op in self.wide:
            return _Taint(frozenset({op}), data=True)
        if op.fn == "where":
            chosen = _joined(args[1:])
            # A choice by data guards what is chosen; one by positions is a mask.
            return _Taint(data=True) if args[0].data else chosen
        if law == "log" or op.fn in ("log1p",):
            return every.without(op, every.large)
        if law == "div":
            above, below = args
            made = every.without(op, _both(above.large, below.large))
            return replace(made, large=above.large, small=below.large | above.small)
        if op.fn in ("rcp", "rsqrt"):
            return replace(every, large=_NONE, small=every.large)
        if law == "mul":
            first, second = args
            both = _both(first.large, second.small)
            both |= _both(first.small, second.large)
            return every.joined(every.without(op, both))
        if law == "exp" or op.fn in ("tanh", "tanh_approx", "minimum"):
            return every.without(op, _NONE)
        return every


def _both(one: _Ops, other: _Ops) -> _Ops:
    """All of two kinds, where there are some of each."""
    return one | other if one and other else _NONE


def _joined(parts: Iterable[_Taint]) -> _Taint:
    found = _Taint()
    for part in parts:
        found = found.joined(part)
    return found


def misused(program: Program, wide: Collection[o.Elementwise]) -> list[Misuse]:
    """Uses of exponentials, each of which may be infinite, that give no number."""
    flow = _Flow(wide)
    walked(program, flow)
    return list(flow.found)
