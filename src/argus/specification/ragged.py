"""Places that entries of tables name, which the rounds of a loop assign to.

    for b in range(B):
        out[first[b] : last[b]] = ...
        out[slot[b]] = ...

Where tables say which elements a round assigns to, no two rounds may have one in
common (numpy keeps the last of several, a kernel any). Where what the kernel says of
entries does not say it, it is assumed, and no kernel is equal. So an element is that of
the one round in whose slice it lies: a sum with one summand. Of element first[c] + i
that is round c, if it lies in the slice of c; of
element slot[c] it is c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from argus.specification.cases import chosen
from argus.specification.keys import Item, Range
from argus.specification.storage import Indices
from argus.specification.tracing import Tracing, depends_on_data
from argus.terms import (
    Atom,
    Entry,
    IndexSet,
    Integer,
    Opaque,
    Unknown,
    Value,
    Variable,
    apply,
    reduce,
)

__all__ = ["APART", "DIFFERENT", "Ragged", "note"]

DIFFERENT = "positions that the reference assigns to by a table are different"
"""What is taken for granted of assignments: numpy keeps the last of several."""
_DISJOINT = (
    "slices between entries of tables that rounds of a loop assign to have no element "
    "in common"
)
_SORTED = (
    "entries of a table do not decrease, where rounds of a loop assign to slices from "
    "each to the next"
)
"""The same of ends of packed rows, of which no two entries can be said to be so."""
APART = (DIFFERENT, _DISJOINT)
"""What is not known of tables: a kernel has to say it of pairs of their entries."""


def note(tracing: Tracing, items: Iterable[Item]) -> None:
    """Remember slices that entries of tables bound, and that are assigned to."""
    for item in items:
        if isinstance(item, Range) and item.step == 1:
            end = item.start + item.length
            if not (depends_on_data(item.start) and depends_on_data(end)):
                continue
            tracing.slices.setdefault((item.start, end))
            if not (item.start.variables() and end.variables()):
                continue
            if _is_to_next(item):
                tracing.assume(_SORTED)
            elif not _are_disjoint(tracing, item.start, end):
                tracing.assume(_DISJOINT)


def _are_disjoint(tracing: Tracing, start: Integer, end: Integer) -> bool:
    """Whether what is said of entries says that no two rounds' slices meet."""
    world = tracing.world
    turns = [v for v in start.variables() | end.variables() if v.upper is not None]
    env = {v: world.fresh("r", 0, v.upper) for v in turns}
    at = world.fresh("at", 0)
    meet, same = IndexSet.universe, IndexSet.universe
    for first, last in (
        (start, end),
        (world.substitute(start, env), world.substitute(end, env)),
    ):
        meet = meet & world.compare(at, ">=", first) & world.compare(at, "<", last)
    for turn, other in env.items():
        same = same & world.compare(Integer.atom(turn), "==", other)
    return tracing.never(meet - same)


def _is_to_next(item: Range) -> bool:
    """Whether a slice goes from an entry of a table to the next one."""
    first, length = item.start.single, item.length.single
    able = (item.length,)
    if isinstance(length, Opaque) and length.op == "max":
        able = length.args
    for many in able:
        last = (item.start + many).single
        if isinstance(first, Entry) and isinstance(last, Entry):
            pairs = zip(first.indices, last.indices, strict=False)
            if first.tensor == last.tensor:
                return [b - a for a, b in pairs] == [Integer.of(1)]
    return False


@dataclass(frozen=True)
class Ragged:
    """The rounds of a loop, each of which assigns to an element where a set holds."""

    tracing: Tracing
    variable: Variable
    length: Integer
    where: IndexSet

    def assigned(self, begin: Value, value: Value, place: Indices) -> Value:
        """The element at a place: that of its round, or what it was.

        Raises Unknown where several rounds may assign to it.
        """
        world, number = self.tracing.world, Integer.atom(self.variable)
        inside = world.compare(number, ">=", 0) & world.compare(
            number, "<", self.length
        )
        where = self.where & inside
        if not any(self._bounded(where, at) for at in place):
            other = world.fresh("r", 0, self.length)
            there = world.substitute(where, {self.variable: other})
            two = where & there & world.compare(number, "<", other)
            if not self.tracing.never(two):
                if not any(self._entry(where, at) for at in place):
                    raise Unknown("several rounds of a loop may assign to one element")
                self.tracing.assume(DIFFERENT)
        one = Value.whole(Integer.of(1))
        count = reduce(world, "sum", [self.variable], one, where)
        total = reduce(world, "sum", [self.variable], value, where)
        written = apply(world, "ge", count, one).where
        found = chosen(world, written, lambda: total, lambda: begin)
        for round_ in self._named(where, place):
            env = {self.variable: round_}
            made = world.substitute(value, env)
            here = world.substitute(where, env)
            found = chosen(world, here, lambda made=made: made, lambda old=found: old)
        return found

    def _bounded(self, where: IndexSet, at: Integer) -> bool:
        """Whether it holds only for what lies in a slice of the round."""
        world = self.tracing.world
        for start, end in self.tracing.slices:
            if self.variable in start.variables() and self.variable in end.variables():
                inside = world.compare(at, ">=", start) & world.compare(at, "<", end)
                if world.is_subset(where, inside):
                    return True
        return False

    def _entry(self, where: IndexSet, at: Integer) -> bool:
        """Whether it holds only for the place that an entry of the round is."""
        world = self.tracing.world
        return any(
            world.is_subset(where, world.compare(Integer.atom(one), "==", at))
            for one in self._own(where)
        )

    def _own(self, where: IndexSet) -> list[Entry]:
        """Entries that are those of the round, each of which has one of its own."""
        return [
            entry
            for entry in _entries(a for m in where.monomials for a in m)
            if entry.indices == (Integer.atom(self.variable),)
        ]

    def _named(self, where: IndexSet, place: Indices) -> Iterator[Integer]:
        """Rounds whose entries a place mentions."""
        own = {entry.tensor for entry in self._own(where)}
        found: dict[Integer, None] = {}
        for entry in _entries(a for at in place for a in at.atoms()):
            if entry.tensor in own and self.variable not in entry.variables:
                found.setdefault(entry.indices[0])
        yield from found


def _entries(atoms: Iterable[Atom]) -> Iterator[Entry]:
    """Entries of tables in atoms, and in what they are made of."""
    for atom in atoms:
        if isinstance(atom, Entry):
            yield atom
        for argument in atom.arguments:
            yield from _entries(argument.atoms())
