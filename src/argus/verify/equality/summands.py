"""Sums over the same points that add nothing together.

At each k the parts of ``Σ k / (1 + k) + Σ 1 / (1 + k) - Σ 1`` add up to 0, as fractions
do: none of the three sums shows it. What is only counted, the columns of a tile, is a
number at each k. Where the last tile is not full, it is another one there than at
others, and so is the least of both: such points are looked at by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.terms import (
    ZERO,
    Base,
    Call,
    IndexSet,
    Integer,
    Leaf,
    Opaque,
    Product,
    Sum,
    Term,
    Unknown,
    Variable,
    World,
    fractions,
    leaf_term,
    number,
)
from argus.terms.arithmetic import called
from argus.terms.integers import Comparison
from argus.terms.leaves import Whole
from argus.terms.powers import exponential, raised
from argus.terms.restrict import restrict
from argus.terms.sums import renamed, sum_over, tidy
from argus.terms.term import Rational
from argus.verify.equality.mentioned import integers

__all__ = ["without_vanishing_sums"]

_SPLITS = 2
"""How often points are divided by which side of a minimum is less."""
_ORDER: dict[str, Comparison] = {"min": "<=", "max": ">="}


def without_vanishing_sums(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, without sums that add 0 at each point."""
    if term.special is not None or not term.height:
        return term
    points: dict[int, list[Integer]] = {}
    alike: dict[tuple[Product, Product], list[tuple[Product, _Summand]]] = {}
    for part, coefficient in term.parts.items():
        for leaf, power in part.factors:
            if isinstance(leaf, Sum) and leaf.variables and power == 1:
                found = _summand(world, coefficient, leaf, points)
                if found is not None:
                    rest = _without(part, leaf)
                    key = rest, _data(found.body)
                    alike.setdefault(key, []).append((part, found))
    gone: set[Product] = set()
    for summands in alike.values():
        parts = {part for part, _ in summands}
        if len(parts) < 2 or len(parts) < len(summands) or parts & gone:
            continue
        if _add_nothing(world, here, [found for _, found in summands]):
            gone |= parts
    total, changed = ZERO, bool(gone)
    for part, coefficient in term.parts.items():
        if part in gone:
            continue
        made = number(coefficient)
        for leaf, power in part.factors:
            inside = _inside(world, here, leaf)
            changed = changed or inside is not None
            made = made * raised(leaf_term(leaf) if inside is None else inside, power)
        if part.exponent is not None:
            exponent = without_vanishing_sums(world, here, part.exponent)
            changed = changed or exponent != part.exponent
            made = made * exponential(exponent)
        total = total + made
    return total if changed else term


def _inside(world: World, here: IndexSet, leaf: Leaf) -> Term | None:
    """A root or function of such a term; None where nothing in it vanishes."""
    if not isinstance(leaf, Base | Call):
        return None
    args = [without_vanishing_sums(world, here, x) for x in leaf.terms]
    if tuple(args) == tuple(leaf.terms):
        return None
    return args[0] if isinstance(leaf, Base) else called(world, leaf.function, args)


@dataclass(frozen=True)
class _Summand:
    """What a sum adds at a point: a body, so often as is counted there."""

    coefficient: Rational
    counted: Sequence[Variable]
    domain: IndexSet
    body: Term

    def within(self, world: World, where: IndexSet) -> Term:
        """The same at the points of a set."""
        body = restrict(world, self.body, where)
        found = sum_over(world, self.counted, world.close(self.domain & where), body)
        return restrict(world, found, where).scaled(self.coefficient)


def _summand(
    world: World, coefficient: Rational, leaf: Sum, points: dict[int, list[Integer]]
) -> _Summand | None:
    """What a sum adds at a point of what its body depends on; None where on nothing.

    ``points``: those of so many variables, the same for all sums.
    """
    kept = [v for v in leaf.variables if v in leaf.body.free_variables()]
    if not kept:
        return None
    count = len(kept)
    if count not in points:
        points[count] = [world.fresh("p") for _ in kept]
    env, counted = renamed(world, [v for v in leaf.variables if v not in kept])
    env |= dict(zip(kept, points[count], strict=True))
    domain = world.substitute(leaf.domain, env)
    return _Summand(coefficient, counted, domain, world.substitute(leaf.body, env))


def _data(body: Term) -> Product:
    """What a body has beside numbers of positions and sizes."""
    ((part, _),) = body.parts.items()
    factors = {leaf: power for leaf, power in part.factors if not _is_number(leaf)}
    return Product(factors, part.exponent)


def _is_number(leaf: Leaf) -> bool:
    if isinstance(leaf, Base):
        parts = leaf.term.parts
        return all(
            p.exponent is None and all(_is_number(f) for f, _ in p.factors)
            for p in parts
        )
    return isinstance(leaf, Whole)


def _without(part: Product, leaf: Leaf) -> Product:
    factors = {f: power for f, power in part.factors if f is not leaf}
    return Product(factors, part.exponent)


def _add_nothing(world: World, here: IndexSet, summands: Sequence[_Summand]) -> bool:
    """Whether sums add 0 at each of their points."""
    where = IndexSet.nothing
    for one in summands:
        try:
            where = where | world.project(one.domain, one.counted)
        except Unknown:
            return False
    return _is_zero(world, world.close(here & where), summands, _SPLITS)


def _is_zero(
    world: World, where: IndexSet, summands: Sequence[_Summand], splits: int
) -> bool:
    if world.is_empty(where):
        return True
    less = _less(world, where, summands) if splits else None
    if less is not None:
        sides = (world.close(where & side) for side in (less, ~less))
        return all(_is_zero(world, side, summands, splits - 1) for side in sides)
    total = ZERO
    for one in summands:
        total = total + one.within(world, where)
    return fractions.vanishes(tidy(world, total))


def _less(
    world: World, where: IndexSet, summands: Sequence[_Summand]
) -> IndexSet | None:
    """Where the first side of a minimum or maximum is it, if a set leaves it open."""
    for one in summands:
        for atom in (a for i in integers(one.body) for a in i.atoms()):
            if isinstance(atom, Opaque) and atom.op in _ORDER:
                first = world.compare(atom.args[0], _ORDER[atom.op], atom.args[1])
                sides = (where & first, where - first)
                if not any(world.is_empty(side) for side in sides):
                    return first
    return None
