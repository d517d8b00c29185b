"""What is known of products of atoms, from what is known of their factors.

isl knows nothing of a product of sizes: it is one more number, with these bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import islpy as isl

from argus.terms.division import remainder
from argus.terms.integers import Atom, Integer, Monomial, Opaque, Variable
from argus.terms.isl_sets import PARAMETER
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["is_natural", "of_product"]

_FACTORS = 4
"""Of products with more factors nothing is derived."""


def of_product(world: World, monomial: Monomial) -> IndexSet:
    """Bounds of a product of factors that are at least 0, from each factor's own."""
    facts = world.known.products
    if monomial not in facts:
        world.known.work_out(facts, monomial, lambda: _of_product(world, monomial))
    return facts[monomial]


def _of_product(world: World, monomial: Monomial) -> IndexSet:
    if len(monomial) > _FACTORS:
        return IndexSet.universe
    whole = Integer({monomial: 1})
    found = _of_whole_parts(world, monomial) & _of_divisors(world, monomial)
    if not all(is_natural(world, a) for a in monomial):
        return found & _of_parts_rounded_down(world, monomial)
    least = int(all(is_natural(world, a, 1) for a in monomial))
    found = found & world.compare(whole, ">=", least)
    for place, atom in enumerate(monomial):
        rest = Integer({monomial[:place] + monomial[place + 1 :]: 1})
        most = _most(world, atom)
        if most is not None:
            found = found & world.compare(whole, "<=", rest * most)
        if not isinstance(atom, Variable):
            continue
        if atom.lower is not None:
            found = found & world.compare(whole, ">=", atom.lower * rest)
        if atom.upper is not None:
            found = found & world.compare(whole, "<=", (atom.upper - 1) * rest)
    return found


def _most(world: World, atom: Atom) -> int | None:
    """The largest number that an atom is, where a requirement of it alone says so."""
    found: list[int] = []
    for requirement in world.requirements:
        where = requirement.where
        if where.monomials == ((atom,),) and not isinstance(where.isl, bool):
            with where.asking:
                values = where.isl.move_dims(isl.dim_type.set, 0, PARAMETER, 0, 1)
                most = values.dim_max_val(0)
                found += [most.to_python()] if most.is_int() else []
    return min(found, default=None)


def _of_whole_parts(world: World, monomial: Monomial) -> IndexSet:
    """``d (n // d) r`` is ``n r`` where the number d divides n.

    Else it is that or less, by at most ``(d - 1) r``, where r is at least 0.
    """
    found = IndexSet.universe
    for place, atom in enumerate(monomial):
        if not isinstance(atom, Opaque) or atom.op != "div":
            continue
        dividend, divisor = atom.args
        if not divisor.constant:
            continue
        others = monomial[:place] + monomial[place + 1 :]
        rest = Integer({others: 1})
        left = dividend * rest - Integer({monomial: 1}) * divisor
        if world.divides(divisor, dividend):
            found = found & world.compare(left, "==", 0)
        elif divisor.constant > 0 and all(is_natural(world, a) for a in others):
            found = found & world.compare(left, ">=", 0)
            found = found & world.compare(left, "<=", rest * (divisor - 1))
    return found


def _of_divisors(world: World, monomial: Monomial) -> IndexSet:
    """What divides a factor divides the product, of whole numbers.

    Of rows that are cut into four equal parts, each begins at a multiple of a part.
    """
    found = IndexSet.universe
    for divisor, dividend in world.divisors:
        if divisor.constant and dividend.single in monomial:
            rest = remainder(world, Integer({monomial: 1}), divisor)
            found = found & world.compare(rest, "==", 0)
    return found


def _of_parts_rounded_down(world: World, monomial: Monomial) -> IndexSet:
    """``x q >= -x`` for x >= 0 and q >= -1: a quotient of ``n - 1`` is -1 for n = 0."""
    found = IndexSet.universe
    if len(monomial) == 2:
        for x, q in (monomial, monomial[::-1]):
            if is_natural(world, x) and is_natural(world, q, -1):
                whole = Integer({monomial: 1}) + Integer.atom(x)
                found = found & world.compare(whole, ">=", 0)
    return found


def is_natural(world: World, atom: Atom, least: int = 0) -> bool:
    """Whether an atom is known to be at least a number: 0, or 1, or -1."""
    signs, key = world.known.signs, (atom, least)
    if key not in signs:
        signs[key] = False  # while it is worked out, and where it is Unknown
        signs[key] = world.is_empty(world.compare(Integer.atom(atom), "<", least))
    return signs[key]
