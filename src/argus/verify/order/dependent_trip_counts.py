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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, binary, substitute, symbols
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.verify.decide.conditions import context_of
from argus.verify.decide.evaluation import Unmodelled, has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Poly
from argus.verify.order.events import has_events
from argus.verify.order.loop_counts import TripCount, related
from argus.verify.order.size_relations import (
    ControlDecision,
    forward,
    least_trip_count,
    trip_count_form,
)
from argus.verify.order.trip_count import expanded

__all__ = ["Kinds", "kinds"]

_MOST = 4
"""Kinds of loops beyond which the combinations are too many."""
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


@dataclass(frozen=True)
class _Counted:
    decision: ControlDecision
    form: Poly
    """The trip count, where the step is constant; else the length."""
    step: Poly | None
    """The step, where that is not constant."""
    facts: tuple[Expr, ...]


def kinds(
    program: Program, made: Mapping[str, list[Expr]], varying: Iterable[str]
) -> Kinds | str:
    """The kinds of a program's loops, or why there are none.

    ``made`` has what each named scalar comes from, ``varying`` what changes with
    iterations.
    """
    required = (r.cond for r in program.requirements)
    facts = tuple(f for f in conjuncts(required) if not has_floats(f))
    # One for all loops, since numbers of atoms are compared.
    loops = list(_loops(program.body, ()))
    context = context_of((*facts, *forward(op for op, _ in loops)))
    forms = _Forms(program, made, set(varying), context)
    found: list[_Counted] = []
    try:
        for op, around in loops:
            if all(isinstance(e, Const) for e in (op.start, op.stop, op.step)):
                continue
            found.append(forms.counted(op, around, facts))
    except Unmodelled as reason:
        return str(reason)
    stepped = [one for one in found if one.step is None]
    functions = related(context, [one.form for one in stepped])
    several: dict[object, list[tuple[_Counted, TripCount]]] = {}
    for one, (number, count) in zip(stepped, functions, strict=True):
        several.setdefault(number, []).append((one, count))
    for one in found:
        if one.step is not None:
            # With another step, a length that differs by a constant says little.
            several.setdefault((one.form, one.step), []).append((one, _ITSELF))
    if len(several) > _MOST:
        return "loops iterate differently often in too many ways"
    of: dict[o.For, tuple[int, TripCount]] = {}
    for number, mine in enumerate(several.values()):
        for one, count in mine:
            assert isinstance(one.decision.op, o.For)
            of[one.decision.op] = number, count
    return Kinds(of, tuple(_least(mine) for mine in several.values()))


_ITSELF = TripCount(((1, 1, 0, 1),), 0)


def _least(mine: Sequence[tuple[_Counted, TripCount]]) -> int:
    """What the number of a kind is at least, as far as it matters to its loops."""
    often, count = min(mine, key=lambda one: one[1].last(0))
    # With so many, each of them iterates.
    most = min(max(count.of(other.last(0) + 1) for _, other in mine), _FIRST)
    # A fact about the iterations of one loop says nothing of another loop's.
    shared = [f for f in often.facts if all(f in one.facts for one, _ in mine)]
    least = least_trip_count(often.decision, most, shared)
    # Where it does not iterate, no other one does.
    return count.last(least - 1) + 1 if least else count.last(0)


def _loops(
    block: o.Block, around: tuple[o.For, ...]
) -> Iterable[tuple[o.For, tuple[o.For, ...]]]:
    """Loops with events, and the loops around each."""
    for op in block.ops:
        inside = around
        if isinstance(op, o.For):
            if not has_events(op.body):
                continue
            yield op, around
            inside = (*around, op)
        for inner in blocks(op):
            yield from _loops(inner, inside)


class _Forms:
    """Trip counts as functions of sizes, tables and the iteration around them."""

    def __init__(
        self,
        program: Program,
        made: Mapping[str, list[Expr]],
        varying: set[str],
        context: Normal,
    ) -> None:
        self.made, self.varying, self.context = made, varying, context
        ops = list(walk(program.body))
        views = [op.view for op in ops if isinstance(op, o.StoreGlobal)]
        views += [op.dst for op in ops if isinstance(op, o.CopyOut)]
        written = {view.tensor for view in views}
        self.loads = {
            op.sym.name: op
            for op in ops
            if isinstance(op, o.LoadScalar) and op.tensor not in written
        }
        """Elements of tables that nobody changes: the same for whoever loads them."""

    def counted(
        self, op: o.For, around: Sequence[o.For], facts: tuple[Expr, ...]
    ) -> _Counted:
        """A loop's trip count. Raises Unmodelled."""
        iterations: dict[str, Expr] = {}
        for level, loop in enumerate(around):
            start, stop, step = (
                self._whole(e, iterations) for e in (loop.start, loop.stop, loop.step)
            )
            iteration = Sym(ITERATION.format(level), "loop", nonneg=True)
            value = binary("+", start, binary("*", iteration, step))
            iterations[loop.var.name] = value
            # Whoever is inside the loop has found that.
            inside = binary("<", value, stop)
            facts = (*facts, *conjuncts([inside]))
        decision = ControlDecision(
            op, self._whole(binary("-", op.stop, op.start), iterations)
        )
        constant = isinstance(op.step, Const)
        step = None if constant else self.context.of(self._whole(op.step, iterations))
        return _Counted(decision, trip_count_form(self.context, decision), step, facts)

    def _whole(self, e: Expr, iterations: Mapping[str, Expr]) -> Expr:
        """Without names for what is known, and for what a table's element is."""
        e = substitute(expanded(e, self.made, self.varying), iterations)
        elements: dict[str, Expr] = {}
        for sym in symbols(e):
            load = self.loads.get(sym.name)
            if load is not None:
                at = (self.context.of(self._whole(c, iterations)) for c in load.coords)
                name = f"{load.tensor.name}[{', '.join(str(p.terms) for p in at)}]"
                elements[sym.name] = replace(sym, name=name)
        return substitute(e, elements)
