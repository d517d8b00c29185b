"""What is assumed of tables, held against itself and what a launch requires: AG0318.

    obligations(program)

An assumption is about every entry of a table, or about every two. Where no few entries
at different positions satisfy all of it, no table does that has so many, and whatever
follows would be proved of it. Sizes that make tables shorter are no way out: a launch
admits others, unless the kernel requires what it means.

That some few entries do not contradict each other shows that assumptions say something;
that tables of every size satisfy them is not asked.

An assumption about a block is one about each block that comes there. Every launch that
does anything has a block 0, of which it can be true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Operand, Sym, binary, substitute, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import BLOCK_INDEX, Program
from argus.verify.decide import negate, prove
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.tags.annotated import of_sizes
from argus.verify.verdict import Obligation, Verdict

__all__ = ["excluded", "obligations"]

RULE = "AG0318"
ENTRIES = 4
"""Entries at different positions that are looked at together, at most."""
_NAMES = ("i", "j", "k", "l")
_SIZES = frozenset({"dim", "param", "stride", "sms"})
_MS = 500


@dataclass(frozen=True)
class _Fact:
    """A condition, and the assumption or requirement that it is an instance of."""

    cond: Expr
    text: str


@dataclass(frozen=True)
class _Scope:
    """What is known at a place: scalars by their values, facts, and tables' facts."""

    values: Mapping[str, Expr]
    facts: tuple[_Fact, ...]
    tables: tuple[o.Assume, ...] = ()
    turns: bool = False
    """Whether it is inside of a loop."""
    branch: tuple[Expr, ...] = ()
    """Conditions of the branches around it."""
    outside: tuple[_Fact, ...] = ()
    """Facts outside of these branches."""

    def within(self, cond: Expr) -> _Scope:
        """In a branch with a condition."""
        made = self.knowing(cond, str(cond))
        outside = self.outside if self.branch else self.facts
        branch = (*self.branch, made.facts[-1].cond)
        return replace(made, branch=branch, outside=outside)

    def knowing(self, cond: Expr, text: str) -> _Scope:
        """With one fact more."""
        fact = _Fact(substitute(cond, dict(self.values)), text)
        return replace(self, facts=(*self.facts, fact))

    def closed(self, op: o.Assume) -> o.Assume:
        """An assumption about tables over what the program does not name itself."""
        return replace(op, cond=substitute(op.cond, dict(self.values)))


def obligations(program: Program) -> Iterator[Obligation]:
    """That entries of tables satisfy what is assumed of them together."""
    required = tuple(_Fact(r.cond, r.why) for r in program.requirements)
    for place in _places(program.body, _Scope({}, required)):
        if isinstance(place, _Scope):
            yield from _satisfied(place)
        else:
            yield from _first_block(*place)


def excluded(program: Program, divisors: Mapping[str, int]) -> bool:
    """Whether no sizes satisfy what a program requires and have these divisors.

    Of the grid and of blocks nothing is asked: a launch without a block is one.
    """
    required = [_Fact(r.cond, r.why) for r in of_sizes(program).requirements]
    named = {s.name: s for fact in required for s in symbols(fact.cond)}
    for name, number in divisors.items():
        if name in named:
            rest = binary("%", named[name], number)
            required.append(_Fact(binary("==", rest, 0), f"{number} divides {name}"))
    return _contradict(required) is Verdict.PROVED


def _places(
    block: o.Block, scope: _Scope
) -> Iterator[_Scope | tuple[_Scope, o.Assume]]:
    """Assumptions: of tables as the scope with them, others beside their scope."""
    for op in block.ops:
        match op:
            case o.Let():
                value = substitute(op.value, dict(scope.values))
                scope = replace(scope, values={**scope.values, op.sym.name: value})
            case o.Assume() if op.tables:
                made = (*scope.tables, scope.closed(op))
                scope = replace(scope, tables=made)
                yield scope
            case o.Assume():
                yield scope, op
                if all(s.kind in _SIZES for s in symbols(op.cond)):
                    scope = scope.knowing(op.cond, op.text)
            case o.If():
                yield from _places(op.then, scope.within(op.cond))
                yield from _places(op.other, scope.within(negate(op.cond)))
            case o.For():
                yield from _places(op.body, replace(scope, turns=True))
            case o.Roles():
                for role in op.roles:
                    every = {x.span for x in role.body.ops if isinstance(x, o.Assume)}
                    for inner in _places(role.body, scope):
                        yield inner
                        if isinstance(inner, tuple):
                            continue
                        if inner.tables[-1].span in every:
                            # Tables are the same for all roles.
                            made = (*scope.tables, inner.tables[-1])
                            scope = replace(scope, tables=made)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Tag() | o.Check() | o.Expect()
                | o.Trust() | o.Print()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def _first_block(scope: _Scope, op: o.Assume) -> Iterator[Obligation]:
    """Whether what is assumed of blocks is true of the first one of some launch."""
    first: dict[str, Operand] = {BLOCK_INDEX.name: 0}
    cond = substitute(op.cond, dict(scope.values))
    if scope.turns or BLOCK_INDEX not in symbols(cond):
        return
    for branch in scope.branch:
        cond = binary("or", negate(branch), cond)
    around = scope.outside if scope.branch else scope.facts
    facts = [*around, _Fact(cond, f"`{op.text}` is assumed of every block")]
    facts = [_Fact(substitute(f.cond, first), f.text) for f in facts]
    claim = "the first block satisfies what is assumed of every one"
    known = _contradict(facts)
    if known is Verdict.UNKNOWN:
        reason = f"the solver does not say whether block 0 can satisfy `{op.text}`"
        yield Obligation(RULE, claim, op.span, known, "z3", reason)
    if known is Verdict.PROVED:
        found = Counterexample(
            f"block 0 of no launch satisfies `{op.text}`",
            "from here on everything would be proved",
            ThreadPlace("", block=0),
            notes=tuple(dict.fromkeys(_note(fact) for fact in _core(facts))),
        )
        yield Obligation(RULE, claim, op.span, Verdict.REFUTED, "z3", "", found)


