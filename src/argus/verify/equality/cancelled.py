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
from fractions import Fraction

from argus.terms import (
    Element,
    IndexSet,
    Integer,
    Term,
    TermObligation,
    Unknown,
    Variable,
    World,
    leaf_term,
)
from argus.terms.apply import compared_terms
from argus.terms.domains import DOMAINS, NumberNeed, need_of, needs, placed, said
from argus.terms.fractions import divided
from argus.terms.integers import Comparison, Entry, Truncated, Truth
from argus.terms.mentioned import inputs
from argus.terms.powers import is_nonnegative, is_positive, raised
from argus.terms.rationals import common_number
from argus.terms.show import show
from argus.terms.sums import tidy
from argus.terms.term import ZERO
from argus.terms.unrolled import unrolled
from argus.verify.denotation import Store
from argus.verify.equality.mentioned import overs
from argus.verify.equality.same import same, within
from argus.verify.equality.stored_axes import by_stores

__all__ = ["EqualTerms", "is_also_needed", "undefined_data"]

_OUTSIDE: dict[str, Comparison] = {"divisor": "==", "root": "<", "logarithm": "<="}


_Places = dict[tuple[NumberNeed, IndexSet], None]


@dataclass(frozen=True)
class EqualTerms:
    """Where a term of the kernel was shown to be the reference's, and both.

    ``asked``: what the reference asks to choose its term.
    """

    where: IndexSet
    mine: Term
    theirs: Term
    asked: Sequence[IndexSet]

    def needed(self, world: World) -> frozenset[NumberNeed]:
        """What the reference needs there."""
        found = (needs(world, x) for x in self.asked)
        return needs(world, self.theirs).union(*found)

    def places(self, world: World) -> Iterator[tuple[NumberNeed, IndexSet]]:
        """The same, and where."""
        yield from placed(world, self.where, self.theirs)
        for asked in self.asked:
            for need in needs(world, asked):
                yield need, self.where


def undefined_data(
    world: World, stores: Sequence[Store], noted: int, shown: Sequence[EqualTerms]
) -> str:
    """What a kernel needs of numbers and its reference does not; "" for nothing.

    ``noted``: how many obligations of the world are the kernel's.
    """
    every = list(world.obligations)
    mine = list(_asked(world, every[:noted], stores, shown))
    theirs = _needed(world, every[noted:], shown) if mine else {}
    for need, wheres in mine:
        if not _is_met(world, wheres, need, list(theirs)):
            said_of = f"{show(need.term)} {DOMAINS[need.kind]}"
            return f"whether {said_of}, as the kernel needs and the reference does not"
    return ""


def is_also_needed(
    world: World, found: TermObligation, stores: Sequence[Store], noted: int
) -> bool:
    """Whether a reference has the same obligation wherever one is not met.

    It subtracts the same maximum of no numbers, or divides by the same sum of nothing:
    then it has no number there, or infinity, and says nothing. False, too, where no
    data decide whether there is something: that is asked of the launch.
    """
    if not isinstance(found.term, Term) or not _is_of_data(found.term):
        return False
    theirs = [
        _opened(world, NumberNeed("divisor", o.term), o.where)
        for o in list(world.obligations)[noted:]
        if o.kind == found.kind and isinstance(o.term, Term)
    ]
    open_ = found.where if found.needs is None else found.where - found.needs
    need, where = _opened(world, NumberNeed("divisor", found.term), open_)
    left = [x for s in stores if not world.is_empty(x := where & s.where)]
    return all(_is_shared(world, x, need, theirs) for x in left)


def _is_of_data(term: Term) -> bool:
    """Whether the number of points of a sum depends on entries or on data."""
    return any(
        isinstance(atom, Entry | Truth | Truncated)
        for over in overs(term)
        for atom in over.domain.all_atoms()
    )


