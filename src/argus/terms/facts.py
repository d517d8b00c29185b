"""What is known of atoms, wherever they occur.

The facts of a set are those of the atoms that it mentions, of what these facts mention
in turn, and the requirements that share an atom with them. They are conjunctions: isl
is slow on many alternatives, so that an implication becomes a fact only where its
premise is known. What has alternatives by its nature, that a minimum is one of two, is
kept apart (`alternatives`), and looked at where the rest does not decide; what points
say of counts is a fact while it has few pieces. Leaving out facts is sound: less is
proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from argus.terms import comparisons, counted, extreme_places
from argus.terms.bits import range_of_bits
from argus.terms.choices import nothing_left
from argus.terms.ends import ends
from argus.terms.entries import same_entries
from argus.terms.factored import factors_beside
from argus.terms.integers import (
    Applied,
    Atom,
    Entry,
    Integer,
    Monomial,
    Opaque,
    Truncated,
    Truth,
    Variable,
    without_factors,
)
from argus.terms.multiplied import with_products
from argus.terms.products import is_natural, of_product
from argus.terms.sets import IndexSet, intersection
from argus.terms.term import Term
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World

_Key = TypeVar("_Key")
_MOST_PIECES = 64
"""Pieces of what is known that has alternatives."""


class Known:
    """Facts that were worked out; forgotten when a world learns more."""

    def __init__(self) -> None:
        self.atoms: dict[Atom, IndexSet] = {}
        self.products: dict[Monomial, IndexSet] = {}
        self.monomials: dict[Monomial, tuple[IndexSet, tuple[Atom, ...]]] = {}
        self.closures: dict[frozenset[Monomial], IndexSet] = {}
        self.choices: dict[tuple[Monomial, ...], list[tuple[IndexSet, IndexSet]]] = {}
        self.open = 0
        """Facts that are being worked out, and may lack in what is found meanwhile."""
        self.signs: dict[tuple[Atom, int], bool] = {}

    def work_out(
        self, facts: dict[_Key, IndexSet], key: _Key, make: Callable[[], IndexSet]
    ) -> None:
        """Put facts into a table, in which meanwhile there are none.

        Where they are Unknown, they are not in it.
        """
        facts[key] = IndexSet.universe
        self.open += 1
        try:
            facts[key] = make()
        except Unknown:
            del facts[key]
            raise
        finally:
            self.open -= 1


def closure(world: World, monomials: tuple[Monomial, ...]) -> IndexSet:
    """All that is known of monomials and of what these facts mention."""
    known = world.known
    key = frozenset(monomials)
    found = known.closures.get(key)
    if found is None:
        atoms: dict[Atom, None] = {}
        parts: dict[IndexSet, None] = {}
        for monomial in monomials:
            one, mentioned = _of_monomial(world, monomial)
            parts.setdefault(one)
            atoms.update(dict.fromkeys(mentioned))
        _require(world, atoms, parts)
        parts.setdefault(comparisons.together(world, atoms))
        parts.setdefault(_few_pieces(counted.beside(world, atoms)))
        found = intersection(parts)
        if not known.open:
            known.closures[key] = found
    return found


def _few_pieces(choices: Iterable[tuple[IndexSet, IndexSet]]) -> IndexSet:
    """Of pairs of which one holds, those first ones that make few pieces together."""
    found = IndexSet.universe
    for one, other in choices:
        more = found & (one | other)
        if more.pieces > _MOST_PIECES:
            break
        found = more
    return found


def _require(
    world: World, atoms: dict[Atom, None], parts: dict[IndexSet, None]
) -> None:
    """Add requirements that share an atom with others, and facts of what they say."""
    left = list(world.requirements)
    related = comparisons.related(atoms) if left else ()
    while True:
        new = [
            r
            for r in left
            if any(
                a in atoms or a in related
                for monomial in r.where.monomials
                for a in monomial
            )
        ]
        if not new:
            return
        for requirement in new:
            left.remove(requirement)
            parts.setdefault(requirement.where)
            for monomial in requirement.where.monomials:
                one, mentioned = _of_monomial(world, monomial)
                atoms.update(dict.fromkeys(mentioned))
                parts.setdefault(one)


def _of_monomial(world: World, first: Monomial) -> tuple[IndexSet, tuple[Atom, ...]]:
    """The facts of one monomial and of what they mention; and all these atoms."""
    known = world.known.monomials.get(first)
    if known is not None:
        return known
    found = IndexSet.universe
    atoms: dict[Atom, None] = {}
    done: set[Monomial] = set()
    todo = [first]
    while todo:
        parts = [found]
        for monomial in todo:
            done.add(monomial)
            for atom in monomial:
                if atom not in atoms:
                    atoms[atom] = None
                    parts.append(of_atom(world, atom))
            if len(monomial) > 1:
                parts.append(of_product(world, monomial))
        found = intersection(parts)
        todo = [m for m in found.monomials if m not in done]
    if not world.known.open:
        world.known.monomials[first] = found, tuple(atoms)
    return found, tuple(atoms)


def is_refuted(world: World, closed: IndexSet) -> bool:
    """Whether a set with its facts is empty, also by alternatives and products."""
    if closed.is_nothing:
        return True
    known, monomials = world.known, closed.monomials
    choices = known.choices.get(monomials)
    if choices is None:
        choices = alternatives(world, monomials)
        if not known.open:
            known.choices[monomials] = choices
    if nothing_left(closed, choices):
        return True
    more = with_products(world, extreme_places.with_points(world, closed))
    return more is not closed and nothing_left(more, choices)


def of_atom(world: World, atom: Atom) -> IndexSet:
    """What is known of an atom by its definition."""
    facts = world.known.atoms
    if atom not in facts:
        world.known.work_out(facts, atom, lambda: _of_atom(world, atom))
    return facts[atom]


def alternatives(
    world: World, monomials: tuple[Monomial, ...]
) -> list[tuple[IndexSet, IndexSet]]:
    """Pairs of which one holds: what is known of monomials and has cases by its nature.

    Minima and maxima are one of their arguments. Entries of one place are the same.
    A quotient of what its divisor divides is at least 1 where there is something to
    divide. And ``p // d >= b`` says for d > 0 that ``p >= b d``: that is asked for each
    product of d that is mentioned, and 0, and for sizes that are products with d. The
    place of a largest number is one of the points, where there are any.
    """
    found: list[tuple[IndexSet, IndexSet]] = []
    for atom in dict.fromkeys(a for m in monomials for a in m):
        value = Integer.atom(atom)
        if is_extreme(atom):
            left, right = atom.arguments
            found.append(
                (world.compare(value, "==", left), world.compare(value, "==", right))
            )
        elif isinstance(atom, Opaque) and atom.op == "div":
            dividend, divisor = atom.args
            if world.divides(divisor, dividend):
                some = world.compare(value, ">=", 1)
                found.append((world.compare(dividend, "<", 1), some))
            found += _multiples(world, value, dividend, divisor, monomials)
            found += _turns(world, value, dividend, divisor, monomials)
        else:
            found += extreme_places.beside(world, atom)
    return found + list(same_entries(world, monomials))


def _multiples(
    world: World,
    value: Integer,
    dividend: Integer,
    divisor: Integer,
    monomials: Sequence[Monomial],
) -> Iterator[tuple[IndexSet, IndexSet]]:
    """For ``p // d`` and products ``b d``: that it is below b, or not."""
    if divisor.constant is not None:
        return
    if len(divisor.terms) != 1:
        yield from _factored(world, value, dividend, divisor)
        return
    ((wanted, times),) = divisor.terms.items()
    positive = world.compare(divisor, ">=", 1)
    natural = times > 0 and all(is_natural(world, atom) for atom in wanted)
    for monomial in ((), *monomials):
        rest = without_factors(monomial, wanted) or None
        if monomial and (rest is None or times != 1):
            continue
        bound = Integer.of(0) if rest is None else Integer({rest: 1})
        whole = bound * divisor
        below = world.compare(value, "<", bound) & world.compare(dividend, "<", whole)
        above = world.compare(value, ">=", bound)
        above = above & world.compare(dividend, ">=", whole)
        other = ~positive
        if natural:  # then the divisor is 0, and so is what it divides
            other = other & world.compare(whole, "==", 0)
        yield other | below & positive, above & positive


