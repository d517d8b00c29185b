"""Do walks at a few sizes meet every combination of trip counts?

Sizes are walked in steps of their tile, so that K = 64, 128, ... stand for all K. That
is right as long as K decides the course through one quotient only:

    for k in range(0, K, 64)       (K + 63) // 64 iterations
    for k in range(64, K, 64)      (K + 63) // 64 - 1
    if k + 64 < K                  whether k // 64 + 1 < (K + 63) // 64

With ``K // 64`` in another role the two agree at K = 64, 128, ... and nowhere else.
Every loop and condition is brought to normal form. Where all loops iterate equally
often but for a constant, or each size is inside one atom only, multiples of tiles stand
for all. Where a size is inside several quotients by constants, their values repeat with
its remainder: one size of each kind is walked. All else is a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    substitute,
    symbols,
)
from argus.verify.decide import prove
from argus.verify.decide.atoms import (
    Chosen,
    Deficit,
    Part,
    Quotient,
    Ratio,
    Share,
    Symbol,
    Xor,
)
from argus.verify.decide.conditions import context_of
from argus.verify.decide.evaluation import Unmodelled, has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import EVERYTHING, Poly, variable
from argus.verify.verdict import Verdict

__all__ = [
    "ControlDecision",
    "SizeRelations",
    "forward",
    "least_trip_count",
    "relations",
    "trip_count_form",
]

_MOST = 4096
"""A longer period of a size is not gone through."""
_NEAR = 12
"""Tiles of a size; a condition on sizes that changes at more is not followed."""
_LEAST_MS = 1000
"""For the proof that a loop iterates at all."""
_SIZES = ("dim", "param", "stride", "block", "rank", "sms")


@dataclass(frozen=True)
class ControlDecision:
    """What decides the course at an operation: a loop's length, or a condition.

    ``lets`` are expanded; ``around`` are the loops that a condition is in.
    """

    op: o.For | o.If
    value: Expr
    around: tuple[o.For, ...] = ()


@dataclass
class SizeRelations:
    """What of a size says more than how many tiles it has.

    ``residues``: numbers of elements beyond a multiple of ``units`` that lead to
    different courses, for sizes where 0 does not stand for all. ``gaps``: where not
    even that says it all.
    """

    residues: dict[str, list[int]]
    units: dict[str, int]
    gaps: list[str]
    contents: Mapping[o.For, int] = field(default_factory=dict["o.For", int])
    """By how much trip counts of a loop differ at least, if they differ."""
    near: int = 0
    """Conditions may differ where loops iterate up to so often."""
    apart: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Sizes of which one at least has to be varied by itself, for each quotient."""


def relations(
    decisions: Sequence[ControlDecision], required: Iterable[Expr]
) -> SizeRelations:
    """Which sizes have to be walked between their tiles."""
    decisions = [d for d in decisions if _sizes(d)]
    facts = tuple(f for f in conjuncts(required) if not has_floats(f))
    loops = [d for d in decisions if isinstance(d.op, o.For)]
    seen = _Seen(context_of((*facts, *forward(d.op for d in loops))))
    steps = sorted({_step(d.op) for d in loops} - {0})
    gaps: list[str] = []
    forms: list[Poly] = []
    for d in loops:
        try:
            forms.append(trip_count_form(seen.context, d))
        except Unmodelled as reason:
            # Equal to itself; what is inside is not known.
            forms.append(seen.context.atom(Symbol(f"<{d.value}>"), EVERYTHING))
            gaps.append(f"line {d.op.span.line}: {reason}")
    contents = {
        d.op: max(form.content, 1)
        for d, form in zip(loops, forms, strict=True)
        if isinstance(d.op, o.For)
    }
    alike = len({form.varying for form in forms}) <= 1
    conditions = [d for d in decisions if isinstance(d.op, o.If)]
    if alike and not conditions:
        return SizeRelations({}, {}, [], contents)
    for d, form in zip(loops, forms, strict=True):
        seen.add(form)
        seen.of_loops.update(form.atoms())
        if not alike and any(len(monomial) > 1 for monomial, _ in form.varying.terms):
            # With fewer iterations of one size, others have fewer by a multiple.
            line = d.op.span.line
            gaps.append(f"line {line}: how often a loop iterates is a product of sizes")
    steps = sorted({*steps, *seen.tiles()})
    for d in conditions:
        if not seen.condition(d, steps):
            line = d.op.span.line
            gaps.append(f"line {line}: {d.value} is not followed for all sizes")
    found = SizeRelations({}, {}, gaps, contents, seen.near)
    for size in seen.through:
        seen.divide(size, found)
    found.apart = seen.apart()
    return found


