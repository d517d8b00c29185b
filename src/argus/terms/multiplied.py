"""What a set says of products: its conditions, multiplied by what is not negative.

Of ``8 b + i < M`` follows ``8 N b + N i <= N M - N`` where N is at least 0. isl sees a
product as one more number, so that it is said here of each product that is mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import islpy as isl

from argus.terms.integers import Atom, Integer, Monomial, Opaque, without_factors
from argus.terms.isl_sets import PARAMETER, factors_of, parameters
from argus.terms.sets import IndexSet, intersection, plain, union

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["with_products"]

_MOST_PIECES = 16
"""Pieces of a set that are looked at; of more nothing is said."""
_MOST_PRODUCTS = 24
"""Products of a set, likewise."""
_FEW_PRODUCTS = 6
"""Products whose factors are compared with each other."""


def with_products(world: World, closed: IndexSet) -> IndexSet:
    """A set with what follows for the products that it mentions: the same points."""
    if isinstance(closed.isl, bool):
        return closed
    products = [m for m in closed.monomials if len(m) > 1]
    if not 0 < len(products) <= _MOST_PRODUCTS or closed.pieces > _MOST_PIECES:
        return closed
    with closed.asking:
        pieces = plain(closed).get_basic_sets()
    several = [_Piece(world, piece, products) for piece in pieces]
    more = [piece.more() for piece in several]
    if all(new is piece.where for new, piece in zip(more, several, strict=True)):
        return closed
    return union(more)


class _Piece:
    """A conjunction of conditions."""

    def __init__(
        self, world: World, piece: isl.BasicSet, products: list[Monomial]
    ) -> None:
        self.world, self.piece, self.products = world, piece, products
        self.where = world.space.one(piece)
        self.mentioned = set(products)
        self._least: dict[Atom, int | None] = {}

    def more(self) -> IndexSet:
        """The conjunction with what follows."""
        found, conditions = [self.where], list(self._conditions())
        known = {bound for bound, _ in conditions}
        for bound, is_equal in [*conditions, *_equal(conditions), *self._bounds()]:
            for factor in self._factors(bound):
                if not is_equal and not all(map(self._is_natural, factor)):
                    continue
                product = bound * Integer({factor: 1})
                if product in known:
                    continue
                known.add(product)
                if all(len(m) < 2 or m in self.mentioned for m in product.terms):
                    op = "==" if is_equal else ">="
                    found.append(self.world.compare(product, op, 0))
        return intersection(found)

    def _factors(self, bound: Integer) -> list[Monomial]:
        """What makes products that are mentioned of a part of a condition."""
        found: dict[Monomial, None] = {}
        for product in self.products:
            for part in bound.terms:
                rest = without_factors(product, part) if part else None
                if rest:
                    found[rest] = None
        return list(found)

    def _conditions(self) -> Iterator[tuple[Integer, bool]]:
        """Integers that are at least 0, or that are 0, as the conditions say.

        Those of conditions that have a product, or what makes one of another.
        """
        space = self.world.space
        with space.asking:
            names = parameters(self.piece)
            conditions = self.piece.get_constraints()
        parts = [place for place, name in enumerate(names) if self._is_part(name)]
        for condition in conditions:
            if not any(condition.involves_dims(PARAMETER, at, 1) for at in parts):
                continue
            count = condition.dim(isl.dim_type.div)
            if count and condition.involves_dims(isl.dim_type.div, 0, count):
                continue
            terms: dict[Monomial, int] = {(): condition.get_constant_val().to_python()}
            for place, factor in factors_of(condition):
                terms[space.monomial(names[place])] = factor
            yield Integer(terms), condition.is_equality()

    def _is_part(self, name: str) -> bool:
        """Whether a parameter is a part of a product, or all of one."""
        part = self.world.space.monomial(name)
        return any(without_factors(p, part) is not None for p in self.products)

    def _bounds(self) -> Iterator[tuple[Integer, bool]]:
        """The same of single factors: what follows from several conditions, too."""
        for atom in dict.fromkeys(a for m in self.products for a in m):
            least = self._at_least(atom)
            if least is not None:
                yield Integer.atom(atom) - least, False
        yield from self._differences()

    def _differences(self) -> Iterator[tuple[Integer, bool]]:
        """By how much one number of a tile is larger than another, beside one factor.

        That of ``4 n >= T > k >= 4 b`` follows ``n > b``, no condition says by itself.
        """
        if len(self.products) > _FEW_PRODUCTS:
            return
        for one, other in permutations(self.products, 2):
            same = [a for a in one if a in other]
            left, right = (without_factors(p, tuple(same)) for p in (one, other))
            if not (same and left and right and _is_tile(left) and _is_tile(right)):
                continue
            apart = Integer({left: 1}) - Integer({right: 1})
            for n in (1, 0):
                if (self.where & self.world.compare(apart, "<", n)).is_nothing:
                    yield apart - n, False
                    break

    def _is_natural(self, atom: Atom) -> bool:
        return self._at_least(atom) is not None

    def _at_least(self, atom: Atom) -> int | None:
        """1 or 0, if an atom is at least that."""
        if atom not in self._least:
            value = Integer.atom(atom)
            below = ((n, self.world.compare(value, "<", n)) for n in (1, 0))
            known = (n for n, less in below if (self.where & less).is_nothing)
            self._least[atom] = next(known, None)
        return self._least[atom]


def _equal(
    conditions: Sequence[tuple[Integer, bool]],
) -> Iterator[tuple[Integer, bool]]:
    """Differences that are 0 by two conditions: ``p - q``, if p and q are n."""
    equal = [bound for bound, is_equal in conditions if is_equal]
    for one, other in combinations(equal, 2):
        for part, here in one.terms.items():
            there = other.terms.get(part, 0)
            if part and abs(here) == abs(there):
                apart = one - other if here == there else one + other
                if len(apart.terms) == 2:
                    yield apart, True


def _is_tile(rest: Monomial) -> bool:
    """Whether what is left of a product is a quotient by a number."""
    if len(rest) != 1:
        return False
    (atom,) = rest
    return (
        isinstance(atom, Opaque)
        and atom.op == "div"
        and atom.args[1].constant is not None
    )
