"""What a kernel's terms do not show any more: divisors, roots and logarithms.

``x / s * s`` is x where s is not 0. Terms note what cancels (`argus.terms.domains`),
and here it is asked whether it matters: it does not where a launch, or what the kernel
asks itself, excludes it, nor where the reference divides by the same number, in
whichever output, and so says nothing of such data. A kernel that needs more than its
reference is not equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argus.terms import (
    Element,
    IndexSet,
    Integer,
    Term,
    TermObligation,
    Unknown,
    Variable,
    World,
    union,
)
from argus.terms.apply import compared_terms
from argus.terms.domains import DOMAINS, Need, need_of, needs, said
from argus.terms.integers import Comparison
from argus.terms.mentioned import inputs
from argus.terms.powers import is_nonnegative, is_positive, raised
from argus.terms.show import show
from argus.terms.sums import tidy
from argus.terms.term import ZERO
from argus.terms.unrolled import unrolled
from argus.verify.denotation import Store
from argus.verify.equality.same import same, within

__all__ = ["Shown", "undefined_data"]

_OUTSIDE: dict[str, Comparison] = {"divisor": "==", "root": "<", "logarithm": "<="}


@dataclass(frozen=True)
class Shown:
    """Where a term of the kernel was shown to be the reference's, and both.

    ``asked``: what the reference asks to choose its term.
    """

    where: IndexSet
    mine: Term
    theirs: Term
    asked: Sequence[IndexSet]

    def needs(self, world: World) -> frozenset[Need]:
        """What the reference needs there."""
        found = (needs(world, x) for x in self.asked)
        return needs(world, self.theirs).union(*found)


def undefined_data(
    world: World, stores: Sequence[Store], noted: int, shown: Sequence[Shown]
) -> str:
    """What a kernel needs of numbers and its reference does not; "" for nothing.

    ``noted``: how many obligations of the world are the kernel's.
    """
    every = list(world.obligations)
    theirs: dict[tuple[Need, IndexSet], None] = {}
    for one in shown:
        for need in one.needs(world):
            theirs[_opened(world, need), one.where] = None
    for found in every[noted:]:
        need = need_of(found)
        if need is not None:
            theirs[need, found.where] = None
    for need, where in list(theirs):
        if need.kind == "divisor" and (Need("root", need.term), where) in theirs:
            theirs[Need("logarithm", need.term), where] = None
    for need, wheres in _asked(world, every[:noted], stores, shown):
        if not _is_met(world, wheres, need, list(theirs)):
            return (
                f"whether {show(need.term)} {DOMAINS[need.kind]}, as the kernel needs"
            )
    return ""


def _asked(
    world: World,
    mine: Sequence[TermObligation],
    stores: Sequence[Store],
    shown: Sequence[Shown],
) -> Iterator[tuple[Need, list[IndexSet]]]:
    """What the kernel needs and the reference's terms do not show; where."""
    for found in mine:
        need = need_of(found)
        if need is not None:
            yield need, [found.where & store.where for store in stores]
    for one in shown:
        theirs = one.needs(world)
        if all(said(need, theirs) for need in needs(world, one.mine)):
            continue
        for need in needs(world, within(world, one.mine, one.where)):
            if not said(need, theirs):
                yield _opened(world, need), [one.where]


def _opened(world: World, need: Need) -> Need:
    """A need of any point of a sum, whose variables are bound elsewhere, too."""
    found = sorted(v.name for v in need.term.free_variables() if v.name[0] == "$")
    if not found:
        return need
    key = ("opened", need.term)
    if key not in world.memory:
        env = {Variable(name): world.fresh("at") for name in found}
        world.memory[key] = world.substitute(need.term, env)
    made = world.memory[key]
    assert isinstance(made, Term)
    return Need(need.kind, made)


def _is_met(
    world: World,
    wheres: Sequence[IndexSet],
    need: Need,
    theirs: Sequence[tuple[Need, IndexSet]],
) -> bool:
    """Whether a need holds in all of several sets, or the reference has it in one."""
    if _is_taken(world, need.term):
        return True
    outside = compared_terms(world, _OUTSIDE[need.kind], need.term, ZERO)
    left = [x for where in wheres if not world.is_empty(x := where & outside)]
    return not left or any(_is_shared(world, x, need, theirs) for x in left)


def _is_taken(world: World, term: Term) -> bool:
    """Whether a scalar was taken to be above 0, as a factor of infinity."""
    inverse = raised(term, -1)
    taken = (o.term for o in world.obligations if o.kind == "positive")
    return any(isinstance(t, Term) and is_positive(t * inverse) for t in taken)


def _is_shared(
    world: World,
    where: IndexSet,
    need: Need,
    theirs: Sequence[tuple[Need, IndexSet]],
) -> bool:
    """Whether the reference needs the same wherever a set holds."""
    parts: list[IndexSet] = []
    for other, there in theirs:
        if other.kind not in (need.kind, "logarithm"):
            continue
        for env in _ways(world, where, need.term, other.term):
            at = world.substitute(there, env) if env else there
            term = world.substitute(other.term, env) if env else other.term
            if _follows(world, where & at, need, Need(other.kind, term)):
                parts.append(at)
                break
    return world.is_subset(where, union(parts))


def _follows(world: World, where: IndexSet, need: Need, other: Need) -> bool:
    """Whether one need is another one, or of a number that is at least as large."""
    signs = (1, -1) if need.kind == "divisor" else (1,)
    for term in (need.term.scaled(sign) for sign in signs):
        if term == other.term or world.is_empty(where):
            return True
        try:
            if other.kind != "divisor":
                more = unrolled(world, within(world, term - other.term, where))
                if is_nonnegative(tidy(world, more)):
                    return True
            if same(world, where, term, other.term) is None:
                return True
        except Unknown:
            continue
    return False


def _ways(
    world: World, where: IndexSet, mine: Term, theirs: Term
) -> Iterator[Mapping[Variable, Integer]]:
    """How variables that only the reference has may stand for the kernel's.

    What a loop or a sum is over has another name in each of them: elements of one
    tensor say which index is which.
    """
    own = theirs.free_variables() - mine.free_variables() - where.variables()
    if not own:
        yield {}
        return
    for other in inputs(world, theirs):
        for one in inputs(world, mine):
            if not (isinstance(one, Element) and isinstance(other, Element)):
                continue
            env = _solved(own, one, other) if one.tensor == other.tensor else {}
            if env.keys() == own:
                yield env


def _solved(
    own: frozenset[Variable], one: Element, other: Element
) -> dict[Variable, Integer]:
    """What variables have to be for an element to be another one, by its indices."""
    found: dict[Variable, Integer] = {}
    for mine, theirs in zip(one.indices, other.indices, strict=True):
        names = [v for v in theirs.variables() if v in own]
        sign = theirs.coefficient(names[0]) if len(names) == 1 else None
        if sign is None or sign not in (1, -1):
            continue
        rest = theirs - Integer.atom(names[0]) * sign
        if names[0] not in rest.variables():
            found[names[0]] = (mine - rest) * sign
    return found