def _turns(
    world: World,
    value: Integer,
    dividend: Integer,
    divisor: Integer,
    monomials: Sequence[Monomial],
) -> Iterator[tuple[IndexSet, IndexSet]]:
    """For ``p // d`` and ``d (p // d)``: the quotient is -1, 0 or 1, or far from these.

    So ``p mod d`` is ``p + d``, ``p`` or ``p - d``: what a row that is turned leaves at
    one end enters at the other. isl sees a product that nothing ties to its factor.
    """
    whole = value * divisor
    if divisor.constant is not None or len(whole.terms) != 1:
        return
    if not whole.terms.keys() <= set(monomials):
        return
    positive = world.compare(divisor, ">=", 1)
    near = IndexSet.nothing
    for turns in (0, -1, 1):
        here = world.compare(value, "==", turns)
        here = here & world.compare(whole, "==", divisor * turns)
        here = here & world.compare(dividend, ">=", divisor * turns)
        near = near | here & world.compare(dividend, "<", divisor * (turns + 1))
    after = world.compare(value, ">=", 2) & world.compare(dividend, ">=", divisor * 2)
    before = world.compare(value, "<", -1) & world.compare(dividend, "<", -divisor)
    yield near & positive, (after | before) & positive | ~positive


def _factored(
    world: World, value: Integer, dividend: Integer, divisor: Integer
) -> Iterator[tuple[IndexSet, IndexSet]]:
    """For ``p // d`` and sizes ``n == b d``: below b, and p below n, or not."""
    positive = world.compare(divisor, ">=", 1)
    for bound, whole in factors_beside(world, divisor):
        below = world.compare(value, "<", bound) & world.compare(dividend, "<", whole)
        above = world.compare(value, ">=", bound)
        above = above & world.compare(dividend, ">=", whole)
        yield ~positive | below, above & positive


