"""Where sums and maxima are over a point at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.terms.cleared import cleared
from argus.terms.idle_data import without_idle_data
from argus.terms.integers import Variable
from argus.terms.leaves import Generated, Sum
from argus.terms.sets import IndexSet, union
from argus.terms.sums import renamed, sum_over
from argus.terms.term import ONE, Term
from argus.terms.unknown import Unknown
from argus.terms.world import World

__all__ = ["has_points", "points", "some_points"]


def some_points(
    world: World,
    sources: Iterable[tuple[Sequence[Variable], IndexSet]],
    where: IndexSet = IndexSet.universe,
) -> IndexSet:
    """Where one of several sets of bound variables has a point, if a set holds.

    Where data decides it, that there are more than 0 of them, by their number. If data
    decides only which of the sets a point is in, one of them has it all the same.
    """
    found: list[IndexSet] = []
    chosen: dict[int, list[tuple[Sequence[Variable], IndexSet]]] = {}
    for names, domain in sources:
        try:
            found.append(world.project(domain, names))
        except Unknown:
            chosen.setdefault(len(names), []).append((names, domain))
            env, fresh = renamed(world, names)
            count = sum_over(world, fresh, world.substitute(domain, env), ONE)
            found.append(_positive(world, count))
    found += [_some_of_all(world, x, where) for x in chosen.values() if len(x) > 1]
    return union(found)


def _some_of_all(
    world: World,
    sources: Sequence[tuple[Sequence[Variable], IndexSet]],
    where: IndexSet,
) -> IndexSet:
    """Where some sets have a point together, whatever data is; nothing if in doubt."""
    names = [world.fresh("k") for _ in sources[0][0]]
    domains = [
        world.substitute(domain, dict(zip(own, names, strict=True)))
        for own, domain in sources
    ]
    try:
        every = without_idle_data(world, world.close(union(domains) & where))
        return world.project(every, [v for name in names for v in name.variables()])
    except Unknown:
        return IndexSet.nothing


def _positive(world: World, count: Term) -> IndexSet:
    leaf = count.single
    if isinstance(leaf, Sum) and not leaf.variables and leaf.body == ONE:
        return leaf.domain
    number, _ = cleared(count)
    if number is not None:
        return world.compare(number, ">", 0)
    return world.told(world.truth_of("gt", count), True)


def has_points(world: World, here: IndexSet, leaf: Generated) -> bool:
    """Whether an extreme is one of some number wherever a set holds."""
    sources = [(g.variables, g.domain) for g in leaf.generators]
    return world.is_subset(here, some_points(world, sources, here))


def points(world: World, leaf: Generated) -> IndexSet | None:
    """Where a maximum, or its place, is one of at least one number."""
    key = ("some", leaf)
    if key not in world.memory:
        try:
            world.memory[key] = union(
                world.project(g.domain, g.variables) for g in leaf.generators
            )
        except Unknown:
            world.memory[key] = None
    found = world.memory[key]
    assert found is None or isinstance(found, IndexSet)
    return found
