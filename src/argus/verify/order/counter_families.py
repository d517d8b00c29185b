"""Numbers that grow together: a ring's counters, its barriers' completions, its fills.

While a kernel runs, ring counters and completions grow without end; what happens next
depends on a few remainders of them, and on how far they are apart. Two states are alike
when one is the other with all numbers of a family moved:

    wait empty[n % 2] completion n // 2 - 1      n by 4, completions of empty by 2

A family is what is tied by such expressions, each member with the factor by which it
moves. ``normal`` moves a state's numbers as near to zero as the family's unit allows;
equal results are alike. Where an expression does not move with its symbols (a bare
number as a stage, a counter that begins anew), the family is *fixed*: alike is equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, symbols
from argus.ir.memory import BarrierAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa.effects import effects_of
from argus.verify.order.events import event_expressions, has_events
from argus.verify.order.fills import Fills, bodies

__all__ = ["Families"]

Member = tuple[str, object]
"""("scalar", name), ("barrier", its array), or ("buffer", where fills are counted)."""
_STILL = ("", Fraction(0))


class Families:
    """The families of a program.

    ``names``: scalars that decide events. ``outermost``: loops that are entered once,
    whose counters may begin anywhere. ``fills`` knows how accesses are numbered.
    """

    def __init__(
        self,
        program: Program,
        names: Iterable[str],
        outermost: Iterable[o.For],
        fills: Fills,
    ) -> None:
        self.names = frozenset(names)
        self.outermost = set(outermost)
        self.fills = fills
        self.gaps: list[str] = []
        self._above: dict[Member, tuple[Member, Fraction]] = {}
        self._fixed: set[Member] = set()
        self._whole: list[tuple[Member, Fraction]] = []
        """Members, and factors with which their moves have to be whole numbers."""
        self.awaited: dict[str, set[BarrierAlloc]] = {}
        """By role: barriers whose latest wait numbers an access."""
        self.in_loop = False
        """Whether an operation is in a loop."""
        for role, body in bodies(program):
            self._role(role, body)
        self._units: dict[Member, int] = {}
        for member, factor in self._whole:
            root, by = self._root(member)
            unit = (by * factor).denominator
            self._units[root] = lcm(self._units.get(root, 1), unit)
        for member in tuple(self._above):
            root, by = self._root(member)
            self._units[root] = lcm(self._units.get(root, 1), by.denominator)
        self._fixed = {self._root(member)[0] for member in self._fixed}

    def _role(self, role: str, body: o.Block) -> None:
        """Tie what a role's operations tie."""
        early = any(self._leads(op) for op in body.ops)
        for top in body.ops:
            if isinstance(top, o.If) and self._leads(top):
                self._scalars(top)
                for side in (top.then, top.other):
                    self._role(role, side)
                early = False
                continue
            # What comes before the outermost loop is over when states are compared.
            early = early and top not in self.outermost
            inside = {
                id(x)
                for op in walk(o.Block([top]))
                if isinstance(op, o.For)
                for x in walk(op.body)
            }
            for op in walk(o.Block([top])):
                self._scalars(op)
                self.in_loop = id(op) in inside
                if not early:
                    self._event(op, role)

    def _leads(self, op: o.AnyOp) -> bool:
        """Whether it is the outermost loop, or has it: in a branch, or in a role."""
        if isinstance(op, o.If):
            return any(x in self.outermost for x in walk(o.Block([op])))
        return op in self.outermost or isinstance(op, o.Roles)

    # ------------------------------------------------------------------- states

    def normal(
        self, numbers: Sequence[tuple[Member, int | None]], still: Iterable[Member]
    ) -> tuple[object, ...]:
        """Numbers of members, moved; those of the families of ``still`` are not."""
        fixed = self._fixed | {self._root(member)[0] for member in still}
        moves: dict[Member, int] = {}
        found: list[object] = []
        for member, number in numbers:
            root, by = self._root(member)
            if number is None or root in fixed or member not in self._above:
                found.append(number)
                continue
            whole = by * self._units[root]
            assert whole.denominator == 1 and whole > 0
            if root not in moves:
                moves[root] = number // whole.numerator
            found.append(number - moves[root] * whole.numerator)
        return tuple(found)

    # --------------------------------------------------------------------- ties

    def _root(self, member: Member) -> tuple[Member, Fraction]:
        """Whom a member moves with, and by what factor of its move."""
        factor = Fraction(1)
        while member in self._above:
            above, by = self._above[member]
            if above == member:
                break
            member, factor = above, factor * by
        return member, factor

    def _tie(self, one: Member, other: Member, factor: Fraction) -> None:
        """The first moves by ``factor`` times what the other one does."""
        for member in (one, other):
            self._above.setdefault(member, (member, Fraction(1)))
        (mine, by), (theirs, their) = self._root(one), self._root(other)
        wanted = factor * their / by
        if mine == theirs:
            if wanted != 1:
                self._fixed.add(mine)
        elif wanted > 0:
            self._above[mine] = (theirs, wanted)
        else:
            self._fixed |= {mine, theirs}

    def _fix(self, member: Member) -> None:
        self._above.setdefault(member, (member, Fraction(1)))
        self._fixed.add(member)

    def _fix_all(self, e: Expr) -> None:
        for sym in symbols(e):
            self._fix(("scalar", sym.name))

    # -------------------------------------------------------------- expressions

    def _moves(self, e: Expr) -> tuple[str, Fraction]:
        """The scalar with which a value moves, and the factor; ``_STILL`` if it is not.

        What moves in no such way fixes its scalars, and then does not move.
        """
        found = self._linear(e)
        if found is None:
            self._fix_all(e)
            return _STILL
        return found if found[1] else _STILL

    def _linear(self, e: Expr) -> tuple[str, Fraction] | None:
        match e:
            case Const():
                return _STILL
            case Sym():
                moving = e.kind in ("let", "loop")
                return (e.name, Fraction(1)) if moving else _STILL
            case Binary(op="+" | "-"):
                left, right = self._linear(e.left), self._linear(e.right)
                if left is None or right is None:
                    return None
                sign = 1 if e.op == "+" else -1
                if not left[1] or not right[1]:
                    return (left[0] or right[0], left[1] + sign * right[1])
                if left[0] != right[0]:
                    return None
                return left[0], left[1] + sign * right[1]
            case Binary(op="//" | "%", right=Const(value=int(divisor))) if divisor > 0:
                name, factor = self._linear(e.left) or ("", None)
                if factor is None:
                    return None
                if factor:
                    self._whole.append((("scalar", name), factor / divisor))
                return (name, factor / divisor) if e.op == "//" else _STILL
            case Binary() | Select():
                still = all(s.kind not in ("let", "loop") for s in symbols(e))
                return _STILL if still else None
            case _:
                assert_never(e)

    def _assign(self, name: str, e: Expr) -> None:
        """A scalar gets a value."""
        source, factor = self._moves(e)
        if factor:
            self._tie(("scalar", name), ("scalar", source), factor)
        else:
            self._fix(("scalar", name))

    def _scalars(self, op: o.AnyOp) -> None:
        match op:
            case o.Let():
                if op.sym.name in self.names:
                    self._assign(op.sym.name, op.value)
            case o.LoadScalar() | o.Extract():
                if op.sym.name in self.names:
                    self._fix(("scalar", op.sym.name))
            case o.For():
                decides = any(c.result.name in self.names for c in op.scalars)
                if decides and not has_events(op.body):
                    self.gaps.append(f"line {op.span.line}: a loop decides a counter")
                if op.var.name in self.names:
                    self._fix(("scalar", op.var.name))
                for carry in op.scalars:
                    if self.names & {carry.arg.name, carry.result.name}:
                        self._assign(carry.result.name, carry.arg)
                        self._assign(carry.arg.name, carry.yielded)
                        if op not in self.outermost:
                            self._assign(carry.arg.name, carry.init)
            case o.If():
                for merge in op.scalars:
                    if merge.result.name in self.names:
                        self._assign(merge.result.name, merge.then)
                        self._assign(merge.result.name, merge.other)
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def _event(self, op: o.AnyOp, role: str) -> None:
        if isinstance(op, o.BarrierWait):
            self._stays(op.barrier.index)
            barrier: Member = ("barrier", op.barrier.alloc)
            source, factor = self._moves(op.n)
            if factor:
                self._tie(barrier, ("scalar", source), factor)
            else:
                self._fix(barrier)
        else:
            for e in event_expressions(op):
                self._stays(e)
        for touch in effects_of(op).touches:
            self._numbered(role, touch.view, write=touch.write)

    def _stays(self, e: Expr) -> None:
        """A value that has to be the same in states that are alike."""
        source, factor = self._moves(e)
        if factor:
            self._fix(("scalar", source))

    def _numbered(self, role: str, view: SharedView, *, write: bool) -> None:
        """How the fill number of an access moves (as `fills.py` makes it)."""
        buffer: Member = ("buffer", view.alloc)
        if self.fills.rotates(view.stage, view.alloc.stages):
            self.gaps.append(f"stages of {view.alloc.name} go round by themselves")
        running = self.fills.running(view.stage, view.alloc.stages)
        if running is not None:
            source, factor = self._moves(running)
            if factor:
                self._tie(buffer, ("scalar", source), factor)
            else:
                self._fix(buffer)
            return
        fixed = isinstance(view.stage, Const)
        if fixed and not write and self.fills.own(view, role):
            return  # in program order, without numbers
        barrier = (self.fills.empty if write else self.fills.full).get(view.alloc)
        if barrier is None:
            # Where no wait says so, only a bare stage outside of loops is a number.
            if fixed and not (write and self.in_loop):
                self._fix(buffer)
        else:
            self.awaited.setdefault(role, set()).add(barrier)
            self._tie(buffer, ("barrier", barrier), Fraction(view.alloc.stages))