def _needed(
    world: World, noted: Sequence[TermObligation], shown: Sequence[EqualTerms]
) -> _Places:
    """What the reference needs, and where."""
    found: _Places = {}
    for one in shown:
        for need, where in one.places(world):
            found[_opened(world, need, where)] = None
    for obligation in noted:
        need = need_of(obligation)
        if need is not None:
            found[_opened(world, need, obligation.where)] = None
    for need, where in list(found):
        if need.kind == "divisor" and (NumberNeed("root", need.term), where) in found:
            found[NumberNeed("logarithm", need.term), where] = None
    return found


def _asked(
    world: World,
    mine: Sequence[TermObligation],
    stores: Sequence[Store],
    shown: Sequence[EqualTerms],
) -> Iterator[tuple[NumberNeed, list[IndexSet]]]:
    """What the kernel needs and the reference's terms do not show; where."""
    for noted in mine:
        for found, several in by_stores(world, noted, stores):
            need = need_of(found)
            if need is not None:
                need, where = _opened(world, need, found.where)
                yield need, [where & store.where for store in several]
    for one in shown:
        theirs = one.needed(world)
        if all(said(need, theirs) for need in needs(world, one.mine)):
            continue
        here = within(world, one.mine, one.where)
        for need, where in dict.fromkeys(placed(world, one.where, here)):
            if not said(need, theirs):
                need, where = _opened(world, need, where)
                yield need, [where]


def _opened(
    world: World, need: NumberNeed, where: IndexSet
) -> tuple[NumberNeed, IndexSet]:
    """A need of the points of a sum, whose variables are bound elsewhere, too."""
    names = {v for v in need.term.free_variables() if v.name[0] == "$"}
    names |= {v for v in where.variables() if v.name[0] == "$"}
    if not names:
        return need, where
    env: dict[Variable, Integer] = {}
    for variable in sorted(names, key=lambda v: v.name):
        key = ("opened", variable)
        if key not in world.memory:
            world.memory[key] = world.fresh("at")
        made = world.memory[key]
        assert isinstance(made, Integer)
        env[variable] = made
    term = world.substitute(need.term, env)
    return NumberNeed(need.kind, term), world.substitute(where, env)


def _is_met(
    world: World,
    wheres: Sequence[IndexSet],
    need: NumberNeed,
    theirs: Sequence[tuple[NumberNeed, IndexSet]],
) -> bool:
    """Whether a need holds in all of several sets, or the reference has it in one."""
    if _is_taken(world, need.term):
        return True
    factors = _factors(need)
    if len(factors) > 1:
        return all(_is_met(world, wheres, one, theirs) for one in factors)
    outside = compared_terms(world, _OUTSIDE[need.kind], need.term, ZERO)
    left = [x for where in wheres if not world.is_empty(x := where & outside)]
    return not left or any(
        _holds_within(world, x, need) or _is_shared(world, x, need, theirs)
        for x in left
    )


def _holds_within(world: World, where: IndexSet, need: NumberNeed) -> bool:
    """Whether a need holds of the term that it is where some set holds."""
    here = within(world, need.term, where)
    if here == need.term:
        return False
    outside = compared_terms(world, _OUTSIDE[need.kind], here, ZERO)
    return world.is_empty(where & outside)


def _factors(need: NumberNeed) -> list[NumberNeed]:
    """What a product that is not 0 needs of its factors; else the need as it is."""
    parts = need.term.parts
    part = next(iter(parts)) if len(parts) == 1 and need.term.special is None else None
    if need.kind != "divisor" or part is None or any(p < 0 for _, p in part.factors):
        return [need]
    return [NumberNeed("divisor", leaf_term(leaf)) for leaf, _ in part.factors]


def _is_taken(world: World, term: Term) -> bool:
    """Whether a scalar was taken to be above 0, as a factor of infinity."""
    inverse = raised(term, -1)
    taken = (o.term for o in world.obligations if o.kind == "positive")
    return any(isinstance(t, Term) and is_positive(t * inverse) for t in taken)


