"""What holds at a place of the program, and deciding conditions there.

A scope is the list of enclosing loops and branches. It knows the facts that they give
(this iteration exists, this branch was taken) and a set of admissible points.

Deciding is in this order: the points (which can only refute), normal form and ranges,
then `argus.verify.decide.prove`. Answers are cached per scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from argus.clock import now
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary
from argus.verify.decide import prove
from argus.verify.decide.conditions import context_of
from argus.verify.decide.decision import Decision
from argus.verify.decide.evaluation import Unmodelled, has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Poly
from argus.verify.tags.held import type_facts
from argus.verify.tags.sampling import Points, first_points, pick
from argus.verify.tags.signs import never_negative, stays_below
from argus.verify.tags.world import LoadedScalar, TagWorld
from argus.verify.verdict import Verdict

__all__ = ["Loop", "PathScope"]

PROOF_MS = 2000
HASTY_MS, PATIENT = 200, 4.0
"""The limit once the solver was asked about a program for so many seconds."""
FEW_TRIPS, ENOUGH = 16, 48
"""Points with few iterations are preferred, as long as there are enough of them."""


_COMPUTED = "it depends on a scalar that a loop computes in a way that is not followed"


@dataclass(frozen=True)
class Loop:
    """A loop being inside of: iteration ``sym`` of ``trips``; its variable's value."""

    sym: Sym
    trips: Expr
    name: str
    value: Expr


