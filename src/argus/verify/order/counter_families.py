"""Numbers that grow together: a ring's counters, its barriers' completions, its fills.

While a kernel runs, ring counters and completions grow without end; what happens next
depends on a few remainders of them, and on how far they are apart. Two states are alike
when one is the other with all numbers of a family moved:

    wait empty[n % 2] completion n // 2 - 1      n by 4, completions of empty by 2

A family is what is tied by such expressions, each member with the factor by which it
moves. ``moves`` says how far a state's numbers are moved, as near to zero as the
family's unit allows; equal results are alike. Where an expression does not move with
its symbols (a bare number as a stage, a counter that begins anew), the family is
*fixed*: alike is equal.

Of arrays that turn (`turning.py`) the slots move, too: the number of a barrier is that
of its slot and its completions in laps, so that it moves with the counter, by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, symbols
from argus.ir.memory import BarrierAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order.events import barrier_of, event_expressions, has_events
from argus.verify.order.fills import Fills, bodies
from argus.verify.order.turning import Turning, numbered_by

__all__ = ["Families", "Member", "Moves"]

Member = tuple[str, object]
"""("scalar", name), ("barrier", its array), or ("buffer", where fills are counted)."""
Moves = dict[Member, int]
"""How often each family, by its root, is moved by its least distance."""
_STILL = ("", Fraction(0))


class Families:
    """The families of a program.

    ``names``: scalars that decide events. ``outermost``: loops that are entered once,
    whose counters may begin anywhere. ``fills`` knows how accesses are numbered;
    what is ``asked`` has to stay. ``turns``: whether arrays may turn.
    """

    def __init__(
        self,
        program: Program,
        names: Iterable[str],
        outermost: Iterable[o.For],
        fills: Fills,
        *,
        asked: Iterable[Expr] = (),
        turns: bool = True,
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
        self._events: list[tuple[o.AnyOp, str]] = []
        self._looped: set[int] = set()
        """Operations in loops."""
        for role, body in bodies(program):
            self._role(role, body)
        self.turning = Turning(program, fills, self._events)
        if not turns:
            self.turning.without()
        for op, role in self._events:
            self._event(op, role)
        for e in asked:
            self._stays(e)
        self._steps: dict[Member, tuple[Member, int]] = {}
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
            self._looped |= {
                id(x)
                for op in walk(o.Block([top]))
                if isinstance(op, o.For)
                for x in walk(op.body)
            }
            for op in walk(o.Block([top])):
                self._scalars(op)
                if not early:
                    self._events.append((op, role))

    def _leads(self, op: o.AnyOp) -> bool:
        """Whether it is the outermost loop, or has it: in a branch, or in a role."""
        if isinstance(op, o.If):
            return any(x in self.outermost for x in walk(o.Block([op])))
        return op in self.outermost or isinstance(op, o.Roles)

    # ------------------------------------------------------------------- states

    def moves(
        self, numbers: Iterable[tuple[Member, int | None]], still: Iterable[Member]
    ) -> Moves:
        """How far families move in a state; those of ``still`` do not.

        By the first number of each: these come in an order that does not turn.
        """
        fixed = {self._root(member)[0] for member in still}
        found: Moves = {}
        for member, number in numbers:
            root, step = self._step(member)
            if step and number is not None and root not in found and root not in fixed:
                found[root] = number // step
        return found

    def moved(self, member: Member, moves: Moves) -> int:
        """How far a member moves then."""
        return self.moved_with(member, moves) or 0

    def moved_with(self, member: Member, moves: Moves) -> int | None:
        """The same; None for a member of no family that moves."""
        root, step = self._step(member)
        times = moves.get(root)
        return None if times is None else times * step

    def _step(self, member: Member) -> tuple[Member, int]:
        """The root of a member, and the least distance that it moves; 0: it stays."""
        found = self._steps.get(member)
        if found is None:
            root, by = self._root(member)
            step = 0
            if member in self._above and root not in self._fixed:
                whole = by * self._units[root]
                assert whole.denominator == 1 and whole > 0
                step = whole.numerator
            found = self._steps[member] = root, step
        return found

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
        stays = event_expressions(op)
        ref, awaited = barrier_of(op) or (None, None)
        if awaited is not None:
            stays.remove(awaited)
        if ref is not None and ref.alloc in self.turning.barriers:
            stays.remove(ref.index)
            self._follows(("barrier", ref.alloc), ref.index, ref.alloc.count)
        elif ref is not None and awaited is not None:
            self._moves_with(("barrier", ref.alloc), awaited)
        touches = self.fills.effects.of(op).touches
        for touch in touches:
            if touch.view.alloc in self.turning.buffers:
                stays.remove(touch.view.stage)
        for e in stays:
            self._stays(e)
        for touch in touches:
            looped = id(op) in self._looped
            self._numbered(role, touch.view, write=touch.write, looped=looped)

    def _follows(self, member: Member, slot: Expr, count: int) -> None:
        """What turns moves with the number of the slot that is named."""
        number = self.turning.slot(slot, count)
        assert number is not None
        self._moves_with(member, number)

    def _moves_with(self, member: Member, e: Expr) -> None:
        """A number moves with a value, or not at all."""
        source, factor = self._moves(e)
        if factor:
            self._tie(member, ("scalar", source), factor)
        else:
            self._fix(member)

    def _stays(self, e: Expr) -> None:
        """A value that has to be the same in states that are alike."""
        source, factor = self._moves(e)
        if factor:
            self._fix(("scalar", source))

    def _numbered(
        self, role: str, view: SharedView, *, write: bool, looped: bool
    ) -> None:
        """How the fill number of an access moves (as `fills.py` makes it)."""
        buffer: Member = ("buffer", view.alloc)
        if self.fills.rotates(view.stage, view.alloc.stages):
            self.gaps.append(f"stages of {view.alloc.name} go round by themselves")
        running = self.fills.running(view.stage, view.alloc.stages)
        if running is not None:
            self._moves_with(buffer, running)
            return
        fixed = isinstance(view.stage, Const)
        if fixed and not write and self.fills.own(view, role):
            return  # in program order, without numbers
        barrier = numbered_by(self.fills, view, role, write=write)
        if barrier is None:
            # Where no wait says so, only a bare stage outside of loops is a number.
            if fixed and not (write and looped):
                self._fix(buffer)
        else:
            self.awaited.setdefault(role, set()).add(barrier)
            self._tie(buffer, ("barrier", barrier), Fraction(view.alloc.stages))
