"""Values by cases: choosing between them, and reading at positions that are values.

The cases of a value need not cover everything. What is left out is not specified: an
index table is read under the assumption that its entries are positions, so a value
there has a case for these only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from argus.specification.storage import Indices, Read
from argus.terms import IndexSet, Integer, Unknown, Value, World, cast, selected
from argus.terms import joined as disjoint

Cases = tuple[tuple[IndexSet, Integer], ...]


Given = Callable[[], Value]


def chosen(world: World, where: IndexSet, then: Given, otherwise: Given) -> Value:
    """One value on a set, another one elsewhere.

    What a value needs to be a number (`argus.terms.obligations`) is needed where it is
    chosen, and nowhere else.
    """
    if where.is_universe:
        return then()
    if where.is_nothing:
        return otherwise()
    values = [needed(world, where, then), needed(world, ~where, otherwise)]
    return selected(world, where, *one_kind(world, values))


def needed(world: World, where: IndexSet, given: Given) -> Value:
    """A value that matters only on a set."""
    with world.obligations.within(where):
        return given()


def passed_over(array: Any) -> Any:
    """An array of which elements are left out that are no numbers (`np.nanmax`).

    What its elements need to be numbers is nothing that such a reference needs.
    """
    from argus.specification.array import SymbolicArray

    if not isinstance(array, SymbolicArray):
        return array
    read, world = array.now(), array.tracing.world

    def at(indices: Indices) -> Value:
        with world.obligations.muted("divisor", "root", "logarithm"):
            return read(indices)

    return SymbolicArray(array.tracing, array.sizes, array.dtype, at, weak=array.weak)


def integers(value: Value) -> Cases:
    """The integers that a value is, by cases.

    Raises Unknown for what is no integer.
    """
    if value.kind != "integer":
        raise Unknown(f"the reference uses a {value.kind} value as a position")
    return value.integers


def read_by_cases(world: World, read: Read, indices: Sequence[Cases]) -> Value:
    """An element at positions that differ by cases."""
    if all(len(i) == 1 and i[0][0].is_universe for i in indices):
        return read(tuple(i[0][1] for i in indices))
    parts: list[tuple[IndexSet, tuple[Integer, ...]]] = []
    for choice in itertools.product(*indices):
        where = IndexSet.universe
        for condition, _ in choice:
            where = where & condition
        parts.append((where, tuple(x for _, x in choice)))
    some = [p for p in parts if p[0].is_universe or not world.is_empty(p[0])]
    # Of an empty slice no element is read: it is one of the array all the same.
    return joined(
        world, [(s, needed(world, s, partial(read, at))) for s, at in some or parts[:1]]
    )


def mapped(read: Read, change: Callable[[Value], Value]) -> Read:
    """Each element changed."""

    def at(indices: Indices) -> Value:
        return change(read(indices))

    return at


def as_kind(world: World, value: Value, kind: str) -> Value:
    """A value of another kind; itself where it is of it.

    Sums of integers are real numbers among terms; they stay so where an integer is
    asked for. What cuts off is `converted`.
    """
    if value.kind == kind or (kind == "integer" and value.kind == "real"):
        return value
    return cast(world, value, kind)  # type: ignore[arg-type]


def one_kind(world: World, values: Sequence[Value]) -> list[Value]:
    """Values of one kind: integers beside real numbers become real."""
    if len({v.kind for v in values}) == 1:
        return list(values)
    return [cast(world, v, "real") for v in values]


def joined(world: World, parts: Sequence[tuple[IndexSet, Value]]) -> Value:
    """The value that is each of several in a set of its own; the sets are disjoint.

    Raises Unknown where there is none: the element is outside of every array.
    """
    if not parts:
        raise Unknown("the reference reads an element that no array has")
    values = one_kind(world, [v for _, v in parts])
    return disjoint(world, [(s, v) for (s, _), v in zip(parts, values, strict=True)])
