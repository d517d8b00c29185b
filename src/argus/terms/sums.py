"""Sums over sets of points, in normal form.

    sum_over(world, [k], inside, a * b)

A sum is split into its parts, factors that do not depend on what is summed over stand
outside, sums of sums are one sum, and a count is a size. What is left is a leaf: one
product over a set, with its variables in the form of `binding.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import affine
from argus.terms.binding import BoundVariables
from argus.terms.extents import apart, point_count, unpacked
from argus.terms.fuse import fused, fused_product, shape, shape_of_product
from argus.terms.integers import Entry, Integer, Truth, Variable, variable_of
from argus.terms.leaves import Leaf, Sum
from argus.terms.naming import sum_of
from argus.terms.opening import closing
from argus.terms.sets import IndexSet
from argus.terms.term import (
    ONE,
    ZERO,
    Product,
    Rational,
    Term,
    leaf_term,
    undefined,
    whole,
)
from argus.terms.unknown import Unknown
from argus.terms.world import World

Weighted = tuple[Rational, IndexSet]
Names = tuple[Variable, ...]

_MOST_PARTS = 16
"""Parts into which overlapping sets are split, at most."""


@closing
def sum_over(
    world: World, variables: Sequence[Variable], domain: IndexSet, term: Term
) -> Term:
    """The sum of a term over the points of a set, whose variables become bound."""
    if domain.is_nothing or not term.parts:
        return ZERO
    if term.special is not None:
        if world.is_empty(domain):
            return ZERO
        return undefined(term.undefined or "a sum of infinities")
    total = ZERO
    with world.deeper("a sum whose form does not come to rest"):
        for part, coefficient in term.parts.items():
            made = _of_product(world, variables, domain, part)
            total = total + made.scaled(coefficient)
    return total


def indicator(world: World, domain: IndexSet) -> Term:
    """1 where a set holds, else 0."""
    said = world.canonical(domain)
    if said.is_universe:
        return ONE
    if said.is_nothing:
        return ZERO
    return leaf_term(Sum(0, said, ONE))


def _of_product(
    world: World, variables: Sequence[Variable], domain: IndexSet, part: Product
) -> Term:
    bound = frozenset(variables)
    for leaf, power in part.factors:
        if isinstance(leaf, Sum) and power == 1 and leaf.free & bound:
            return _flattened(world, variables, domain, part, leaf)
    domain = world.close(domain & _where_not_0(world, part, bound))
    if domain.is_nothing:
        return ZERO
    inside, outside = _separated(part, bound)
    if Term({inside: 1}) == ONE:
        # Before variables that are only counted are packed.
        counted = _count(world, variables, domain)
        if counted is not None:
            return Term({outside: 1}) * counted
    outer = Term({outside: 1})
    for name in variables:
        # What a body does not mention is counted, whichever sum was made first.
        extent = None if name in inside.free else apart(world, variables, domain, name)
        if extent is not None:
            times, domain = extent
            outer = outer * times
            variables = [v for v in variables if v is not name]
    binding = BoundVariables(world, variables, domain, Term({inside: 1}))
    found = binding.canonical(counted=True)
    if not found.body.parts or found.domain.is_nothing:
        return ZERO
    if not _is_body(found.body, frozenset(found.variables)):
        return outer * sum_over(world, found.variables, found.domain, found.body)
    if not found.variables:
        return outer * found.body * indicator(world, found.domain)
    if found.body == ONE:
        counted = _count(world, found.variables, found.domain)
        if counted is not None:
            return outer * counted
    return outer * leaf_term(
        Sum(len(found.variables), found.domain, found.body, found.height)
    )


def _where_not_0(world: World, part: Product, bound: frozenset[Variable]) -> IndexSet:
    """Where sums whose squares are factors have points: elsewhere these are 0.

    The columns of a tile beyond the last one add nothing to the squares of a row.
    """
    found = IndexSet.universe
    for leaf, power in part.factors:
        if isinstance(leaf, Sum) and power > 0 and leaf.free & bound:
            try:
                found = found & world.project(leaf.domain, leaf.variables)
            except Unknown:
                continue  # data decides it
    return found


def _is_body(body: Term, bound: frozenset[Variable]) -> bool:
    """Whether a term is one product of which every factor depends on what is bound."""
    if len(body.parts) != 1 or body.special is not None or not bound:
        return len(body.parts) == 1 and body.special is None
    ((part, coefficient),) = body.parts.items()
    if coefficient != 1 or any(not leaf.free & bound for leaf, _ in part.factors):
        return False
    exponent = part.exponent
    return exponent is None or all(p.free & bound for p in exponent.parts)


@closing
def rebound(world: World, old: Sum, domain: IndexSet, body: Term) -> Term:
    """A sum over another set, or of another body, with the variables of an old one."""
    return changed(world, (old.variables, old.domain, old.body), domain, body)


def changed(
    world: World,
    old: tuple[Sequence[Variable], IndexSet, Term],
    domain: IndexSet,
    body: Term,
) -> Term:
    """A sum over another set, or of another body, with the variables of an old one.

    Its variables stay what they are where the body has kept its shape, but for one that
    can be one number only, for several that are only counted, since what the set says
    of tables tells which is first, and for one that is, where no table is asked: a
    smaller set may have a known size. ``old``: variables, set and body.
    """
    names, before, term = old
    same = shape(world, body) == shape(world, term)
    if same and domain != before:
        counted = body == ONE and (len(names) > 1 or not _asks_entries(domain))
        same = not (counted or _is_determined(world, names, domain))
    if same:
        return sum_of(world, names, domain, body)
    env, fresh = renamed(world, names)
    return sum_over(
        world, fresh, world.substitute(domain, env), world.substitute(body, env)
    )


def _asks_entries(domain: IndexSet) -> bool:
    return any(isinstance(a, Entry | Truth) for a in domain.all_atoms())


def renamed(
    world: World, names: Sequence[Variable]
) -> tuple[dict[Variable, Integer], list[Variable]]:
    """Bound variables under names that nothing else has."""
    env: dict[Variable, Integer] = {}
    fresh: list[Variable] = []
    for name in names:
        value = world.opened("f")
        env[name] = value
        fresh.append(variable_of(value))
    return env, fresh


def _flattened(
    world: World,
    variables: Sequence[Variable],
    domain: IndexSet,
    part: Product,
    leaf: Sum,
) -> Term:
    """A sum over a product with a sum, as one sum over both."""
    env, fresh = renamed(world, leaf.variables)
    inner = world.substitute(leaf.domain, env)
    body = world.substitute(leaf.body, env)
    rest: dict[Leaf, Rational] = {f: y for f, y in part.factors if f is not leaf}
    both = Term({Product(rest, part.exponent): 1}) * body
    return sum_over(world, [*variables, *fresh], domain & inner, both)


def _separated(part: Product, bound: frozenset[Variable]) -> tuple[Product, Product]:
    """(inside, outside): the factors that depend on bound variables, and the others."""
    inside = {f: y for f, y in part.factors if f.free & bound}
    outside = {f: y for f, y in part.factors if not f.free & bound}
    if part.exponent is None:
        return Product(inside), Product(outside)
    within = {p: c for p, c in part.exponent.parts.items() if p.free & bound}
    beyond = {p: c for p, c in part.exponent.parts.items() if not p.free & bound}
    return Product(inside, Term(within)), Product(outside, Term(beyond))


def _count(world: World, names: Sequence[Variable], domain: IndexSet) -> Term | None:
    """How many points a set has: a number, or a product of extents that isl gives."""
    closed = world.close(domain)
    found = point_count(world, names, closed)
    if found is not None:
        return found[0] * indicator(world, found[1])
    two = unpacked(world, names[0], closed) if len(names) == 1 else None
    if two is None:
        return None
    times, left, rest = two
    return whole(Integer.of(times)) * sum_over(world, [left], rest, ONE)


def tidy(world: World, term: Term) -> Term:
    """Sums of one body over several sets become sums over disjoint sets."""
    if not term.height or len(term.parts) < 2:
        return term
    key = ("tidy", term)
    found = world.memory.get(key)
    if found is None:
        found = world.memory[key] = _tidied(world, term)
    assert isinstance(found, Term)
    return found


def _collected(world: World, term: Term) -> Term:
    """Products that are equal where facts hold, as one: some sets say more of them."""
    by_shape: dict[str, list[tuple[Product, Rational]]] = {}
    for part, coefficient in term.parts.items():
        key = shape_of_product(world, part) if part.height else part.key
        alike = by_shape.setdefault(key, [])
        for place, (other, count) in enumerate(alike):
            everywhere = IndexSet.universe
            if fused_product(world, other, everywhere, part, everywhere) is not None:
                alike[place] = other, count + coefficient
                break
        else:
            alike.append((part, coefficient))
    parts = [item for alike in by_shape.values() for item in alike]
    return term if len(parts) == len(term.parts) else Term(dict(parts))


def _tidied(world: World, term: Term) -> Term:
    term = _collected(world, term)
    kept: dict[Product, Rational] = {}
    alike: dict[tuple[Product, Names, str], list[tuple[Rational, Sum]]] = {}
    for part, coefficient in term.parts.items():
        sums = [
            leaf
            for leaf, power in part.factors
            if isinstance(leaf, Sum) and power == 1 and leaf.variables
        ]
        if not sums:
            kept[part] = coefficient
            continue
        first = min(sums, key=lambda s: (len(s.variables), shape(world, s.body)))
        rest = Product({f: y for f, y in part.factors if f is not first}, part.exponent)
        group = (rest, first.variables, shape(world, first.body))
        alike.setdefault(group, []).append((coefficient, first))
    if all(len(sums) == 1 for sums in alike.values()):
        return term
    total = Term(kept)
    for (rest, names, _), sums in alike.items():
        outer = Term({rest: 1})
        for body, weighted in _by_body(world, sums):
            for coefficient, domain in disjoint(weighted):
                made = _of_part(world, names, domain, body, len(weighted) > 1)
                total = total + outer * made.scaled(coefficient)
    return total


def _of_part(
    world: World, names: Names, domain: IndexSet, body: Term, cut: bool
) -> Term:
    """A sum over what is left of a set; of a set that was cut maybe a single point."""
    if cut and _is_determined(world, names, domain):
        env, fresh = renamed(world, names)
        there, inner = world.substitute(domain, env), world.substitute(body, env)
        return sum_over(world, fresh, there, inner)
    return sum_of(world, names, domain, body)


def _is_determined(world: World, names: Sequence[Variable], domain: IndexSet) -> bool:
    """Whether one of the variables of a sum equals what is not bound."""
    bound = frozenset(names)
    return any(affine.equal_to(world, domain, v, bound) is not None for v in names)


def _by_body(
    world: World, sums: Sequence[tuple[Rational, Sum]]
) -> list[tuple[Term, list[Weighted]]]:
    """Sums of one shape by their body; bodies that differ in sets only are fused."""
    body: Term | None = sums[0][1].body
    domain = sums[0][1].domain
    for _, other in sums[1:]:
        if body is not None and body != other.body:
            body = fused(world, body, domain, other.body, other.domain)
        domain = domain | other.domain
    found: dict[Term, list[Weighted]] = {}
    for coefficient, one in sums:
        found.setdefault(body if body is not None else one.body, []).append(
            (coefficient, one.domain)
        )
    return list(found.items())


def disjoint(weighted: Sequence[Weighted]) -> list[Weighted]:
    """Weighted sets as disjoint ones, each weight once; 0 is left out.

    Sets of conditions that are independent of each other have twice as many parts with
    each one more: too many are left as they are.
    """
    parts: list[Weighted] = []
    for weight, domain in weighted:
        split: list[Weighted] = []
        for other, there in parts:
            both = there & domain
            if both.is_nothing:
                split.append((other, there))
                continue
            if not there.within(both):
                split.append((other, there - both))
            split.append((other + weight, both))
            domain = domain - both
        if not domain.is_nothing:
            split.append((weight, domain))
        parts = split
        if len(parts) > _MOST_PARTS:
            return [*weighted]
    by_weight: dict[Rational, IndexSet] = {}
    for weight, domain in parts:
        if weight:
            known = by_weight.get(weight, IndexSet.nothing)
            by_weight[weight] = known | domain
    return list(by_weight.items())
