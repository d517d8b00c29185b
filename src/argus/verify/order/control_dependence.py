"""What decides the course of a program: which sizes, counters and tables.

Only expressions that matter to order count: bounds of loops, conditions, stages and
offsets in shared memory, barrier numbers, completions waited for, expected bytes. Where
data comes from in global memory does not.

A walk of finitely many iterations stands for all only where what an iteration does is
the same after every period: expressions over loop counters must be built of ``+ - * //
%`` with constants (then shifting a counter by a common multiple of the divisors shifts
or keeps the value). Whatever else is found is a ``gap``, for which nothing is
extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, binary, symbols
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order import register_budgets
from argus.verify.order.clusters import alike_in_cluster
from argus.verify.order.dependent_trip_counts import Kinds, kinds
from argus.verify.order.events import event_expressions, has_events
from argus.verify.order.peeling import by_value, conditions_of, flips
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.shifting import modulus, moving_otherwise
from argus.verify.order.size_relations import ControlDecision, relations
from argus.verify.order.size_steps import units
from argus.verify.order.table_skips import left_out_alike
from argus.verify.order.trip_count import expanded, length
from argus.verify.order.unusual_sizes import UnusualCase, unusual

__all__ = ["Control", "study"]

_MERGED = 6
"""Where branches merge more scalars, what they are would be too long to be compared."""
_SIZED = ("dim", "param", "stride", "block", "sms")
"""Kinds of symbols that sizes and the block decide."""


@dataclass
class Control:
    """Facts about what decides a program's course.

    ``loops``: loops with events and bounds that vary, with the sizes their number of
    iterations depends on. ``counters``: symbols that change from iteration to iteration
    and matter. ``modulus``: after so many iterations counters select the same slots.
    ``gaps``: why a finite walk does not stand for all, however often loops iterate.
    """

    loops: dict[o.For, frozenset[str]] = field(
        default_factory=dict[o.For, "frozenset[str]"]
    )
    depth: dict[o.For, int] = field(default_factory=dict[o.For, int])
    sizes: frozenset[str] = frozenset()
    """Sizes and scalar arguments that matter."""
    conditions: frozenset[str] = frozenset()
    """Sizes that matter to the conditions of branches."""
    by_block: bool = False
    """The course may differ from block to block."""
    tables: bool = False
    """It depends on elements of run-time tables, or of tiles."""
    lead: int = 0
    """Conditions may differ in so many first iterations of a loop."""
    tail: int = 0
    """Conditions may differ in so many last iterations of a loop."""
    near: int = 0
    """Conditions may differ where loops iterate up to so often."""
    sized: bool = False
    """Sizes or the block decide more than how often loops iterate."""
    residues: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    """How much more than multiples of tiles a size has to be walked with."""
    contents: Mapping[o.For, int] = field(default_factory=dict["o.For", int])
    """By how much trip counts of a loop differ at least, if they differ."""
    unusual: Callable[[], Iterable[UnusualCase]] = tuple
    """Where trip counts differ as they do nowhere else: to find mistakes."""
    kinds: Callable[[], Kinds | str] = lambda: "blocks of a cluster"
    """Loops by how often they iterate, or why that is not known."""
    uneven: bool = False
    """How often a loop iterates changes with the iteration of another."""
    deciding: frozenset[str] = frozenset()
    """Named scalars that decide what operations do, beside how often loops iterate."""
    apart: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Sizes of which one at least has to be varied by itself, for each quotient."""
    between: bool = False
    """Other sizes may lead to courses that are not walked."""
    forks: bool = False
    """Blocks may take different branches."""
    scalars: frozenset[str] = frozenset()
    """Named scalars that matter."""
    counters: tuple[str, ...] = ()
    modulus: int = 1
    gaps: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """Why walks at some sizes do not show all numbers of iterations, if so."""
    units: dict[str, int] = field(default_factory=dict[str, int])
    """Size -> how much more of it makes one more iteration, as far as one can see."""


def study(program: Program) -> Control:
    """What decides the course of a placed program."""
    return _ControlStudy(program).result()


