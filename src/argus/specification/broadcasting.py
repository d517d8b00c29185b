"""Broadcasting: shapes are compared from the right, and a size of 1 is repeated.

A symbolic size is 1 where every launch has it so. Two other sizes that may differ must
be the same: the reference is taken to be defined only there, and the specification says
so.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.specification.array import SymbolicArray
from argus.specification.storage import Indices, Read
from argus.specification.tracing import Tracing
from argus.terms import Integer, Unknown, Value

Sizes = tuple[Integer, ...]


def broadcast(tracing: Tracing, shapes: Sequence[Sizes], of: str) -> Sizes:
    """The common shape of several. Raises Unknown where there never is one."""
    rank = max(map(len, shapes))
    found: list[Integer] = []
    for dim in range(rank):
        sizes = [s[dim - rank + len(s)] for s in shapes if dim - rank + len(s) >= 0]
        wide = [n for n in sizes if not tracing.is_one(n)]
        for other in wide[1:]:
            tracing.need_equal(wide[0], other, of)
        # A number says more than a symbol that is equal to it.
        wide.sort(key=lambda n: n.constant is None)
        found.append(wide[0] if wide else Integer.of(1))
    return tuple(found)


def reader(array: SymbolicArray) -> Read:
    """Elements of an array by positions of a shape that it is broadcast to."""
    read, sizes, tracing = array.now(), array.sizes, array.tracing

    def at(indices: Indices) -> Value:
        mine = indices[len(indices) - len(sizes) :]
        return read(
            tuple(
                Integer.of(0) if tracing.is_one(n) else i
                for n, i in zip(sizes, mine, strict=True)
            )
        )

    return at


def expanded(array: SymbolicArray, sizes: Sizes, of: str) -> SymbolicArray:
    """An array repeated to a shape; numpy's is a view that cannot be written."""
    tracing = array.tracing
    if len(array.sizes) > len(sizes):
        raise Unknown(f"the reference fails: {of} to fewer dimensions")
    for mine, other in zip(
        array.sizes, sizes[len(sizes) - len(array.sizes) :], strict=True
    ):
        if not tracing.is_one(mine):
            tracing.need_equal(mine, other, of)
    own = array.sizes

    def way(indices: Indices) -> Indices:
        kept = indices[len(indices) - len(own) :]
        return tuple(
            Integer.of(0) if tracing.is_one(n) else i
            for n, i in zip(own, kept, strict=True)
        )

    return array.seen(sizes, way, None)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises Unknown where there is no such one."""
    if not -rank <= axis < rank:
        raise Unknown(f"the reference fails: axis {axis} of {rank} dimensions")
    return axis % rank


def axes_of(axis: object, rank: int) -> tuple[int, ...]:
    """Axes as numpy takes them: None for all, one, or several."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, tuple | list):
        return tuple(axis_of(int(a), rank) for a in axis)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return (axis_of(int(axis), rank),)  # type: ignore[call-overload]
