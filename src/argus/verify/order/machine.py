"""The blocks of a cluster as a walk sees them, and values of what operations name."""

from __future__ import annotations

from typing import NoReturn

from argus.ir.expr import Expr
from argus.ir.memory import BarrierRef
from argus.ir.program import Program
from argus.verify.order.barrier_state import BarrierState
from argus.verify.order.clock import Moments
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.footprint import Footprints, OutOfModel
from argus.verify.order.state import BlockState, GroupState, make_block

__all__ = ["Machine"]


class Machine:
    """Blocks with their barriers, and the barrier of the cluster's threads."""

    def __init__(
        self,
        program: Program,
        first: int,
        findings: OrderFindings,
        footprints: Footprints,
        fills: Fills,
    ) -> None:
        self.program = program
        self.findings = findings
        self.footprints = footprints
        self.effects = footprints.effects
        self.fills = fills
        self.scalars = fills.scalars
        self.moments = Moments()
        self.blocks: list[BlockState] = [
            make_block(program, self.moments, first + rank, rank)
            for rank in range(program.cluster)
        ]
        self.cluster = self.threads_barrier("the cluster")
        self.arrived: set[GroupState] = set()
        """Groups that wait at the cluster's barrier."""
        self.groups: list[GroupState] = []
        """Those that have not ended."""

    def threads_barrier(self, name: str) -> BarrierState:
        """A barrier of threads."""
        return BarrierState(name, -1, None, 0, self.moments)

    def integer(self, group: GroupState, e: Expr) -> int:
        """The value of an expression in a group."""
        return int(self.value(group, e))

    def value(self, group: GroupState, e: Expr) -> int | float:
        """The value of an expression. Raises OutOfModel if part of it is not known."""
        try:
            return self.scalars.value(e, group.env)
        except KeyError as missing:
            raise OutOfModel(f"the value of {missing} is not followed") from missing

    def barrier(
        self, group: GroupState, ref: BarrierRef, block: BlockState | None = None
    ) -> BarrierState:
        """The barrier that an operation names, in the group's block by default."""
        index = self.integer(group, ref.index)
        found = (block or group.block).barriers.get((ref.alloc, index))
        if found is None:
            self._outside(group, ref, index)
        return found

    def _outside(self, group: GroupState, ref: BarrierRef, index: int) -> NoReturn:
        """There is no such barrier; nothing can be said of what comes after."""
        name, count = ref.alloc.name, ref.alloc.count
        assert group.op is not None
        report(
            self.findings,
            "AG0423",
            group,
            group.op,
            f"{name} has {count} barriers, from 0 to {count - 1}, and this is number"
            f" {index}",
            f"number {index} of {count}",
            events=(event(group, group.op, "uses a barrier", group.iteration),),
        )
        raise OutOfModel(f"{name} has no barrier number {index}")

    def release_cluster(self) -> None:
        """Threads that have ended are not waited for (PTX ISA, barrier.cluster)."""
        if self.arrived and self.arrived.issuperset(self.groups):
            self.arrived.clear()
            self.cluster.complete()
