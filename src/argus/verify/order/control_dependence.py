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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import lcm
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order import register_budgets
from argus.verify.order.dependent_trip_counts import Kinds, kinds
from argus.verify.order.events import event_expressions, has_events
from argus.verify.order.peeling import flips
from argus.verify.order.size_relations import Alike, ControlDecision, relations
from argus.verify.order.size_steps import units
from argus.verify.order.trip_count import expanded, length

__all__ = ["Control", "study"]


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
    """It depends on elements of run-time tables."""
    lead: int = 0
    """Conditions may differ in so many first iterations of a loop."""
    tail: int = 0
    """Conditions may differ in so many last iterations of a loop."""
    sized: bool = False
    """Sizes or the block decide more than how often loops iterate."""
    residues: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    """How much more than multiples of tiles a size has to be walked with."""
    classes: list[Alike] = field(default_factory=list[Alike])
    """Loops that iterate equally often, where sizes cannot be used to vary that."""
    bounded: Callable[[], list[Alike]] = list
    """The same, asked where no size makes a loop iterate more often."""
    apart: Callable[[], Iterable[Mapping[str, int]]] = tuple
    """Sizes at which trip counts differ as they do nowhere else: to find mistakes."""
    kinds: Callable[[], Kinds | str] = lambda: "blocks of a cluster"
    """Loops by how often they iterate, or why that is not known."""
    uneven: bool = False
    """How often a loop iterates changes with the iteration of another."""
    deciding: frozenset[str] = frozenset()
    """Named scalars that decide what operations do, beside how often loops iterate."""
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
        self.made: dict[str, list[Expr]] = {}
        """Symbol -> expressions that its value comes from."""
        self.begins: dict[str, list[Expr]] = {}
        """Variables of loops -> what their values come from, but for the end."""
        self.varying: set[str] = set()
        """Symbols whose value changes from iteration to iteration of a loop."""
        self.tables: set[str] = set()
        self.coords: dict[str, list[Expr]] = {}
        """Where an element of a table comes from; its value may be anything."""
        self.conditions: list[Expr] = []
        self.begun: list[Expr] = []
        """Bounds of loops that only say where they begin."""
        self.decisions: list[ControlDecision] = []
        self.uneven: list[str] = []
        """Loops whose trip count no size says, or another one in each iteration."""
        self.open: list[str] = []
        """Branches that walks at some sizes do not follow."""
        for op in walk(program.body):
            self._define(op)

    def _define(self, op: o.AnyOp) -> None:
        match op:
            case o.Let():
                self.made[op.sym.name] = [op.value]
            case o.LoadScalar():
                self.tables.add(op.sym.name)
                self.coords[op.sym.name] = list(op.coords)
            case o.For():
                self.made[op.var.name] = [op.start, op.stop, op.step]
                self.begins[op.var.name] = [op.start, op.step]
                self.varying.add(op.var.name)
                for carry in op.scalars:
                    self.made[carry.arg.name] = [carry.init, carry.yielded]
                    self.made[carry.result.name] = [carry.init, carry.yielded]
                    self.varying.add(carry.arg.name)
            case o.If():
                for merge in op.scalars:
                    self.made[merge.result.name] = [merge.then, merge.other]
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def closure(self, expressions: Iterator[Expr] | list[Expr]) -> set[Sym]:
        """Every symbol that some expressions depend on, through definitions."""
        found: dict[str, Sym] = {}
        todo = list(expressions)
        while todo:
            for sym in symbols(todo.pop()):
                if sym.name not in found:
                    found[sym.name] = sym
                    todo.extend(self.made.get(sym.name, ()))
        return set(found.values())

    def result(self) -> Control:
        control = Control()
        roots: list[Expr] = []
        gaps: list[str] = [*register_budgets.gaps(self.program)]
        self._visit(self.program.body, (), control, roots, gaps)
        everything = self.closure(roots)
        self._quiet_branches({s.name for s in everything}, roots)
        everything = self.closure(roots)
        sized = self.closure([*roots, self.program.grid])
        control.sizes = frozenset(
            s.name for s in sized if s.kind in ("dim", "param", "stride")
        )
        control.by_block = any(s.kind in ("block", "rank") for s in everything)
        counters = {s.name for s in everything if s.kind in ("loop", "let")}
        self.made.update(self.coords)
        needed = self.closure([*roots, *self.begun])
        needed = (s for s in needed if s.kind in ("loop", "let"))
        control.scalars = frozenset(s.name for s in needed)
        for name in self.coords:
            del self.made[name]
        of_events = (e for op in walk(self.program.body) for e in event_expressions(op))
        control.deciding = frozenset(s.name for s in self.closure(of_events))
        events = self._event_counters(roots)
        control.counters = tuple(sorted(counters & events))
        control.modulus = self._modulus(roots)
        required = (r.cond for r in self.program.requirements)
        found = relations(self.decisions, required)
        control.residues = found.residues
        control.between = bool(found.gaps)
        # Blocks of a cluster would have to iterate equally often, too.
        if self.program.cluster == 1 and not gaps:
            control.kinds = partial(
                kinds, self.program, self.made, self.varying, control.scalars
            )
            if not (self.uneven or self.open):
                control.classes = found.classes
                control.bounded = found.bounded
                control.apart = found.apart
        control.gaps = tuple(dict.fromkeys(gaps))
        control.uneven = bool(self.uneven)
        control.open = tuple(dict.fromkeys((*self.uneven, *self.open, *found.gaps)))
        control.units = units(self.program, control.sizes)
        for name, unit in found.units.items():
            control.units[name] = lcm(control.units.get(name, 1), unit)
        branches = self.closure(list(self.conditions))
        control.conditions = frozenset(
            s.name for s in branches if s.kind in ("dim", "param", "stride")
        )
        return control

    def _quiet_branches(self, names: set[str], roots: list[Expr]) -> None:
        """Branches without events that decide a counter's value."""
        for op in walk(self.program.body):
            if not isinstance(op, o.If) or has_events(op.then) or has_events(op.other):
                continue
            if not any(m.result.name in names for m in op.scalars):
                continue
            roots.append(op.cond)
            needed = {s.name for s in self.closure([op.cond])}
            if needed & (self.tables | self.varying):
                self.open.append(f"line {op.span.line}: a counter depends on a branch")

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
                        self._loop(op, around, control, roots, gaps)
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
                        self._shifts(e, op, gaps)
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
        gaps: list[str],
    ) -> None:
        bounds = [op.start, op.stop, op.step]
        needed = self.closure(bounds)
        if any(s.name in self.varying for s in needed):
            # Where it begins may change with the iterations around it, if nothing else
            # does.
            whole = length(op, self.made, self.varying)
            if whole is not None:
                self.begun += bounds
                bounds = [whole, op.step]
                needed = self.closure(bounds)
        roots.extend(bounds)
        if any(s.name in self.tables for s in needed):
            self.uneven.append(
                f"line {op.span.line}: a table says how many iterations a loop has"
            )
        if any(s.name in self.varying for s in needed):
            self.uneven.append(
                f"line {op.span.line}: how many iterations a loop has changes with the "
                "iteration of another"
            )
        control.depth[op] = len(around)
        apart = binary("-", op.stop, op.start)
        whole = length(op, self.made, self.varying)
        apart = expanded(apart, self.made, self.varying) if whole is None else whole
        self.decisions.append(ControlDecision(op, apart))
        if all(isinstance(e, Const) for e in bounds):
            return
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

    def _branch(
        self,
        op: o.If,
        around: tuple[o.For, ...],
        control: Control,
        roots: list[Expr],
    ) -> None:
        roots.append(op.cond)
        self.conditions.append(op.cond)
        control.sized |= self._sized(op.cond)
        cond = expanded(op.cond, self.made, self.varying)
        self.decisions.append(ControlDecision(op, cond, around))
        needed = self.closure([op.cond])
        if any(s.name in self.tables for s in needed):
            control.tables = True
            if has_events(op.then) and has_events(op.other):
                self.open.append(
                    f"line {op.span.line}: a table decides between two courses"
                )
            kept = op.other if has_events(op.then) else op.then
            for merge in op.scalars:
                skipped = merge.other if kept is op.other else merge.then
                if not isinstance(skipped, Sym):
                    self.open.append(
                        f"line {op.span.line}: a counter moves where a table skips"
                    )
        elif any(s.name in self.varying for s in needed):
            changes = flips(op.cond, around, self.varying | self._named(needed))
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
                if sym.kind in ("dim", "param", "stride", "block"):
                    return True
                if sym.name not in seen:
                    seen.add(sym.name)
                    made = self.made.get(sym.name, [])
                    todo.extend(self.begins.get(sym.name, made))
        return False

    def _named(self, needed: set[Sym]) -> set[str]:
        """Scalars that come from what changes with a loop's iterations."""
        return {
            s.name
            for s in needed
            if s.kind == "let"
            and any(x.name in self.varying for x in self.closure(self.made[s.name]))
        }

    def _shifts(self, e: Expr, op: o.AnyOp, gaps: list[str]) -> None:
        """If an event's expression changes with the iteration, it must be shiftable."""
        if any(s.name in self.tables for s in self.closure([e])):
            gaps.append(f"line {op.span.line}: {e} comes from a table")
            return
        seen: set[str] = set()
        todo = [e]
        while todo:
            one = todo.pop()
            if not any(s.name in self.varying for s in self.closure([one])):
                continue
            if not self._affine(one):
                gaps.append(
                    f"line {op.span.line}: {one} does not repeat with the "
                    "loop's iterations"
                )
                return
            for sym in symbols(one):
                if sym.name not in seen:
                    seen.add(sym.name)
                    if sym.kind != "loop":
                        todo.extend(self.made.get(sym.name, ()))

    def _affine(self, e: Expr) -> bool:
        match e:
            case Const() | Sym():
                return True
            case Binary(op="+" | "-"):
                return self._affine(e.left) and self._affine(e.right)
            case Binary(op="*"):
                return (self._affine(e.left) and self._fixed(e.right)) or (
                    self._affine(e.right) and self._fixed(e.left)
                )
            case Binary(op="//" | "%"):
                return self._affine(e.left) and isinstance(e.right, Const)
            case Binary() | Select():
                return self._fixed(e)
            case _:
                assert_never(e)

    def _fixed(self, e: Expr) -> bool:
        return not any(s.name in self.varying for s in self.closure([e]))

    def _modulus(self, roots: list[Expr]) -> int:
        found = 1
        todo, seen = list(roots), set[str]()
        while todo:
            one = todo.pop()
            for value in self._divisors(one):
                if found < 1 << 16:
                    found = lcm(found, value)
            for sym in symbols(one):
                if sym.name in self.varying and sym.name not in seen:
                    seen.add(sym.name)
                    todo.extend(self.made.get(sym.name, ()))
        return found

    def _divisors(self, e: Expr) -> Iterator[int]:
        """Constants that divide what changes from iteration to iteration."""
        match e:
            case Binary():
                divided = e.op in ("//", "%") and not self._fixed(e.left)
                if divided and isinstance(e.right, Const):
                    yield max(int(e.right.value), 1)
                yield from self._divisors(e.left)
                yield from self._divisors(e.right)
            case Select():
                for part in (e.cond, e.then, e.other):
                    yield from self._divisors(part)
            case Const() | Sym():
                return
            case _:
                assert_never(e)
