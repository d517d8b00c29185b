"""Terms that are counted where conditions hold: is each counted 0 times everywhere?

An element that a reference adds where ``H = 1``, and once more where ``H >= 2``, is the
one that a kernel adds in any case.
"""

from __future__ import annotations

from argus.terms import IndexSet, Product, Sum, Term, World
from argus.terms.sums import disjoint
from argus.terms.term import Rational

__all__ = ["vanishes"]


def vanishes(world: World, here: IndexSet, term: Term) -> bool:
    """Whether a term is 0 wherever a set holds, by how often each product is counted.

    False: not shown.
    """
    if term.special is not None:
        return False
    counted: dict[Product, list[tuple[Rational, IndexSet]]] = {}
    for part, coefficient in term.parts.items():
        where = IndexSet.universe
        factors = dict(part.factors)
        for leaf, power in part.factors:
            if isinstance(leaf, Sum) and not leaf.variables and power > 0:
                if len(leaf.body.parts) != 1 or leaf.body.constant != 1:
                    return False
                where = where & leaf.domain
                del factors[leaf]
        rest = Product(factors, part.exponent)
        counted.setdefault(rest, []).append((coefficient, where))
    return all(
        world.is_empty(here & where)
        for times in counted.values()
        for _, where in disjoint(times)
    )