def _satisfied(scope: _Scope) -> Iterator[Obligation]:
    """Whether one entry, two, and more satisfy the last assumption with the others."""
    latest = scope.tables[-1]
    name = latest.tables[0].name
    claim = f"entries of {name} satisfy all assumptions"
    most = ENTRIES if any(t.others for t in scope.tables) else 1
    reason = ""
    for count in range(1, most + 1):
        long = _long(scope, latest.tables[0], count)
        if long is None:
            break  # no launch has so many
        facts = [*scope.facts, long, *_instances(scope, count)]
        match _contradict(facts):
            case Verdict.PROVED:
                found = _shown(name, count, _core(facts))
                yield Obligation(
                    RULE, claim, latest.span, Verdict.REFUTED, "z3", "", found
                )
                return
            case Verdict.UNKNOWN:
                reason = f"the solver does not say whether {count} entries can"
            case Verdict.REFUTED | Verdict.EQUAL:
                pass
    verdict = Verdict.UNKNOWN if reason else Verdict.PROVED
    yield Obligation(RULE, claim, latest.span, verdict, "z3", reason)


def _shown(name: str, count: int, core: Sequence[_Fact]) -> Counterexample:
    """A contradiction as evidence."""
    return Counterexample(
        _message(name, count),
        "from here on everything would be proved",
        ThreadPlace(""),
        notes=tuple(dict.fromkeys(_note(fact) for fact in core)),
    )


def _message(name: str, count: int) -> str:
    if count == 1:
        return f"no entry of {name} satisfies all that is assumed of it"
    return f"no {count} entries of {name} satisfy all that is assumed of them"


def _note(fact: _Fact) -> str:
    shown = str(fact.cond)
    return shown if fact.text == shown else f"{shown}, since {fact.text}"


def _long(scope: _Scope, table: GlobalTensor, count: int) -> _Fact | None:
    """That a table has so many entries; None where no launch admits that."""
    for axis, extent in enumerate(table.shape):
        cond = binary(">=", extent, count)
        others = prod(
            int(e.value)
            for i, e in enumerate(table.shape)
            if i != axis and isinstance(e, Const)
        )
        fact = _Fact(cond, f"{table.name} has {count} entries")
        if others and _contradict([*scope.facts, fact]) is not Verdict.PROVED:
            return fact
    return None


def _instances(scope: _Scope, count: int) -> Iterator[_Fact]:
    """What is assumed of so many entries, of each alone and of each two."""
    seen: set[str] = set()
    for op in scope.tables:
        said = f"`{op.text}` is assumed of "
        for table in op.tables:
            if table.name not in seen:
                seen.add(table.name)
                if table.dtype.is_float:
                    continue
                low, high = table.dtype.integers
                text = f"entries of {table.name} are {table.dtype.name}"
                for number in range(count):
                    entry = _entry(table, number)
                    yield _Fact(binary(">=", entry, low), text)
                    yield _Fact(binary("<=", entry, high), text)
        if op.others:
            for one, other in permutations(range(count), 2):
                env = _bound(op.elements, op.tables, one)
                env |= _bound(op.others, op.tables, other)
                yield _Fact(substitute(op.cond, env), f"{said}each two entries")
            continue
        for number in range(count):
            env = _bound(op.elements, op.tables, number)
            yield _Fact(substitute(op.cond, env), f"{said}each entry")


def _bound(
    elements: Sequence[Sym], tables: Sequence[GlobalTensor], number: int
) -> dict[str, Expr]:
    pairs = zip(elements, tables, strict=True)
    return {sym.name: _entry(table, number) for sym, table in pairs}


def _entry(table: GlobalTensor, number: int) -> Sym:
    return Sym(f"{table.name}[{_NAMES[number]}]", "gather", nonneg=False)


def _contradict(facts: Sequence[_Fact]) -> Verdict:
    """Proved where no values satisfy the facts, refuted where some do."""
    return prove(Const(False), [f.cond for f in facts], timeout_ms=_MS).verdict


def _core(facts: list[_Fact]) -> list[_Fact]:
    """Facts that contradict each other, and do not without any one of them."""
    kept = list(facts)
    for fact in facts:
        rest = [f for f in kept if f is not fact]
        if _contradict(rest) is Verdict.PROVED:
            kept = rest
    return kept
