"""Elements that several arrays may share, as numpy's arrays and their views do.

    a = np.zeros(4)
    b = a[1:]          # a view: what is written to b is in a
    c = a + 1          # no view: it keeps what `a` was

A `Storage` holds one immutable function from positions to values, and is given another
one where an array is assigned to. A view reads and writes the storage of its base.
Whether numpy makes a view or a copy is not always known here (`reshape`): such a view
has no way back, and it is Unknown to write to it, or to read it after its base changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from argus.terms import IndexSet, Integer, Unknown, Value

Indices: TypeAlias = tuple[Integer, ...]
Read: TypeAlias = Callable[[Indices], Value]
Way: TypeAlias = Callable[[Indices], Indices]
Back: TypeAlias = Callable[[Indices], tuple[IndexSet, Indices]]


def remembered(read: Read) -> Read:
    """The same function, which computes each position once."""
    known: dict[Indices, Value] = {}

    def at(indices: Indices) -> Value:
        found = known.get(indices)
        if found is None:
            found = known[indices] = read(indices)
        return found

    return at


class Storage:
    """The elements of an array at one moment of the trace."""

    __slots__ = ("read", "version")

    def __init__(self, read: Read) -> None:
        self.read = remembered(read)
        self.version = 0

    def update(self, read: Read) -> None:
        """Other elements from now on."""
        self.read = remembered(read)
        self.version += 1


@dataclass(frozen=True)
class View:
    """Where the elements of a view lie.

    ``way`` maps positions of the view to those of the storage; ``back`` a position of
    the storage to the condition that the view has it, and its position there.
    """

    way: Way
    back: Back | None
    version: int

    def then(self, way: Way, back: Back | None, version: int) -> View:
        """A view of this view."""
        outer_back = self.back
        both: Back | None = None
        if back is not None and outer_back is not None:
            inner_back = back

            def composed(indices: Indices) -> tuple[IndexSet, Indices]:
                mine, middle = outer_back(indices)
                theirs, inner = inner_back(middle)
                return mine & theirs, inner

            both = composed
        return View(lambda indices: self.way(way(indices)), both, version)


def read_of(storage: Storage, view: View | None) -> Read:
    """What an array is now, whatever is assigned later.

    Raises Unknown for what may or may not be a view of what has changed.
    """
    read = storage.read
    if view is None:
        return read
    if view.back is None and view.version != storage.version:
        raise Unknown(
            "the reference reads a reshaped or broadcast array after its base was "
            "assigned to: whether it is a view is not known"
        )
    way = view.way
    return remembered(lambda indices: read(way(indices)))
