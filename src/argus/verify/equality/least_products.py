"""Products over sets, as those with the fewest points.

A recurrence ``c' = a(j)*c + g(j)`` adds up g(i) times the product of a(k) over
i < k < n, and one that is asked for a step later, that over i < k <= n. Where n is one
of its points, the latter is ``a(n)`` times the former; else both are the same. What
runs from the last step to the first is so at the least of its points.

A recurrence that goes on from tile to tile multiplies what it added up before by the
product of a tile: that is one of each summand, which goes on with that of the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argus.terms import (
    Fold,
    IndexSet,
    Integer,
    Leaf,
    Product,
    Sum,
    Term,
    Variable,
    World,
    leaf_term,
)
from argus.terms.affine import extent
from argus.terms.folds import fold, together
from argus.terms.fuse import shape
from argus.terms.maxima import opened
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ZERO

__all__ = ["with_least_products"]

_APART = 4
"""How far ends of products are apart, at most."""
_Key = tuple[str, bool, Integer]


@dataclass(frozen=True)
class _End:
    """The first or last point of a product, where it is the same for all it is in."""

    shape: str
    last: bool
    at: Integer

    @property
    def key(self) -> _Key:
        """What is the same of ends that differ in a constant only."""
        return self.shape, self.last, self.at - self.constant

    @property
    def constant(self) -> int:
        """The constant."""
        return self.at.terms.get((), 0)

    @property
    def outward(self) -> int:
        """The constant, larger for a product that has more points."""
        return self.constant if self.last else -self.constant


def with_least_products(world: World, term: Term) -> Term:
    """The same term, with products of which ends that differ by little are the same."""
    term = _inside(world, term)
    for _ in range(_APART):
        least: dict[_Key, int] = {}
        several = False
        for _, _, end in _ends(world, term):
            known = least.get(end.key, end.outward)
            several = several or known != end.outward
            least[end.key] = min(known, end.outward)
        if not several:
            return term
        total = ZERO
        for part, coefficient in term.parts.items():
            total = total + _shorter(world, part, least).scaled(coefficient)
        term = tidy(world, total)
    return term


def _inside(world: World, term: Term) -> Term:
    """The same term, with products that multiply a sum of such as those of summands.

    Of several that a summand has, one is made.
    """
    total, changed = ZERO, False
    for part, coefficient in term.parts.items():
        sums = [f for f, y in part.factors if y == 1 and _adds_products(f)]
        folds = [*_folds(Term({part: 1}))]
        if len(sums) != 1 or not (folds or _has_several(sums[0])):
            total = total + Term({part: coefficient})
            continue
        (over,) = sums
        assert isinstance(over, Sum)
        beside = {f: y for f, y in part.factors if f is not over and f not in folds}
        source = over.variables, over.domain, over.body
        ((names, domain, body),) = opened(world, [source])
        for one in folds:
            body = body * leaf_term(one)
        made = sum_over(world, names, domain, together(world, body))
        rest = Term({Product(beside, part.exponent): coefficient})
        total, changed = total + rest * made, True
    return tidy(world, total) if changed else term


def _adds_products(leaf: Leaf) -> bool:
    return isinstance(leaf, Sum) and bool(leaf.variables) and any(_folds(leaf.body))


def _has_several(leaf: Leaf) -> bool:
    """Whether a sum has a summand that is a product of several products over sets."""
    assert isinstance(leaf, Sum)
    parts = leaf.body.parts
    return any(len(list(_folds(Term({part: 1})))) > 1 for part in parts)


def _shorter(world: World, part: Product, least: dict[_Key, int]) -> Term:
    """A product with one of its products over sets without its end."""
    for over, one, end in _ends(world, Term({part: 1})):
        if end.outward == least[end.key]:
            continue
        rest = Term({part: 1})
        if over is None:
            made = _without_end(world, [], IndexSet.universe, rest, one, end)
        else:
            beside = {f: y for f, y in part.factors if f is not over}
            source = over.variables, over.domain, over.body
            ((names, domain, body),) = opened(world, [source])
            inner = next(
                f
                for f in _folds(body)
                if shape(world, f.generators[0].body) == end.shape
                and _end_of(world, f, end.last, frozenset(names)) == end
            )
            made = _without_end(world, names, domain, body, inner, end)
            made = made * Term({Product(beside, part.exponent): 1})
        return made
    return Term({part: 1})


def _without_end(
    world: World,
    names: Sequence[Variable],
    domain: IndexSet,
    body: Term,
    one: Fold,
    end: _End,
) -> Term:
    """The sum of a body over a domain, with the end of a product in it outside."""
    (generator,) = one.generators
    source = generator.variables, generator.domain, generator.body
    ((variables, points, factor),) = opened(world, [source])
    (variable,) = variables
    here = {variable: end.at}
    some = world.substitute(points, here)
    first = world.substitute(factor, here)
    fewer = points & world.compare(Integer.atom(variable), "!=", end.at)
    short = fold(world, "prod", [(variables, fewer, factor)])
    ((product, coefficient),) = body.parts.items()
    others = {f: y for f, y in product.factors if f is not one}
    rest = Term({Product(others, product.exponent): coefficient}) * short
    total = sum_over(world, names, domain & some, rest * first)
    return total + sum_over(world, names, domain - some, rest)


def _ends(world: World, term: Term) -> Iterator[tuple[Sum | None, Fold, _End]]:
    """Products over sets that are factors, also in what sums add up, and their ends."""
    for part in term.parts:
        for leaf, power in part.factors:
            if power != 1:
                continue
            if isinstance(leaf, Sum):
                for one in _folds(leaf.body):
                    yield from _both(world, leaf, one, frozenset(leaf.variables))
            elif isinstance(leaf, Fold):
                for one in _folds(Term({Product({leaf: 1}): 1})):
                    yield from _both(world, None, one, frozenset())


def _both(
    world: World, over: Sum | None, one: Fold, bound: frozenset[Variable]
) -> Iterator[tuple[Sum | None, Fold, _End]]:
    for last in (True, False):
        end = _end_of(world, one, last, bound)
        if end is not None:
            yield over, one, end


def _end_of(
    world: World, one: Fold, last: bool, bound: frozenset[Variable]
) -> _End | None:
    (generator,) = one.generators
    ends = extent(world, generator.domain, generator.variables[0])
    if ends is None or ends[last].variables() & (bound | {generator.variables[0]}):
        return None
    return _End(shape(world, generator.body), last, ends[last])


def _folds(body: Term) -> Iterator[Fold]:
    """Products over one variable that are factors of a term of one product."""
    if len(body.parts) != 1:
        return
    ((product, _),) = body.parts.items()
    for leaf, power in product.factors:
        if power != 1 or not isinstance(leaf, Fold) or leaf.function != "prod":
            continue
        if len(leaf.generators) == 1 and len(leaf.generators[0].variables) == 1:
            yield leaf
