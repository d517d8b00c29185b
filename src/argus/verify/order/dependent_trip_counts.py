"""Loops that iterate differently often in each iteration of the loop around them.

A persistent kernel with a causal mask: the tiles differ in how many blocks of keys they
see, but for one tile all roles count the same. A trip count is brought to normal
form as a function of sizes and of *which iteration* of the outer loop this is:

    for tile in persistent(n):          tile = block + iteration * grid
        for j in range(0, steps(tile))      steps(block + iteration * grid)
        for _ in range(1, steps(tile))      steps(block + iteration * grid) - 1

Loops whose forms are functions of one number (`loop_counts.py`) are of one *kind*: in
iteration t of the loops around them they iterate as often as their functions of n[t]
say; what n[t] is may be anything from a least number on. `trip_count_sequences.py`
shows all of n[0], n[1], ... to be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, binary, substitute, symbols
from argus.ir.program import BLOCK_INDEX, Program
from argus.ir.walk import expressions, walk
from argus.verify.decide.atoms import Part, Symbol
from argus.verify.decide.conditions import context_of
from argus.verify.decide.evaluation import Unmodelled, has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Monomial, Poly, constant
from argus.verify.order.branch_tests import (
    BranchTest,
    Either,
    Positive,
    Tests,
    parts,
    tree,
)
from argus.verify.order.events import branches_of, has_events, loops_with_events
from argus.verify.order.loop_counts import TripCount, related
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.size_relations import (
    ControlDecision,
    forward,
    least_trip_count,
    trip_count_form,
)
from argus.verify.order.trip_count import expanded

__all__ = ["Kinds", "kinds"]

_MOST = 6
"""Kinds of loops beyond which the combinations are too many."""
_SIZES = ("dim", "param", "stride", "block", "rank", "sms", "grid")
"""Kinds of symbols that are the same all the time."""
_FIRST = 16
"""That a loop iterates more often at least is not asked."""
ITERATION = "iteration{}#"
"""Which iteration of a loop this is: its name, by how many loops are around it."""


@dataclass(frozen=True)
class Kinds:
    """Loops with events whose trip count is not constant.

    ``of``: the kind of each, and how often it iterates by the kind's number. ``least``:
    by kind, what its number is at least, or what is as good as any smaller one.
    """

    of: Mapping[o.For, tuple[int, TripCount]]
    least: tuple[int, ...]
    none: tuple[int, ...]
    """By kind what is as good as any smaller number: nothing iterates then."""
    tests: Mapping[o.If, Tests] = field(default_factory=dict["o.If", "Tests"])
    """What branches ask of the numbers (`branch_tests.py`)."""


@dataclass(frozen=True)
class _Counted:
    decision: ControlDecision
    form: Poly
    """The trip count, where the step is constant; else the length."""
    step: Poly | None
    """The step, where that is not constant."""
    facts: tuple[Expr, ...]


@dataclass(frozen=True)
class _Asked:
    """A part of a branch's condition: ``form > 0``, or that it is not."""

    around: tuple[o.For, ...]
    part: Positive
    form: Poly
    """Without iterations of the loops around."""
    by: Mapping[int, int]
    """The factors of these, by level."""
    facts: tuple[Expr, ...]

    @property
    def other(self) -> Poly:
        """``form > 0`` where this is not."""
        return constant(1) - self.form


def kinds(
    program: Program,
    sources: ScalarSources,
    scalars: frozenset[str],
) -> Kinds | str:
    """The kinds of a program's loops, or why there are none.

    ``sources``: of its named scalars; ``scalars`` decide the course.
    """
    required = (r.cond for r in program.requirements)
    facts = tuple(f for f in conjuncts(required) if not has_floats(f))
    # One for all loops, since numbers of atoms are compared.
    loops = list(loops_with_events(program.body))
    steps = forward(op for op, _ in loops)
    context = context_of((*facts, *steps, *_launched(program)))
    forms = _Forms(program, sources, context)
    found: list[_Counted] = []
    try:
        for op, around in loops:
            if all(isinstance(e, Const) for e in (op.start, op.stop, op.step)):
                continue
            found.append(forms.counted(op, around, facts))
        branches = {
            op: forms.asked(op, around, facts)
            for op, around in branches_of(program.body)
            if has_events(o.Block([op]))
            or any(m.result.name in scalars for m in op.scalars)
        }
    except Unmodelled as reason:
        return str(reason)
    table = _Table(forms)
    stepped = [one for one in found if one.step is None]
    asked = [one for test in branches.values() for one in parts(test)]
    pairs = [form for one in asked for form in (one.form, one.other)]
    forms_of = [*(one.form for one in stepped), *pairs]
    functions = iter(related(context, forms_of, len(stepped)))
    for one, (number, count) in zip(stepped, functions, strict=False):
        table.loop(number, one, count)
    for one in found:
        if one.step is not None:
            # With another step, a length that differs by a constant says little.
            table.loop((one.form, one.step), one, _ITSELF)
    of_parts = {
        id(one): table.test(one, [next(functions), next(functions)]) for one in asked
    }
    tests: dict[o.If, Tests] = {}
    for op, test in branches.items():
        if isinstance(test, Either):
            tests[op] = test.map(lambda one: of_parts[id(one)])
        else:
            tests[op] = of_parts[id(test)]
    if len(table.numbers) > _MOST:
        return "loops iterate differently often in too many ways"
    numbers = range(len(table.numbers))
    none = tuple(table.none(number) for number in numbers)
    least = tuple(table.least(number) for number in numbers)
    return Kinds(table.of, least, none, tests)


