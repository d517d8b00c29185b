"""Elements whose indices are written in two ways, and are the same where a set holds.

Quotients of sums of quotients have no form of their own: a tile that is cut, turned
and put together reads ``(i // 8 + 4 * (i // 96)) // 8``, where its reference counts in
another way. What a sum binds may stand in both, if it is of no matter:
``k + 128 * (n // 128)`` is ``k`` where n is less than 128.
"""

from __future__ import annotations

from argus.terms import (
    Element,
    IndexSet,
    Leaf,
    Term,
    Value,
    Variable,
    World,
    element,
    replace,
)
from argus.verify.equality.mentioned import leaves

__all__ = ["aligned"]

_MOST = 24
"""Elements of a term that are compared with each other."""


def aligned(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with one name for each element."""
    free = term.free_variables()
    known: list[Element] = []
    change: dict[Element, Element] = {}
    for leaf in leaves(term):
        if not isinstance(leaf, Element) or leaf in known:
            continue
        if len(known) == _MOST:
            break
        twin = next((x for x in known if _same(world, here, free, x, leaf)), None)
        if twin is None:
            known.append(leaf)
        else:
            change[leaf] = twin
    if not change:
        return term

    def other(leaf: Leaf) -> Value | None:
        for old, new in change.items():
            if isinstance(leaf, Element) and _renamed(old, leaf, free):
                triples = zip(leaf.indices, old.indices, new.indices, strict=True)
                found = element(leaf.tensor, tuple(x - (i - j) for x, i, j in triples))
                return Value.real(found)
        return None

    return replace(world, term, other).term


def _same(
    world: World,
    here: IndexSet,
    free: frozenset[Variable],
    one: Element,
    other: Element,
) -> bool:
    """Whether two elements have one index, whatever sums around them bind."""
    if one.tensor != other.tensor:
        return False
    return all(
        i == j
        or (
            (i - j).variables() <= free
            and world.is_empty(here & world.compare(i, "!=", j))
        )
        for i, j in zip(one.indices, other.indices, strict=True)
    )


def _renamed(one: Element, other: Element, free: frozenset[Variable]) -> bool:
    """Whether an element is another but for the names of what sums bind."""
    return one.tensor == other.tensor and all(
        not (i - j).terms.get((), 0) and (i - j).variables().isdisjoint(free)
        for i, j in zip(one.indices, other.indices, strict=True)
    )