@dataclass(eq=False)
class PathScope:
    """Enclosing loops and path conditions, outermost first."""

    world: TagWorld
    loops: tuple[Loop, ...] = ()
    facts: tuple[Expr, ...] = ()
    points: Points | None = None
    branches: tuple[Expr, ...] = ()
    """The facts that come from branches taken, not from loops."""
    parent: PathScope | None = None
    _known: dict[Expr, Decision] = field(default_factory=dict[Expr, Decision])
    _leaves: dict[Expr, bool] = field(default_factory=dict[Expr, bool])
    _normal: Normal | None = None
    _some: tuple[int, dict[str, int]] | None = None
    """How many assumptions on tables are met, and a point there."""
    complete: dict[object, object] = field(default_factory=dict[object, object])
    """What `sums.complete` has found here."""
    _children: dict[object, PathScope] = field(
        default_factory=dict[object, "PathScope"]
    )

    @staticmethod
    def top(world: TagWorld) -> PathScope:
        """The scope of the whole kernel."""
        return PathScope(world, points=first_points(world))

    # ---------------------------------------------------------------- entering

    def inside(self, loop: Loop, stop: Expr) -> PathScope:
        """One iteration of a loop that runs while its variable is below ``stop``."""
        if loop.sym.name in self._children:
            return self._children[loop.sym.name]
        points = self.points
        if points is not None and points.size:
            try:
                trips = points.of(loop.trips).astype(np.int64)
                short = (trips > 0) & (trips <= FEW_TRIPS)
                keep = short if short.sum() >= ENOUGH else trips > 0
                points, trips = points.where(keep), trips[keep]
                rng = np.random.default_rng(len(self.loops) + 1)
                points = points.plus(loop.sym.name, pick(rng, trips))
            except KeyError:
                points = None
        facts = (
            *self.facts,
            binary("<", loop.sym, loop.trips),
            binary("<", loop.value, stop),
        )
        made = PathScope(
            self.world, (*self.loops, loop), facts, points, self.branches, self
        )
        self._children[loop.sym.name] = made
        return made

    def when(self, *conditions: Expr, taken: bool = True) -> PathScope:
        """Where these conditions hold, too.

        ``taken``: because of a branch, so that other values do not come here; else
        because they always hold (the author's word).
        """
        if not conditions:
            return self
        key = (taken, *conditions)
        if key in self._children:
            return self._children[key]
        points = self.points
        try:
            for c in conditions:
                if points is not None:
                    points = points.where(points.of(c).astype(np.bool_))
        except KeyError:
            points = None
        made = PathScope(
            self.world,
            self.loops,
            (*self.facts, *conditions),
            points,
            (*self.branches, *conditions) if taken else self.branches,
            self,
        )
        self._children[key] = made
        return made

    # ---------------------------------------------------------------- deciding

    @property
    def normal(self) -> Normal:
        """Normal forms under the facts of this scope."""
        if self._normal is None:
            facts = conjuncts((*self.world.facts, *self.facts))
            self._normal = context_of(tuple(f for f in facts if not has_floats(f)))
        return self._normal

    def poly(self, e: Expr) -> Poly | None:
        """Normal form, where there is one."""
        try:
            return self.normal.of(e)
        except Unmodelled:
            return None

    def difference(self, a: Expr, b: Expr) -> int | None:
        """A - b, where it is one number by normal form."""
        if a == b:
            return 0
        left, right = self.poly(a), self.poly(b)
        if left is None or right is None:
            return None
        apart = left - right
        return apart.constant if apart.is_constant() else None

    def decide(self, goal: Expr) -> Decision:
        """Whether a condition holds here, for all values of its symbols."""
        if isinstance(goal, Const):
            verdict = Verdict.PROVED if goal.value else Verdict.REFUTED
            return Decision(verdict, "normal form", model=self.some_point())
        found = self._known.get(goal) or self._inherited(goal)
        if found is None:
            found = self._decide(goal)
            self._known[goal] = found
        return found

    def _inherited(self, goal: Expr) -> Decision | None:
        """What was proved of an enclosing scope holds here."""
        above = self.parent
        while above is not None:
            found = above._known.get(goal)
            if found is not None and found.verdict is Verdict.PROVED:
                return found
            above = above.parent
        return None

    def _decide(self, goal: Expr) -> Decision:
        counter = self.counterexample(goal)
        if counter is not None:
            return Decision(Verdict.REFUTED, "admissible sizes", model=counter)
        if self._quick(goal) or self._by_sign(goal):
            return Decision(Verdict.PROVED, "normal form")
        facts = self._relevant(goal)
        found = self._solved(goal, facts)
        if found.verdict is Verdict.REFUTED:
            # The model may have values that no argument and no table can have.
            typed = type_facts(self.world, (goal, *facts))
            found = self._solved(goal, (*facts, *typed))
        if found.verdict is Verdict.REFUTED and self.world.computed(goal):
            # The model chose a value that the scalar may never have.
            return Decision(Verdict.UNKNOWN, found.method, _COMPUTED)
        return found

    def _solved(self, goal: Expr, facts: tuple[Expr, ...]) -> Decision:
        hasty = self.world.asked >= PATIENT
        begin = now()
        found = prove(goal, facts, timeout_ms=HASTY_MS if hasty else PROOF_MS)
        self.world.asked += now() - begin
        return found

    def _quick(self, goal: Expr) -> bool:
        if not isinstance(goal, Binary):
            return False
        try:
            if goal.op == "and":
                return self._quick(goal.left) and self._quick(goal.right)
            if goal.op in ("==", "!=", "<", "<=", ">", ">="):
                return self.normal.compared(goal.op, goal.left, goal.right) is True
        except Unmodelled:
            pass
        return False

    def _by_sign(self, goal: Expr) -> bool:
        match goal:
            case Binary(op=">=", left=a, right=Const(value=0)) if depth(a) > 3:
                return never_negative(a, self._leaf)
            case Binary(op="<", left=a, right=b) if depth(a) > 1:
                return stays_below(a, b, self._leaf)
            case Const() | Sym() | Binary() | Select():
                return False
            case _:
                assert_never(goal)

    def _leaf(self, goal: Expr) -> bool:
        """Whether a condition on a part is proved, without looking at its sign."""
        if goal not in self._leaves:
            self._leaves[goal] = self.counterexample(goal) is None and (
                self._quick(goal)
                or prove(goal, self._relevant(goal)).verdict is Verdict.PROVED
            )
        return self._leaves[goal]

    def _relevant(self, goal: Expr) -> tuple[Expr, ...]:
        """Facts that share symbols with the goal, transitively."""
        facts = [*self.world.facts, *self.facts]
        reached = set(self.world.names(goal))
        facts += self.world.instances(self._named(goal))
        # In the order in which they are reached.
        kept: list[Expr] = []
        names = [(f, self.world.names(f)) for f in facts]
        while True:
            left: list[tuple[Expr, frozenset[str]]] = []
            for fact, named in names:
                if named & reached:
                    kept.append(fact)
                    reached |= named
                else:
                    left.append((fact, named))
            if len(left) == len(names):
                return tuple(kept)
            names = left

    def _named(self, *several: Expr) -> set[str]:
        """Symbols of expressions and of the facts that hold here."""
        return set[str]().union(*map(self.world.names, (*several, *self.facts)))

    def admissible(self, *several: Expr) -> NDArray[np.bool_] | None:
        """Points at which tables satisfy what is assumed of them."""
        points = self.points
        if points is None or points.size == 0:
            return None
        keep = np.ones(points.size, np.bool_)
        try:
            for fact in self.world.instances(self._named(*several)):
                keep &= points.of(fact).astype(np.bool_)
        except KeyError:
            return None
        return keep

    def holds(self, goal: Expr) -> bool:
        """Whether the condition is proved."""
        return self.decide(goal).verdict is Verdict.PROVED

    def all_hold(self, goals: Sequence[Expr]) -> Decision:
        """The conjunction: the first that is refuted, else the first unknown."""
        worst = Decision(Verdict.PROVED, "normal form")
        for goal in goals:
            found = self.decide(goal)
            if found.verdict < worst.verdict:
                worst = found
            if worst.verdict is Verdict.REFUTED:
                break
        return worst

    def equal(self, a: Expr, b: Expr) -> Decision:
        """Whether two expressions are equal here."""
        apart = self.difference(a, b)
        if apart == 0:
            return Decision(Verdict.PROVED, "normal form")
        if apart is not None:
            return Decision(Verdict.REFUTED, "normal form", model=self.some_point())
        return self.decide(binary("==", a, b))

    def contradictory(self) -> Decision:
        """Whether no values satisfy the facts, so that everything would be proved."""
        if self.points is not None and self.points.size:
            return Decision(Verdict.REFUTED, "trying values", model=self.some_point())
        facts = (*self.world.facts, *self.facts)
        return prove(Const(False), facts, timeout_ms=PROOF_MS)

    # ------------------------------------------------------------------ points

    def counterexample(self, goal: Expr) -> dict[str, int] | None:
        """A point where a condition fails, with small sizes."""
        points = self.points
        if points is None or points.size == 0:
            return None
        try:
            found = points.of(goal).astype(np.bool_)
        except KeyError:
            return None
        keep = self.admissible(goal)
        if keep is None:
            return None
        broken = np.flatnonzero(~found & keep)
        if not len(broken):
            return None
        return points.at(int(broken[self._smallest(points, broken)]))

    def some_point(self) -> dict[str, int]:
        """Any admissible point, with small sizes; empty if none is known."""
        met = len(self.world.assumed)
        if self._some is None or self._some[0] != met:
            self._some = met, self._any_point()
        return dict(self._some[1])

    def _any_point(self) -> dict[str, int]:
        points = self.points
        if points is None or points.size == 0:
            return {}
        keep = self.admissible()
        every = np.flatnonzero(keep) if keep is not None else np.arange(0)
        if not len(every):
            return {}
        return points.at(int(every[self._smallest(points, every)]))

    def _smallest(self, points: Points, which: np.ndarray) -> int:
        sizes = [s for s in points if self._is_size(s)]
        total = np.zeros(len(which))
        for name in sizes:
            total += np.log2(1 + np.abs(points[name][which]))
        return int(np.argmin(total))

    def _is_size(self, name: str) -> bool:
        return not isinstance(self.world.meanings.get(name), LoadedScalar)

    def value_at(self, e: Expr, model: dict[str, int]) -> int | None:
        """Value of an expression at a point of `counterexample`.

        None where it has none, or a solver's model has numbers of more than 64 bits.
        """
        if not model:
            return int(e.value) if isinstance(e, Const) else None
        try:
            values = {n: np.array([v], np.int64) for n, v in model.items()}
            return int(Points(self.world, values).of(e)[0])
        except (KeyError, ValueError, OverflowError):
            return None


def depth(e: Expr) -> int:
    """Nesting of an expression."""
    if not isinstance(e, Binary):
        return 0
    return 1 + max(depth(e.left), depth(e.right))
