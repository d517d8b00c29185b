"""Names of slots in walks at given sizes, where loops and branches ask counters, too.

What they ask for stays as it is: no family is moved of which a bound or a condition
sees a number. Before all groups have begun their loops, nothing is turned: a first step
may name its slot by a bare number.
"""

from __future__ import annotations

from argus.ir.program import Program
from argus.verify.order.control_dependence import Control
from argus.verify.order.counter_families import Families
from argus.verify.order.events import decisions
from argus.verify.order.fills import Fills, bodies, first_loops
from argus.verify.order.liveness import alive
from argus.verify.order.slot_names import SlotNames
from argus.verify.order.state import GroupState
from argus.verify.order.walk import ClusterWalk

__all__ = ["TurnedNames"]


class TurnedNames:
    """Names for the states of a program's walks. ``turns``: whether arrays may turn."""

    def __init__(
        self, program: Program, control: Control, fills: Fills, *, turns: bool
    ) -> None:
        self.first = first_loops(program)
        """The first loop of each group, by the group's name."""
        roles = {name for name, _ in bodies(program)} - {"block"}
        self.groups = (1 + len(roles)) * program.cluster
        names = control.scalars | control.deciding
        first = list(self.first.values())
        self.families = Families(
            program, names, first, fills, asked=decisions(program.body), turns=turns
        )
        self.live = alive(program, names)
        self.turns = bool(self.families.turning.buffers) and not self.families.gaps
        """Whether some buffer does."""

    def __call__(self, walk: ClusterWalk) -> SlotNames:
        """The names in the state in which a walk is."""
        turned = (
            self.turns
            and len(walk.everyone) == self.groups
            and all(map(self._entered, walk.groups))
        )
        return SlotNames(walk, self.families, live=self.live, turned=turned)

    def _entered(self, group: GroupState) -> bool:
        first = self.first.get(group.name)
        return bool(group.loops) or first is None or first in group.left
