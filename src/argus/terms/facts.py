"""What is known of atoms, wherever they occur.

The facts of a set are those of the atoms that it mentions, of what these facts mention
in turn, and the requirements that share an atom with them. Most are conjunctions: isl
is slow on many alternatives, so that an implication becomes a fact only where its
premise is known. Leaving out facts is sound: less is proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.terms.integers import Atom, Entry, Integer, Monomial, Opaque, Truth, Variable
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.world import World

_FACTORS = 4
"""Of products with more factors nothing is derived."""


class Known:
    """Facts that were worked out; forgotten when a world learns more."""

    def __init__(self) -> None:
        self.atoms: dict[Atom, IndexSet] = {}
        self.products: dict[Monomial, IndexSet] = {}
        self.closures: dict[tuple[Monomial, ...], IndexSet] = {}
        self.signs: dict[Atom, bool] = {}


def closure(world: World, monomials: tuple[Monomial, ...]) -> IndexSet:
    """All that is known of monomials and of what these facts mention."""
    known = world.known
    found = known.closures.get(monomials)
    if found is not None:
        return found
    found = IndexSet.universe
    atoms: set[Atom] = set()
    products: set[Monomial] = set()
    todo = list(monomials)
    left = list(world.requirements)
    while todo:
        for monomial in todo:
            new = [a for a in monomial if a not in atoms]
            atoms.update(new)
            for atom in new:
                found = found & of_atom(world, atom)
            if len(monomial) > 1 and monomial not in products:
                found = found & of_product(world, monomial)
            products.add(monomial)
        for requirement in list(left):
            mentioned = requirement.where.monomials
            if any(a in atoms for m in mentioned for a in m):
                found = found & requirement.where
                left.remove(requirement)
        todo = [m for m in found.monomials if m not in products]
    known.closures[monomials] = found
    return found


def of_atom(world: World, atom: Atom) -> IndexSet:
    """What is known of an atom by its definition."""
    facts = world.known.atoms
    if atom not in facts:
        facts[atom] = IndexSet.universe  # while it is worked out
        facts[atom] = _of_atom(world, atom)
    return facts[atom]


def of_product(world: World, monomial: Monomial) -> IndexSet:
    """Bounds of a product of factors that are at least 0, from each factor's own."""
    facts = world.known.products
    if monomial not in facts:
        facts[monomial] = IndexSet.universe
        facts[monomial] = _of_product(world, monomial)
    return facts[monomial]


def _of_product(world: World, monomial: Monomial) -> IndexSet:
    if len(monomial) > _FACTORS or not all(is_natural(world, a) for a in monomial):
        return IndexSet.universe
    whole = Integer({monomial: 1})
    found = world.compare(whole, ">=", 0)
    for place, atom in enumerate(monomial):
        if not isinstance(atom, Variable):
            continue
        rest = Integer({monomial[:place] + monomial[place + 1 :]: 1})
        if atom.lower is not None:
            found = found & world.compare(whole, ">=", atom.lower * rest)
        if atom.upper is not None:
            found = found & world.compare(whole, "<=", (atom.upper - 1) * rest)
    return found


def is_natural(world: World, atom: Atom) -> bool:
    """Whether an atom is known to be at least 0."""
    signs = world.known.signs
    if atom not in signs:
        signs[atom] = False
        signs[atom] = world.is_empty(world.compare(Integer.atom(atom), "<", 0))
    return signs[atom]


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
            divisor = atom.args[1]
            inside = world.compare(value, ">=", 0) & world.compare(value, "<", divisor)
            return inside | world.compare(divisor, "<=", 0)
        case Opaque(op=op):
            left, right = atom.args
            relation = "<=" if op == "min" else ">="
            bounds = world.compare(value, relation, left)
            bounds = bounds & world.compare(value, relation, right)
            one = world.compare(value, "==", left) | world.compare(value, "==", right)
            return bounds & one
        case Entry():
            found = IndexSet.universe
            for fact in world.entry_facts.get(atom.tensor, ()):
                found = found & fact(atom.indices, value)
            return found
        case Truth():
            return world.compare(value, ">=", 0) & world.compare(value, "<=", 1)
        case _:
            return IndexSet.universe


def _of_quotient(
    world: World, value: Integer, dividend: Integer, divisor: Integer
) -> IndexSet:
    """Facts of ``dividend // divisor``; isl has those of a quotient by a number."""
    if divisor.constant is not None:
        return IndexSet.universe
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
    return found & _of_group(world, value, dividend, divisor)


def _of_group(
    world: World, value: Integer, dividend: Integer, divisor: Integer
) -> IndexSet:
    """The group of a head: 0 <= h < H implies 0 <= h // (H // G) < G.

    With ``G`` dividing ``H``, and H // G at least 1: h // (H // G) is at least 0, and
    h <= G (H // G) - 1, so that the quotient is at most G - 1.
    """
    inner = divisor.single
    if not isinstance(inner, Opaque) or inner.op != "div":
        return IndexSet.universe
    heads, groups = inner.args
    if not world.divides(groups, heads):
        return IndexSet.universe
    inside = world.compare(value, ">=", 0) & world.compare(value, "<", groups)
    below, above = world.compare(dividend, "<", 0), world.compare(dividend, ">=", heads)
    if world.is_empty(below | above):
        return inside
    return inside | below | above
