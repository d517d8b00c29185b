"""Names of slots, and numbers that grow, relative to how far a state has come.

How far each family of numbers is moved (`counter_families.py`) says how far the arrays
that turn are turned: their slots are named, and come one after another, from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from argus.ir.memory import BarrierAlloc
from argus.verify.order.barrier_state import BarrierState
from argus.verify.order.counter_families import Families, Member
from argus.verify.order.state import AccessRecord
from argus.verify.order.walk import ClusterWalk

__all__ = ["Number", "SlotNames"]

Number = tuple[Member, int | None]
"""Whose number it is, and how much; None where it has none yet."""


class SlotNames:
    """The names in one state of a walk.

    ``scalars``: their numbers, in an order that does not change; families of ``still``
    are not moved, and none if nothing is ``turned``. ``live``: scalars that matter, by
    operation. ``barriers``: those of arrays from the slot that comes first on, then all
    others.
    """

    def __init__(
        self,
        walk: ClusterWalk,
        families: Families,
        scalars: Sequence[Number] = (),
        still: Iterable[Member] = (),
        *,
        live: Mapping[int, frozenset[str]],
        turned: bool = True,
    ) -> None:
        self.live = live
        self.walk, self.families = walk, families
        self.turning = families.turning
        self._scalars = scalars
        self.turned = turned
        self._moves = families.moves(self._firsts(), still) if turned else {}
        self._from = {
            b: families.moved(("buffer", b), self._moves) for b in self.turning.buffers
        }
        """The number whose stage comes first, of each buffer that turns."""
        self._slots = tuple(self._in_order())
        named = (b for block in walk.blocks for _, b in sorted(block.named.items()))
        self.barriers = [*(b for *_, b in self._slots), *named, walk.cluster]

    def moved(self, name: str) -> int | None:
        """How far a scalar is moved; None where its family stays as it is."""
        return self.families.moved_with(("scalar", name), self._moves)

    def _firsts(self) -> Iterator[Number]:
        """A number of each family, found alike however far arrays are turned."""
        for block in self.walk.blocks:
            for alloc in self.walk.program.barriers:
                slots = range(alloc.count)
                done = (self._number(alloc, i, block.barriers[alloc, i]) for i in slots)
                yield ("barrier", alloc), min(done)
        yield from self._scalars
        least: dict[Member, int] = {}
        for block in self.walk.blocks:
            for record in block.records.values():
                member, fill = ("buffer", record.alloc), record.fill
                if record.ones and fill is not None:
                    least[member] = min(least.get(member, fill), fill)
        yield from least.items()

    def _number(self, alloc: BarrierAlloc, slot: int, barrier: BarrierState) -> int:
        """What a barrier's completions count: laps, where its array turns."""
        turns = alloc in self.turning.barriers
        return barrier.completed * alloc.count + slot if turns else barrier.completed

    def _in_order(self) -> Iterator[tuple[BarrierAlloc, int, BarrierState]]:
        for block in self.walk.blocks:
            for alloc in self.walk.program.barriers:
                first = 0
                if alloc in self.turning.barriers:
                    first = self.families.moved(("barrier", alloc), self._moves)
                for i in range(first, first + alloc.count):
                    slot = i % alloc.count
                    yield alloc, slot, block.barriers[alloc, slot]

    def of(self, record: AccessRecord) -> tuple[int, object, int]:
        """The name of a record's access and stage; the same in all walks."""
        footprint, alloc = record.footprint, record.alloc
        first = self._from.get(alloc)
        if first is None:
            return 0, id(footprint), 0
        return 1, footprint.access, (footprint.stage - first) % alloc.stages

    def numbers(self, records: Sequence[AccessRecord]) -> tuple[int | None, ...]:
        """Everything that grows, as far as it is beyond what it is moved by."""
        found: list[Number] = [
            (("barrier", alloc), self._number(alloc, slot, barrier))
            for alloc, slot, barrier in self._slots
        ]
        found += self._scalars
        found += ((("buffer", r.alloc), r.fill) for r in records)
        return tuple(
            None if n is None else n - self.families.moved(member, self._moves)
            for member, n in found
        )