def _is_shared(
    world: World,
    where: IndexSet,
    need: NumberNeed,
    theirs: Sequence[tuple[NumberNeed, IndexSet]],
) -> bool:
    """Whether the reference needs the same wherever a set holds."""
    rest = where
    # What is much like it first: that others are not it takes long to see.
    mine = _read(world, need.term)
    alike = sorted(theirs, key=lambda one: len(mine ^ _read(world, one[0].term)))
    for other, there in alike:
        if other.kind not in (need.kind, "logarithm"):
            continue
        for env in _ways(world, where, need.term, other.term):
            at = _somewhere(world, where, _bounded(world, there, env), need.term)
            term = world.substitute(other.term, env) if env else other.term
            here = rest & at
            if world.is_empty(here):
                continue
            if _follows(world, here, need, NumberNeed(other.kind, term)):
                rest = rest - at
                if world.is_empty(rest):
                    return True
    if need.kind != "root" or rest is where:
        return False
    # Of elements past an end, of which the reference says nothing, the sum is of none.
    return is_nonnegative(within(world, need.term, rest))


def _somewhere(world: World, where: IndexSet, there: IndexSet, term: Term) -> IndexSet:
    """A set at any position that neither a term nor another set mentions.

    Of a sum, or of an output that has more axes: its number is the same all along them.
    """
    known = where.variables() | term.free_variables()
    points = [v for v in there.variables() - known if "." in v.name]
    try:
        return world.project(there, sorted(points, key=lambda v: v.name))
    except Unknown:
        return there


def _bounded(
    world: World, where: IndexSet, env: Mapping[Variable, Integer]
) -> IndexSet:
    """A set with variables replaced, which stay within their bounds."""
    if not env:
        return where
    found = world.substitute(where, env)
    for variable, value in env.items():
        if variable.lower is not None:
            low = world.substitute(variable.lower, env)
            found = found & world.compare(value, ">=", low)
        if variable.upper is not None:
            high = world.substitute(variable.upper, env)
            found = found & world.compare(value, "<", high)
    return found


def _follows(
    world: World, where: IndexSet, need: NumberNeed, other: NumberNeed
) -> bool:
    """Whether one need is another one, or of a number that is at least as large."""
    signs = (1, -1) if need.kind == "divisor" else (1,)
    mine, theirs = _primitive(world, need.term), _primitive(world, other.term)
    for term in (mine.scaled(sign) for sign in signs):
        if term == theirs or world.is_empty(where):
            return True
        try:
            if other.kind != "divisor":
                more = unrolled(world, within(world, term - theirs, where))
                if is_nonnegative(tidy(world, more)):
                    return True
            if same(world, where, term, theirs) is None:
                return True
        except Unknown:
            continue
    return False


def _primitive(world: World, term: Term) -> Term:
    """A term without the positive number that its quotients had hidden.

    Of ``N // 128``, which is ``N / 128`` where 128 divides N.
    """
    plain = divided(world, term)
    if plain == term:
        return term
    number = Fraction(0)
    for coefficient in plain.parts.values():
        number = common_number(number, Fraction(coefficient))
    return plain.scaled(1 / number) if number else plain


def _ways(
    world: World, where: IndexSet, mine: Term, theirs: Term
) -> Iterator[Mapping[Variable, Integer]]:
    """How variables that only the reference has may stand for the kernel's.

    What a loop or a sum is over has another name in each of them: elements of one
    tensor say which index is which. So have axes of a tile: the kernel may need it of
    one element of a tile, and the reference of all of them.
    """
    others = theirs.free_variables() - mine.free_variables()
    if others <= where.variables():
        yield {}
    for own in dict.fromkeys((others - where.variables(), others)):
        if own:
            yield from _named(world, own, mine, theirs)


def _read(world: World, term: Term) -> frozenset[str]:
    """Names of the tensors whose elements a term mentions."""
    found = inputs(world, term)
    return frozenset(x.tensor for x in found if isinstance(x, Element))


def _named(
    world: World, own: frozenset[Variable], mine: Term, theirs: Term
) -> Iterator[Mapping[Variable, Integer]]:
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