def is_extreme(atom: Atom) -> bool:
    """Whether an atom is a minimum or a maximum."""
    return isinstance(atom, Opaque) and atom.op in ("min", "max")


def _of_atom(world: World, atom: Atom) -> IndexSet:
    value = Integer.atom(atom)
    match atom:
        case Variable():
            found = IndexSet.universe
            if atom.lower is not None:
                found = found & world.compare(value, ">=", atom.lower)
            if atom.upper is not None:
                found = found & world.compare(value, "<", atom.upper)
            return found
        case Opaque(op="div"):
            return _of_quotient(world, value, *atom.args)
        case Opaque(op="mod"):
            return IndexSet.universe  # `division.py` makes quotients of remainders
        case Opaque(op=op):
            left, right = atom.args
            relation = "<=" if op == "min" else ">="
            bounds = world.compare(value, relation, left)
            bounds = bounds & world.compare(value, relation, right)
            return bounds & _least(world, value, left, right) if op == "min" else bounds
        case Entry():
            found = IndexSet.universe
            for fact in world.entry_facts.get(atom.tensor, ()):
                found = found & fact(atom.indices, value)
            return found
        case Truth():
            found = world.compare(value, ">=", 0) & world.compare(value, "<=", 1)
            return found & counted.of_count(world, atom)
        case Truncated():
            return _of_cut(world, value, atom)
        case Applied():
            return range_of_bits(world, value, atom)
        case _:
            return IndexSet.universe


def _of_cut(world: World, value: Integer, atom: Truncated) -> IndexSet:
    """Between which numbers a term that is cut towards 0 lies, if its form says so."""
    found = IndexSet.universe
    low, high = ends(atom.term) if isinstance(atom.term, Term) else (None, None)
    if low is not None:
        found = found & world.compare(value, ">=", int(low))
    if high is not None:
        found = found & world.compare(value, "<=", int(high))
    return found


def _least(world: World, value: Integer, left: Integer, right: Integer) -> IndexSet:
    """That a minimum is positive, or at least 0, where both of its sides are."""
    for least in (1, 0):
        if all(world.is_empty(world.compare(x, "<", least)) for x in (left, right)):
            return world.compare(value, ">=", least)
    return IndexSet.universe


def _of_quotient(
    world: World, value: Integer, dividend: Integer, divisor: Integer
) -> IndexSet:
    """Facts of ``dividend // divisor``; isl has those of a quotient by a number."""
    if divisor.constant is not None:
        return IndexSet.universe
    group = _of_group(world, value, dividend, divisor)
    if group is not None:
        return group
    if not world.is_empty(world.compare(divisor, "<", 1)):
        return IndexSet.universe
    whole = divisor * value
    if world.divides(divisor, dividend):
        found = world.compare(whole, "==", dividend)
    else:
        found = world.compare(whole, "<=", dividend)
        found = found & world.compare(dividend, "<", whole + divisor)
    if world.is_empty(world.compare(dividend, "<", 0)):
        found = found & world.compare(value, ">=", 0)
        found = found & world.compare(value, "<=", dividend)
    if world.divides(divisor, dividend) and world.is_empty(
        world.compare(dividend, "<", 1)
    ):
        found = found & world.compare(value, ">=", 1)
    return found


def _of_group(
    world: World, value: Integer, dividend: Integer, divisor: Integer
) -> IndexSet | None:
    """The group of a head: 0 <= h < H implies 0 <= h // (H // G) < G.

    With ``G`` dividing ``H``: there is a head, so that H // G = H / G is at least 1.
    Then h // (H // G) is at least 0, and h <= G (H // G) - 1, so that it is at most
    G - 1.
    None where it is another quotient, or not known to be that of a head.
    """
    inner = divisor.single
    if not isinstance(inner, Opaque) or inner.op != "div":
        return None
    heads, groups = inner.args
    if not world.divides(groups, heads):
        return None
    outside = world.compare(dividend, "<", 0) | world.compare(dividend, ">=", heads)
    if not world.is_empty(outside):
        return None
    found = world.compare(value, ">=", 0) & world.compare(value, "<", groups)
    found = found & world.compare(divisor, ">=", 1)
    whole = divisor * value
    found = found & world.compare(whole, "<=", dividend)
    return found & world.compare(dividend, "<", whole + divisor)
