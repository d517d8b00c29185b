"""A function of Python applied to each element or line: np.vectorize, and its like.

It is called once, for any place. Branches that an element decides are taken both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray, positions
from argus.specification.broadcasting import axis_of, broadcast, reader
from argus.specification.casting import converted, lifted
from argus.specification.joining import tracing_of
from argus.specification.state import ReachableState
from argus.specification.storage import Indices
from argus.specification.table import call, traces
from argus.specification.tracing import Tracing
from argus.specification.turning import every_way
from argus.terms import Integer, Unknown


def of_each(
    tracing: Tracing,
    sizes: tuple[Integer, ...],
    function: Callable[..., Any],
    given: Callable[[Indices], Sequence[Any]],
    dtype: Any,
) -> SymbolicArray:
    """What a function makes of what it is given at each place.

    Without a ``dtype`` numpy takes the type of the first result. Raises Unknown where
    results have others.
    """
    types: set[np.dtype[Any]] = set()

    def result(place: Indices) -> SymbolicArray:
        def run() -> list[Any]:
            found = lifted(tracing, function(*given(place)))
            types.add(found.dtype)
            return [found if dtype is None else converted(found, dtype)]

        state = ReachableState.of([function])
        found = every_way(tracing, run, [function], _mixed)[0]
        changes = state.changed()
        if changes.arrays or changes.appended:
            raise Unknown("a function of each element changes something")
        return found

    generic = result(positions(tracing, sizes, "v"))
    if dtype is None and len(types) > 1:
        raise Unknown(
            "the reference calls a function of each element that makes "
            "whole numbers of some, and others of the rest"
        )
    rank = len(sizes)
    return SymbolicArray(
        tracing,
        (*sizes, *generic.sizes),
        generic.dtype,
        lambda i: result(i[:rank]).at(i[rank:]),
    )


def _mixed(_: int) -> Any:
    raise Unknown("the reference calls a function of each element that makes no number")


def vectorized(
    tracing: Tracing, function: Any, otypes: Any = None, *rest: Any, **options: Any
) -> Callable[..., Any]:
    """`np.vectorize`: a function of numbers, of each element of arrays."""

    def each(*args: Any) -> Any:
        arrays = [lifted(tracing, a) for a in args]
        plain = [name for name, value in options.items() if value] or list(rest)
        if plain:
            raise Unknown("the reference calls np.vectorize with options")
        if otypes is not None and len(otypes) != 1:
            raise Unknown("the reference calls np.vectorize with several types")
        sizes = broadcast(tracing, [a.sizes for a in arrays], "np.vectorize")
        reads = [reader(a) for a in arrays]

        def given(place: Indices) -> list[Any]:
            return [
                SymbolicArray(tracing, (), a.dtype, lambda _, r=r: r(place))
                for a, r in zip(arrays, reads, strict=True)
            ]

        return of_each(
            tracing, sizes, function, given, None if otypes is None else otypes[0]
        )

    return each


@traces(np.apply_along_axis)
def apply_along_axis(
    func1d: Any, axis: int, arr: SymbolicArray, *args: Any, **named: Any
) -> Any:
    """A function of each line along an axis."""
    tracing = tracing_of(arr)
    dim = axis_of(axis, arr.ndim)
    moved: Any = call(np.moveaxis, arr, dim, -1)
    read, sizes = moved.now(), moved.sizes

    def given(place: Indices) -> list[Any]:
        return [
            SymbolicArray(tracing, sizes[-1:], arr.dtype, lambda i: read((*place, *i)))
        ]

    def line(one: Any) -> Any:
        return func1d(one, *args, **named)

    made = of_each(tracing, sizes[:-1], line, given, None)
    new = len(made.sizes) - len(sizes) + 1
    if new > 1:
        raise Unknown("the reference calls np.apply_along_axis with a matrix of a line")
    return call(np.moveaxis, made, -1, dim) if new else made
