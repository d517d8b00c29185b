"""Values put together from several, each under its condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.terms import (
    IndexSet,
    Integer,
    Value,
    Variable,
    World,
    cast,
    joined,
    union,
)

__all__ = ["chosen", "same_value", "substituted", "within"]


def chosen(world: World, cases: Sequence[tuple[IndexSet, Value]]) -> Value:
    """The value of which the condition holds; the conditions exclude each other.

    A number that meets a fraction becomes one, a truth that meets a number 0 or 1.
    """
    live = [(s, v) for s, v in cases if s.is_universe or not world.is_empty(s)]
    live = live or list(cases[:1])
    if len(live) == 1 and live[0][0].is_universe:
        return live[0][1]
    kinds = {v.kind for _, v in live}
    if len(kinds) > 1:
        kind = "real" if "real" in kinds else "integer"
        live = [(s, cast(world, v, kind)) for s, v in live]
    return joined(world, live)


def within(world: World, value: Value, where: IndexSet) -> Value:
    """A value that is asked for in a set only: without the cases outside of it."""
    if value.kind == "truth" or len(value.cases) < 2:
        return value
    live = [(s, x) for s, x in value.cases if not world.is_empty(s & where)]
    if len(live) == 1:
        live = [(IndexSet.universe, live[0][1])]
    return Value(value.kind, tuple(live or value.cases[:1]))


def substituted(world: World, value: Value, change: Mapping[Variable, Value]) -> Value:
    """A value with variables replaced by integers that have cases themselves."""
    made: list[tuple[IndexSet, dict[Variable, Integer]]] = [(IndexSet.universe, {})]
    for variable, by in change.items():
        made = [
            (s & t, {**env, variable: x})
            for s, env in made
            for t, x in by.integers
            if s.is_universe or t.is_universe or not world.is_empty(s & t)
        ]
    return chosen(world, [(s, world.substitute(value, env)) for s, env in made])


def same_value(world: World, left: Value, right: Value, where: IndexSet) -> bool:
    """Whether two values are plainly the same wherever ``where`` holds."""
    if left.kind != right.kind:
        return False
    if left.kind == "truth":
        a, b = left.where & where, right.where & where
        return world.is_empty(a - b) and world.is_empty(b - a)
    for s, x in left.cases:
        other = union(t for t, y in right.cases if x == y)
        if not world.is_empty((s & where) - other):
            return False
    return True