def _launched(program: Program) -> tuple[Expr, ...]:
    """That a block is one of the grid: what `ag.block_tile` divides by is positive."""
    inside = conjuncts([binary("<", BLOCK_INDEX, program.grid)])
    return tuple(f for f in inside if not has_floats(f))


_ITSELF = TripCount(((1, 1, 0, 1),), 0)


class _Table:
    """The numbers of a program, and who asks for each."""

    def __init__(self, forms: _Forms) -> None:
        self.forms = forms
        self.context = forms.context
        self.numbers: dict[object, int] = {}
        self.loops: dict[int, list[tuple[_Counted, TripCount]]] = {}
        self.asked: dict[int, list[tuple[_Asked, BranchTest]]] = {}
        self.of: dict[o.For, tuple[int, TripCount]] = {}

    def number(self, form: object) -> int:
        """The kind of a number."""
        return self.numbers.setdefault(form, len(self.numbers))

    def loop(self, form: object, one: _Counted, count: TripCount) -> None:
        """A loop iterates by a function of a number."""
        assert isinstance(one.decision.op, o.For)
        kind = self.number(form)
        self.of[one.decision.op] = kind, count
        self.loops.setdefault(kind, []).append((one, count))

    def test(self, one: _Asked, both: Sequence[tuple[Poly, TripCount]]) -> BranchTest:
        """What a part of a condition asks. ``both``: of its form and of the other."""
        if one.form.is_constant() and len(one.by) < 2:
            level, by = next(iter(one.by.items()), (None, 0))
            count = TripCount((), one.form.constant)
            return BranchTest(None, count, by, level, one.part.inverted)
        for sign, (form, count) in zip((1, -1), both, strict=True):
            if form not in self.numbers or not (count.rises or count.repeats):
                continue
            kind = self.numbers[form]
            fitting = (
                level
                for level, loop in enumerate(one.around)
                if self.of.get(loop, (None,))[0] == kind
                and self.forms.steady(one.form, level)
                and not one.by.keys() - {level}
            )
            level = next(fitting, None)
            by = 0 if level is None else sign * one.by.get(level, 0)
            if (level is None and one.by) or by > 0 or (by and not count.rises):
                continue
            inverted = one.part.inverted == (sign > 0)
            return self._asks(one, BranchTest(kind, count, by, level, inverted))
        form = one.part.form
        count = TripCount(((form.content, 1, 0, 1),), form.constant)
        kind = self.number(form.varying.exact(form.content))
        return self._asks(one, BranchTest(kind, count, inverted=one.part.inverted))

    def _asks(self, one: _Asked, test: BranchTest) -> BranchTest:
        assert test.kind is not None
        self.asked.setdefault(test.kind, []).append((one, test))
        return test

    def none(self, kind: int) -> int:
        """A number that is as good as any smaller one."""
        loops, asked = self.loops.get(kind, []), self.asked.get(kind, [])
        period = lcm(*(test.count.period for _, test in asked if test.count.repeats))
        rising = [test.count.last(0) for _, test in asked if test.count.rises]
        # With that, no loop iterates, and no branch that waits for more is taken.
        return (
            min([count.last(0) for _, count in loops] + rising, default=0) - period + 1
        )

    def least(self, kind: int) -> int:
        """What a number is at least, or what is as good as any smaller one."""
        loops, asked = self.loops.get(kind, []), self.asked.get(kind, [])
        known = self.none(kind)
        if loops:
            often, count = min(loops, key=lambda one: one[1].last(0))
            # With so many, each of them iterates.
            most = min(max(count.of(other.last(0) + 1) for _, other in loops), _FIRST)
            # A fact about the iterations of one loop says nothing of another loop's.
            others = [*(one for one, _ in loops), *(one for one, _ in asked)]
            shared = [f for f in often.facts if all(f in one.facts for one in others)]
            least = least_trip_count(often.decision, most, shared)
            if least:
                known = max(known, count.last(least - 1) + 1)
        for form, number in self.numbers.items():
            if number == kind and isinstance(form, Poly):
                low = self.context.range_of(form).lo
                known = known if isinstance(low, float) else max(known, low)
        return known


