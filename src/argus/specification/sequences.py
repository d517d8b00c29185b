"""Lists of symbolic length: what a comprehension over a size makes.

    np.stack([K[h // n] @ Q[h] for h in range(H)])

The body ran once, for a position that stands for each: its result is a function of
that variable. Only what is done to the list as a whole is traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from typing import cast as typed

from argus.specification.array import SymbolicArray
from argus.specification.broadcasting import axis_of
from argus.specification.casting import lifted
from argus.specification.storage import Indices
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, Value, Variable, reduce


@dataclass(eq=False)
class Repeated:
    """``length`` elements: ``element`` for each value of ``variable`` from 0."""

    tracing: Tracing
    variable: Variable
    length: Integer
    element: Any

    def array(self) -> SymbolicArray:
        """The element as an array.

        Raises Unknown where its shape differs between elements.
        """
        found = lifted(self.tracing, self.element)
        if found.ndim:
            some = self.tracing.world.compare(self.length, ">", 0)
            why = "an empty list says nothing of its elements' shape"
            self.tracing.need(some, f"{self.length} > 0 ({why})", shape=True)
        if any(self.variable in n.variables() for n in found.sizes):
            raise Unknown(
                f"the reference puts arrays of different shapes into one list, for "
                f"each {self.variable.name}"
            )
        return found

    def stacked(self) -> SymbolicArray:
        """The elements along a new first axis."""
        return stacked_each(self, 0)

    def value(self, value: Value, at: Integer) -> Value:
        """What a value of the element is at a position of the list."""
        return self.tracing.world.substitute(value, {self.variable: at})

    def __iter__(self) -> Iterator[Any]:
        raise Unknown(f"the reference iterates over a list of {self.length} elements")

    def __len__(self) -> int:
        raise Unknown(f"the reference needs the length {self.length} as a number")

    def __getitem__(self, key: Any) -> Any:
        return read_only(stacked_each(self, 0)[key])


def unwrapped(values: Any) -> Any:
    """A list that a loop of symbolic length has filled, as a `Repeated`.

    Raises Unknown for a list that has other elements beside.
    """
    if not isinstance(values, list | tuple):
        return values
    parts = list(typed(list[Any], values))
    if not any(isinstance(p, Repeated) for p in parts):
        return typed(Any, values)
    if len(parts) != 1:
        raise Unknown("a list has elements of a loop over a symbolic size and others")
    return parts[0]


def read_only(array: SymbolicArray) -> SymbolicArray:
    """An array that cannot be written: an element of a list whose others are not here.

    What is written to it would have to be seen in the list.
    """
    return array.seen(array.sizes, lambda indices: indices, None)


def stacked_each(parts: Repeated, axis: int) -> SymbolicArray:
    """The elements along a new axis."""
    element = parts.array()
    dim = axis_of(axis, element.ndim + 1)

    now = element.now()

    def read(indices: Indices) -> Value:
        rest = (*indices[:dim], *indices[dim + 1 :])
        return parts.value(now(rest), indices[dim])

    sizes = (*element.sizes[:dim], parts.length, *element.sizes[dim:])
    return SymbolicArray(parts.tracing, sizes, element.dtype, read)


def concatenated_repeated(parts: Repeated, axis: int | None) -> SymbolicArray:
    """The elements one after the other along an axis that they have."""
    element = parts.array()
    if axis is None:
        element, axis = element.reshape(-1), 0
    dim, world = axis_of(axis, element.ndim), parts.tracing.world
    extent, now = element.sizes[dim], element.now()

    def read(indices: Indices) -> Value:
        at, inner = (
            world.quotient(indices[dim], extent),
            world.remainder(indices[dim], extent),
        )
        rest = (*indices[:dim], inner, *indices[dim + 1 :])
        return parts.value(now(rest), at)

    sizes = (*element.sizes[:dim], extent * parts.length, *element.sizes[dim + 1 :])
    return SymbolicArray(parts.tracing, sizes, element.dtype, read)


def folded(parts: Repeated, function: str) -> SymbolicArray:
    """The sum, the largest or the smallest of the elements."""
    element = parts.array()
    world, now = parts.tracing.world, element.now()

    def read(indices: Indices) -> Value:
        value = now(indices)
        return reduce(world, function, [parts.variable], value, IndexSet.universe)

    return SymbolicArray(parts.tracing, element.sizes, element.dtype, read)