def least_trip_count(d: ControlDecision, first: int, facts: Sequence[Expr]) -> int:
    """The largest number up to ``first`` of which it is shown that a loop reaches it.

    A loop that iterates ``first`` times less often then iterates 0 times, not fewer.
    """
    step = _step(d.op)
    for iterations in range(first if step else 0, 0, -1):
        enough = binary(">=", d.value, (iterations - 1) * step + 1)
        if prove(enough, list(facts), timeout_ms=_LEAST_MS).verdict is Verdict.PROVED:
            return iterations
    return 0


class _Seen:
    """The atoms through which sizes are seen."""

    def __init__(self, context: Normal) -> None:
        self.context = context
        self.through: dict[int, set[int]] = {}
        self.of_loops: set[int] = set()
        """The atoms that say how often loops iterate."""
        self.near = 0
        """Conditions on sizes alone may change up to so many of their tiles."""

    def add(self, form: Poly) -> None:
        """All sizes inside a form."""
        for atom in form.atoms():
            for size in self.context.reached(atom):
                self.through.setdefault(size, set()).add(atom)

    def tiles(self) -> Iterator[int]:
        """By how much sizes are divided where loops count their tiles."""
        for atom in self.of_loops:
            match self.context.atoms[atom]:
                case Quotient(numerator=numerator, divisor=divisor):
                    for size in numerator.atoms():
                        if isinstance(self.context.atoms[size], Symbol | Part):
                            yield divisor * self._named(size)[1]
                case (
                    Symbol() | Part() | Share() | Ratio() | Xor() | Deficit() | Chosen()
                ):
                    pass

    def condition(self, d: ControlDecision, steps: Sequence[int]) -> bool:
        """What is > 0 or not, in steps of a loop where that adds no atom.

        Walks of few iterations meet what changes near an end of a loop, however often
        that iterates; where sizes alone are compared, only what changes at few tiles.
        """
        positive = _positive(d.value)
        if positive is None:
            return False
        own = {op.var.name for op in d.around}
        try:
            for e in positive:
                fixed = not own & {s.name for s in symbols(e)}
                if fixed and not _kinds(e) - {"rank"}:
                    continue
                whole = _by_iteration(e, d.around)
                forms = [
                    self.context.of(binary("//", binary("+", whole, s - 1), s))
                    for s in (*steps, 1)
                ]
                form = next((f for f in forms if self._old(f)), forms[0])
                self.add(form)
                if fixed and not set(form.atoms()) <= self.of_loops:
                    return False
                if fixed:
                    changes = abs(form.constant) // max(form.content, 1) + 1
                    linear = [len(monomial) for monomial, _ in form.varying.terms]
                    if linear != [1] or changes > _NEAR:
                        return False
                    self.near = max(self.near, changes)
        except Unmodelled:
            return False
        return True

    def _old(self, form: Poly) -> bool:
        return all(
            atom in self.through.get(size, ())
            for atom in form.atoms()
            for size in self.context.reached(atom)
        )

    def apart(self) -> list[frozenset[str]]:
        """The names of sizes in each atom."""
        names: dict[int, set[str]] = {}
        for size, atoms in self.through.items():
            name, _ = self._named(size)
            for atom in atoms:
                names.setdefault(atom, set()).add(name)
        # Iterations of loops go on by themselves.
        several = {frozenset(n for n in one if n[-1] != "#") for one in names.values()}
        return sorted(several - {frozenset()}, key=sorted)

    def divide(self, size: int, into: SizeRelations) -> None:
        """Which remainders of a size tell its atoms apart, where there are several."""
        atoms = sorted(self.through[size])
        name, factor = self._named(size)
        if len(atoms) == 1 or name.endswith("#"):
            return
        lines: list[tuple[int, int, int]] = []
        for atom in atoms:
            line = self._line(atom, size)
            if line is None:
                into.gaps.append(f"{name} decides how loops iterate in several ways")
                return
            lines.append(line)
        period = lcm(*(d for _, _, d in lines))
        if period > _MOST:
            into.gaps.append(f"{name} decides how loops iterate in several ways")
            return
        chosen: dict[tuple[int, ...], int] = {}
        for x in range(period):
            chosen.setdefault(tuple((a * x + b) // d for a, b, d in lines), x)
        into.units[name] = period * factor
        into.residues[name] = [x * factor for x in chosen.values()]

    def _named(self, size: int) -> tuple[str, int]:
        """The size's name, and how much of it one of this symbol is."""
        match self.context.atoms[size]:
            case Symbol(name=name):
                return name, 1
            case Part(of=of, divisor=divisor):
                name, factor = self._named(of)
                return name, factor * divisor
            case _:
                raise AssertionError("no symbol")

    def _line(self, atom: int, size: int) -> tuple[int, int, int] | None:
        """(a, b, d) where the atom is (a * size + b) // d."""
        if atom == size:
            return 1, 0, 1
        match self.context.atoms[atom]:
            case Quotient(numerator=n, divisor=d) if n.atoms() == {size}:
                a = n.coefficient((size,))
                if (n - variable(size).scaled(a)).is_constant():
                    return a, n.constant, d
                return None
            case (
                Symbol() | Part() | Share() | Quotient() | Ratio() | Xor() | Deficit()
                | Chosen()
            ):  # fmt: skip
                return None


def trip_count_form(context: Normal, d: ControlDecision) -> Poly:
    """The trip count, as long as it is not 0."""
    return context.of(_trip_count(d))


def _trip_count(d: ControlDecision) -> Expr:
    assert isinstance(d.op, o.For)
    # The step counts, too: with a grid of one block, a length that is one less makes
    # one iteration less, with a grid of two it need not.
    most = binary("-", binary("+", d.value, d.op.step), 1)
    return binary("//", most, d.op.step)


def forward(ops: Iterable[o.For | o.If]) -> tuple[Expr, ...]:
    """That steps of loops that are no constants are positive, as they have to be."""
    steps = (op.step for op in ops if isinstance(op, o.For) and not _step(op))
    return conjuncts([binary(">=", step, 1) for step in dict.fromkeys(steps)])


def _step(op: o.For | o.If) -> int:
    constant = isinstance(op, o.For) and isinstance(op.step, Const)
    return int(op.step.value) if constant else 0  # type: ignore[union-attr]


def _sizes(d: ControlDecision) -> bool:
    """Whether sizes or the block decide."""
    kinds = _kinds(d.value)
    # All blocks of a cluster are walked: conditions may ask which one it is.
    return bool(kinds - {"rank"} if isinstance(d.op, o.If) else kinds)


def _kinds(e: Expr) -> set[str]:
    return {s.kind for s in symbols(e)} & set(_SIZES)


def _positive(cond: Expr) -> list[Expr] | None:
    """What has to be > 0, or not, for a condition to hold; None: not known."""
    match cond:
        case Binary(op="and" | "or"):
            left, right = _positive(cond.left), _positive(cond.right)
            return None if left is None or right is None else left + right
        case Binary(op="<"):
            return [binary("-", cond.right, cond.left)]
        case Binary(op=">"):
            return [binary("-", cond.left, cond.right)]
        case Binary(op="<="):
            return [binary("+", binary("-", cond.right, cond.left), 1)]
        case Binary(op=">="):
            return [binary("+", binary("-", cond.left, cond.right), 1)]
        case Binary(op="==" | "!="):
            apart = binary("-", cond.left, cond.right)
            return [apart, binary("-", 0, apart)]
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(cond)


def _by_iteration(e: Expr, around: Sequence[o.For]) -> Expr:
    """Variables of loops by the number of the iteration."""
    for op in around:
        iteration = Sym(f"{op.var.name}#", "loop")
        value = binary("+", op.start, binary("*", iteration, op.step))
        e = substitute(e, {op.var.name: value})
    return e