class _ControlStudy:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.sources = ScalarSources(program)
        self.varying = self.sources.varying
        self.closure = self.sources.closure
        self.known: Mapping[str, Expr] = self.sources.lets
        """Named scalars with one value, as decisions are written without them."""
        if len(self.sources.merged) <= _MERGED:
            self.known = {**self.sources.lets, **self.sources.merged}
        self.conditions: list[Expr] = []
        self.begun: list[Expr] = []
        """Bounds of loops that only say where they begin."""
        self.decisions: list[ControlDecision] = []
        self.uneven: list[str] = []
        """Loops whose trip count no size says, or another one in each iteration."""
        self.asked: list[o.If] = []
        """Branches with events that ask a table or a tile."""
        self.short: list[tuple[o.For, tuple[o.For, ...], list[Expr]]] = []
        """Loops of a few iterations, those around, and what they ask for each."""
        self.open: list[str] = []
        """Branches that walks at some sizes do not follow."""

    def result(self) -> Control:
        control = Control()
        roots: list[Expr] = []
        gaps: list[str] = [*register_budgets.gaps(self.program)]
        self._visit(self.program.body, (), control, roots, gaps)
        self._short_loops(control, roots)
        everything = self.closure(roots)
        self._quiet_branches({s.name for s in everything}, roots)
        everything = self.closure(roots)
        sized = self.closure([*roots, self.program.grid])
        control.sizes = frozenset(
            s.name for s in sized if s.kind in ("dim", "param", "stride")
        )
        control.by_block = any(s.kind in ("block", "rank") for s in everything)
        counters = {s.name for s in everything if s.kind in ("loop", "let")}
        needed = self.closure([*roots, *self.begun], places=True)
        needed = (s for s in needed if s.kind in ("loop", "let"))
        control.scalars = frozenset(s.name for s in needed)
        of_events = (e for op in walk(self.program.body) for e in event_expressions(op))
        deciding = self.closure(of_events, asked=False)
        control.deciding = frozenset(s.name for s in deciding)
        if self.asked and not left_out_alike(
            self.program, self.sources, self.asked, control.deciding
        ):
            lines = (op.span.line for op in self.asked)
            self.open += (f"line {n}: a table says which way is taken" for n in lines)
        events = self._event_counters(roots)
        control.counters = tuple(sorted(counters & events))
        control.modulus = modulus(roots, self.sources)
        required = (r.cond for r in self.program.requirements)
        found = relations(self.decisions, required)
        control.residues = found.residues
        control.between = bool(found.gaps)
        control.unusual = partial(unusual, self.program, self.sources)
        if not gaps and alike_in_cluster(self.program, self.sources):
            control.kinds = partial(kinds, self.program, self.sources, control.scalars)
        control.gaps = tuple(dict.fromkeys(gaps))
        control.uneven = bool(self.uneven)
        control.open = tuple(dict.fromkeys((*self.uneven, *self.open, *found.gaps)))
        control.units = units(self.program, control.sizes)
        control.units.update(found.units)
        control.contents, control.near = found.contents, found.near
        control.apart = found.apart
        branches = self.closure(list(self.conditions))
        control.conditions = frozenset(
            s.name for s in branches if s.kind in ("dim", "param", "stride")
        )
        return control

    def _quiet_branches(self, names: set[str], roots: list[Expr]) -> None:
        """Branches and loops without events that decide a counter's value."""
        for op in walk(self.program.body):
            if not isinstance(op, o.If | o.For) or has_events(o.Block([op])):
                continue
            if not any(x.result.name in names for x in op.scalars):
                continue
            asked = [op.cond] if isinstance(op, o.If) else [op.start, op.stop, op.step]
            roots += asked
            needed = self.closure(asked)
            if any(self._moves(s) or s.kind in _SIZED for s in needed):
                what = "branch" if isinstance(op, o.If) else "loop"
                line = op.span.line
                self.open.append(f"line {line}: a counter depends on a {what}")

    def _moves(self, sym: Sym) -> bool:
        """Whether a scalar changes with iterations, or may be anything."""
        return sym.name in self.varying or sym.name in self.sources.data

    def _event_counters(self, roots: list[Expr]) -> set[str]:
        """Counters used in expressions of events directly or through definitions."""
        return {
            s.name
            for e in roots
            for s in self.closure([e])
            if s.name in self.varying or s.kind == "let"
        }

    # ------------------------------------------------------------------- visits

    def _visit(
        self,
        block: o.Block,
        around: tuple[o.For, ...],
        control: Control,
        roots: list[Expr],
        gaps: list[str],
    ) -> None:
        for op in block.ops:
            match op:
                case o.For():
                    if has_events(op.body):
                        self._loop(op, around, control, roots)
                        self._visit(op.body, (*around, op), control, roots, gaps)
                case o.If():
                    if has_events(op.then) or has_events(op.other):
                        self._branch(op, around, control, roots)
                    self._visit(op.then, around, control, roots, gaps)
                    self._visit(op.other, around, control, roots, gaps)
                case o.Roles():
                    for role in op.roles:
                        self._visit(role.body, (), control, roots, gaps)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    for e in event_expressions(op):
                        roots.append(e)
                        if self.sources.elements([e]):
                            gaps.append(f"line {op.span.line}: {e} comes from a table")
                        elif (part := moving_otherwise(e, self.sources)) is not None:
                            gaps.append(
                                f"line {op.span.line}: {part} does not repeat with the "
                                "loop's iterations"
                            )
                        if self._sized(e):
                            line = op.span.line
                            gaps.append(f"line {line}: {e} depends on sizes or blocks")
                case _:
                    assert_never(op)

    def _loop(
        self,
        op: o.For,
        around: tuple[o.For, ...],
        control: Control,
        roots: list[Expr],
    ) -> None:
        bounds = [op.start, op.stop, op.step]
        needed = self.closure(bounds)
        if any(s.name in self.varying for s in needed):
            # Where it begins may change with the iterations around it, if nothing else
            # does.
            whole = length(op, self.known, self.varying)
            if whole is not None:
                self.begun += bounds
                bounds = [whole, op.step]
                needed = self.closure(bounds)
        roots.extend(bounds)
        if any(s.name in self.sources.data for s in needed):
            self.uneven.append(
                f"line {op.span.line}: a table says how many iterations a loop has"
            )
        if any(s.name in self.varying for s in needed):
            self.uneven.append(
                f"line {op.span.line}: how many iterations a loop has changes with the "
                "iteration of another"
            )
        control.depth[op] = len(around)
        apart = self._length(op)
        self.decisions.append(ControlDecision(op, apart))
        if all(isinstance(e, Const) for e in bounds):
            return
        short = conditions_of(op, apart)
        if short is not None and not any(self._moves(s) for s in needed):
            self.short.append((op, around, short))
        control.loops[op] = (
            frozenset(
                s.name
                for s in self.closure([*bounds, self.program.grid])
                if s.kind in ("dim", "param", "stride")
            )
            if any(s.kind == "block" for s in needed)
            else frozenset(
                s.name for s in needed if s.kind in ("dim", "param", "stride")
            )
        )

    def _short_loops(self, control: Control, roots: list[Expr]) -> None:
        """Take loops of a few iterations for branches, beside longer ones of a size."""
        short = {op for op, _, _ in self.short}
        long = [sizes for op, sizes in control.loops.items() if op not in short]
        for op, around, asked in self.short:
            if not any(control.loops[op] & sizes for sizes in long):
                continue
            del control.loops[op]
            self.decisions = [d for d in self.decisions if d.op is not op]
            for cond in asked:
                self._branch(_asking(cond, op), around, control, roots)

    def _length(self, op: o.For) -> Expr:
        """Where a loop ends without where it begins."""
        whole = length(op, self.known, self.varying)
        if whole is not None:
            return whole
        return expanded(binary("-", op.stop, op.start), self.known, self.varying)

    def _branch(
        self,
        op: o.If,
        around: tuple[o.For, ...],
        control: Control,
        roots: list[Expr],
    ) -> None:
        roots.append(op.cond)
        needed = self.closure([op.cond])
        asks_data = any(s.name in self.sources.data for s in needed)
        whole = expanded(op.cond, self.known, set())
        several = None if asks_data else by_value(whole, around, self._length)
        if several is not None:
            for cond, left in several:
                self._branch(_asking(cond, op), left, control, roots)
            return
        self.conditions.append(op.cond)
        control.sized |= self._sized(op.cond)
        cond = expanded(op.cond, self.known, self.varying)
        self.decisions.append(ControlDecision(op, cond, around))
        if asks_data:
            control.tables = True
            self.asked.append(op)
        elif any(s.name in self.varying for s in needed):
            varying = self.varying | self._named(needed)
            changes = flips(op.cond, around, varying, self.known)
            if changes is None:
                self.open.append(
                    f"line {op.span.line}: {op.cond} may change anywhere in a loop"
                )
            else:
                control.lead = max(control.lead, changes[0])
                control.tail = max(control.tail, changes[1])
        control.forks |= any(s.kind in ("block", "rank") for s in needed)

    def _sized(self, e: Expr) -> bool:
        """Whether sizes or the block decide a value, beside how often loops turned."""
        seen: set[str] = set()
        todo = [e]
        while todo:
            for sym in symbols(todo.pop()):
                if sym.kind in _SIZED:
                    return True
                if sym.name in seen:
                    continue
                seen.add(sym.name)
                if sym.name in self.sources.variables:
                    start, _, step = self.sources.variables[sym.name]
                    todo += start, step
                elif sym.name in self.sources.merged:
                    # Which one it is, is a question about the branch.
                    todo += self.sources.values(sym.name)
                else:
                    todo += self.sources.of(sym.name)
        return False

    def _named(self, needed: set[Sym]) -> set[str]:
        """Scalars that come from what changes with a loop's iterations."""
        return {
            s.name
            for s in needed
            if s.kind == "let" and self.sources.varies(self.sources.of(s.name))
        }


def _asking(cond: Expr, op: o.For | o.If) -> o.If:
    """A branch that an operation is, for one of its iterations."""
    return o.If(cond, o.Block([]), o.Block([]), span=op.span)