class _Forms:
    """Trip counts as functions of sizes, tables and the iteration around them."""

    def __init__(
        self,
        program: Program,
        sources: ScalarSources,
        context: Normal,
    ) -> None:
        self.sources, self.context = sources, context
        ops = list(walk(program.body))
        self.levels: dict[str, int] = {}
        """Names of iterations."""
        self.sizes = {
            s.name
            for op in ops
            for e in expressions(op)
            for s in symbols(e)
            if s.kind in _SIZES
        }

    def counted(
        self, op: o.For, around: Sequence[o.For], facts: tuple[Expr, ...]
    ) -> _Counted:
        """A loop's trip count. Raises Unmodelled."""
        iterations, facts = self._iterations(around, facts)
        decision = ControlDecision(
            op, self._whole(binary("-", op.stop, op.start), iterations)
        )
        constant = isinstance(op.step, Const)
        step = None if constant else self.context.of(self._whole(op.step, iterations))
        return _Counted(decision, trip_count_form(self.context, decision), step, facts)

    def asked(
        self, op: o.If, around: tuple[o.For, ...], facts: tuple[Expr, ...]
    ) -> _Asked | Either[_Asked]:
        """What a branch's condition says. Raises Unmodelled."""
        iterations, facts = self._iterations(around, facts)
        found = tree(self.context, self._whole(op.cond, iterations))

        def split(part: Positive) -> _Asked:
            by: dict[int, int] = {}
            rest: dict[Monomial, int] = {}
            for monomial, factor in part.form.terms:
                level = self._level(monomial)
                if level is None:
                    rest[monomial] = factor
                else:
                    by[level] = factor
            return _Asked(around, part, Poly.of(rest), by, facts)

        return found.map(split) if isinstance(found, Either) else split(found)

    def _level(self, monomial: Monomial) -> int | None:
        """The loop whose iteration this is, if it is one."""
        if len(monomial) != 1:
            return None
        atom = self.context.atoms[monomial[0]]
        return self.levels.get(atom.name) if isinstance(atom, Symbol) else None

    def steady(self, form: Poly, level: int) -> bool:
        """Whether a form stays as it is in all iterations of a loop."""
        names: set[str] = set()
        for atom in form.atoms():
            for x in self.context.reached(atom):
                found = self.context.atoms[x]
                while isinstance(found, Part):
                    found = self.context.atoms[found.of]
                names.add(found.name if isinstance(found, Symbol) else "")
        return all(n in self.sizes or self.levels.get(n, level) < level for n in names)

    def _iterations(
        self, around: Sequence[o.For], facts: tuple[Expr, ...]
    ) -> tuple[dict[str, Expr], tuple[Expr, ...]]:
        """Variables of loops by the number of the iteration, and what is known then."""
        iterations: dict[str, Expr] = {}
        for level, loop in enumerate(around):
            start, stop, step = (
                self._whole(e, iterations) for e in (loop.start, loop.stop, loop.step)
            )
            iteration = Sym(ITERATION.format(level), "loop", nonneg=True)
            self.levels[iteration.name] = level
            value = binary("+", start, binary("*", iteration, step))
            iterations[loop.var.name] = value
            # Whoever is inside the loop has found that.
            inside = binary("<", value, stop)
            facts = (*facts, *conjuncts([inside]))
        return iterations, facts

    def _whole(self, e: Expr, iterations: Mapping[str, Expr]) -> Expr:
        """Without names for what is known, and for what a table's element is."""
        e = expanded(e, self.sources.lets, self.sources.varying)
        e = substitute(e, iterations)
        elements: dict[str, Expr] = {}
        for sym in symbols(e):
            if sym.name in self.sources.constants:
                load = self.sources.loads[sym.name]
                at = (self._place(self._whole(c, iterations)) for c in load.coords)
                name = f"{load.tensor.name}[{', '.join(at)}]"
                elements[sym.name] = replace(sym, name=name)
        return substitute(e, elements)

    def _place(self, e: Expr) -> str:
        """A name that only coordinates with the same value have."""
        try:
            return str(self.context.of(e).terms)
        except Unmodelled:
            return str(e)
