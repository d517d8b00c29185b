"""Sums and maxima, and single points of them that stand beside.

A kernel that takes its first or last step outside of a loop adds a point to a sum: of
``f(0) + sum of f(k) over 0 < k < n`` the first part belongs to the sum where 0 is none
of its points already, and of ``(sum of f(k) over 0 <= k < n) - f(0)`` it is left out.
Of a sum over several variables some of them have a value there, and the point is a sum
over the others: so a window is the sum of its elements, one by one. A maximum takes a
number in, whether it has it already or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import TypeGuard

from argus.terms.integers import Atom, Entry, Integer, Variable
from argus.terms.leaves import Element, Leaf, Max, Sum, Whole
from argus.terms.maxima import Source, maximum_over, opened
from argus.terms.opening import closing
from argus.terms.sets import IndexSet, intersection
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ONE, Product, Term, leaf_term
from argus.terms.world import World

__all__ = ["absorbed"]


@closing
def absorbed(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with points as parts of sums and maxima."""
    term = _with_maxima(world, term)
    for _ in range(len(term.parts)):
        made = _step(world, here, term)
        if made is None:
            return term
        term = tidy(world, made)
    return term


def _step(world: World, here: IndexSet, term: Term) -> Term | None:
    """The term with one point less; None where no point is one of a sum's."""
    for part, weight in term.parts.items():
        for (names, domain, body), beside in _sums(world, part):
            for point, coefficient in term.parts.items():
                if point is part or coefficient not in (weight, -weight):
                    continue
                whole = names, domain, body * beside
                found = _with(world, here, whole, point, coefficient == weight)
                if found is None:
                    continue
                left = {p: c for p, c in term.parts.items() if p not in (part, point)}
                made = sum_over(world, names, found, body) * beside
                return Term(left) + made.scaled(weight)
    return None


def _sums(world: World, part: Product) -> Iterator[tuple[Source, Term]]:
    """Sums that are factors of a product, with what stands beside each.

    Where the product is 0 unless a condition holds, so is the sum.
    """
    conditions = [f for f, y in part.factors if _is_condition(f) and y == 1]
    for leaf, power in part.factors:
        if isinstance(leaf, Sum) and power == 1 and leaf.variables:
            left = (leaf, *conditions)
            others = {f: y for f, y in part.factors if f not in left}
            source = leaf.variables, leaf.domain, leaf.body
            ((names, domain, body),) = opened(world, [source])
            domain = intersection((domain, *(f.domain for f in conditions)))
            found = names, domain, body
            yield found, Term({Product(others, part.exponent): 1})


def _is_condition(leaf: Leaf) -> TypeGuard[Sum]:
    """Whether it is 1 where something holds, and else 0."""
    return isinstance(leaf, Sum) and not leaf.variables and leaf.body == ONE


def _with(
    world: World, here: IndexSet, whole: Source, point: Product, add: bool
) -> IndexSet | None:
    """The domain of a sum with or without a point; None where it cannot have that."""
    _, domain, _ = whole
    one: Source = (), IndexSet.universe, Term({point: 1})
    parts = [(i, w, body * rest) for (i, w, body), rest in _sums(world, point)]
    for source in (one, *parts):
        for at in _matches(world, whole, source):
            if add and world.is_empty(here & domain & at):
                return domain | at
            if not add and world.is_empty((here & at) - domain):
                return domain - at
    return None


def _matches(world: World, whole: Source, part: Source) -> Iterator[IndexSet]:
    """Points of the variables of a sum at which its terms are those of a part."""
    (names, _, body), (inner, where, term) = whole, part
    if len(inner) >= len(names):
        return
    bound = {*names, *inner}
    for fixed in combinations(names, len(names) - len(inner)):
        others = [v for v in names if v not in fixed]
        places = [
            [i for i in _places(body, v, term) if not i.variables() & bound]
            for v in fixed
        ]
        for indices in product(*places):
            known = dict(zip(fixed, indices, strict=True))
            value = world.substitute(body, known)
            for order in permutations(others):
                env = {v: Integer.atom(w) for v, w in zip(inner, order, strict=True)}
                if world.substitute(term, env) == value:
                    at = IndexSet.universe
                    for variable, index in known.items():
                        at = at & world.compare(Integer.atom(variable), "==", index)
                    yield at & world.substitute(where, env)


def _places(body: Term, variable: Variable, point: Term) -> list[Integer]:
    """What a variable may be in a term: where both read one tensor."""
    found: dict[Integer, None] = {}
    for mine in _elements(body):
        for theirs in _elements(point):
            if mine.tensor != theirs.tensor:
                continue
            for a, b in zip(mine.indices, theirs.indices, strict=True):
                factor = a.coefficient(variable)
                if factor in (1, -1):
                    rest = a - Integer.atom(variable) * factor
                    found.setdefault((b - rest) * factor)
    return list(found)


def _elements(term: Term) -> list[Element | Entry]:
    """Elements and entries that a term has as factors, also in an exponent."""
    leaves: list[Leaf] = [leaf for part in term.parts for leaf, _ in part.factors]
    inner = [_elements(p.exponent) for p in term.parts if p.exponent is not None]
    own = [leaf for leaf in leaves if isinstance(leaf, Element)]
    entries = (_entries(leaf.atom) for leaf in leaves if isinstance(leaf, Whole))
    several = (*inner, *entries)
    return [*own, *(each for found in several for each in found)]


def _entries(atom: Atom) -> list[Element | Entry]:
    """Entries of tables in a whole number, but for those that tell where others are."""
    if isinstance(atom, Entry):
        return [atom]
    return [e for i in atom.arguments for a in i.atoms() for e in _entries(a)]


def _with_maxima(world: World, term: Term) -> Term:
    """The term with numbers of a maximum as points of what else is in it."""
    made = Term({})
    for part, coefficient in term.parts.items():
        product = Term({Product({}, part.exponent): coefficient})
        for leaf, power in part.factors:
            whole = leaf_term(leaf, power)
            if isinstance(leaf, Max) and power == 1:
                whole = _gathered(world, leaf)
            product = product * whole
        made = made + product
    return made


def _gathered(world: World, leaf: Max) -> Term:
    """A maximum of as few generators as there may be."""
    source = [(g.variables, g.domain, g.body) for g in leaf.generators]
    left = opened(world, source)
    for whole in sorted(left, key=lambda g: -len(g[0])):
        names, domain, body = whole
        for part in left:
            at = next(_matches(world, whole, part), None) if part is not whole else None
            if at is not None:
                left = [g for g in left if g is not whole and g is not part]
                left.append((names, domain | at, body))
                return maximum_over(world, left)
    return leaf_term(leaf)
