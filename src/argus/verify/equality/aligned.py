"""Elements whose indices are written in two ways, and are the same where a set holds.

Quotients of sums of quotients have no form of their own: a tile that is cut, turned
and put together reads ``(i // 8 + 4 * (i // 96)) // 8``, where its reference counts in
another way.
"""

from __future__ import annotations

from argus.terms import Element, IndexSet, Leaf, Term, Value, World, replace
from argus.terms.term import leaf_term
from argus.verify.equality.mentioned import leaves

__all__ = ["aligned"]

_MOST = 12
"""Elements of a term that are compared with each other."""


def aligned(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with one name for each element."""
    free = term.free_variables()
    known: list[Element] = []
    change: dict[Leaf, Element] = {}
    for leaf in leaves(term):
        if not isinstance(leaf, Element) or not leaf.free <= free or leaf in known:
            continue
        if len(known) == _MOST:
            break
        twin = next((x for x in known if _same(world, here, x, leaf)), None)
        if twin is None:
            known.append(leaf)
        else:
            change[leaf] = twin
    if not change:
        return term

    def other(leaf: Leaf) -> Value | None:
        return Value.real(leaf_term(change[leaf])) if leaf in change else None

    return replace(world, term, other).term


def _same(world: World, here: IndexSet, one: Element, other: Element) -> bool:
    if one.tensor != other.tensor:
        return False
    return all(
        i == j or world.is_empty(here & world.compare(i, "!=", j))
        for i, j in zip(one.indices, other.indices, strict=True)
    )
