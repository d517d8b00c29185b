"""What a thread group does, as the simulation reads it: steps with their costs.

Costs are of one thread group: a warpgroup of a role, or the whole block before roles.
Cycles and bytes; ``Value`` computes a scalar from the scalars of the block. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from argus.isa.record import Awaits, Completes

Env = dict[str, Any]
Value = Callable[[Env], Any]


@dataclass(frozen=True)
class WorkStep:
    """Instructions in registers and shared memory, done before the next step begins.

    ``issue`` and ``special``: warp instructions of the group; ``shared``: wavefronts;
    ``chain``: instructions of one warp, which cannot issue two in a cycle; ``latency``:
    cycles that nothing of the same group can hide.
    """

    issue: float = 0.0
    special: float = 0.0
    shared: float = 0.0
    chain: float = 0.0
    latency: float = 0.0


@dataclass(frozen=True)
class NeedStep:
    """Wait until these tiles, loaded to registers, have arrived."""

    tiles: tuple[int, ...]


@dataclass
class Traffic:
    """Bytes of an access: through L2, and of those from device memory.

    ``lines``: 128-byte lines that its requests touch, one after the other (TMA: 0).
    """

    l2: float
    dram: float
    lines: float = 0.0
    issue: float = 0.0
    chain: float = 0.0
    elements: float = 0.0
    """Accesses of a thread to single elements, which depend on one another."""
    far: float = 1.0
    """Share of the executions that wait for memory, not for L2."""


@dataclass(frozen=True)
class LoadStep:
    """Global memory to registers of ``tile``; the next step begins at once.

    ``gathers``: its addresses or its mask come from other tiles.
    """

    tile: int
    traffic: Traffic
    gathers: bool = False


@dataclass(frozen=True)
class ScalarLoadStep:
    """A scalar from global memory; everything waits for it. ``value`` is assumed."""

    name: str
    value: Value


@dataclass(frozen=True)
class StoreStep:
    """Registers to global memory; nobody waits for it."""

    traffic: Traffic


@dataclass(frozen=True)
class BarrierIndex:
    """An mbarrier: number ``index`` of an allocation.

    It completes a phase after ``arrivals`` arrivals and all announced bytes.
    """

    alloc: int
    index: Value
    arrivals: int


@dataclass(frozen=True)
class CopyStep:
    """Global to shared memory; it is complete by ``over``, of ``barrier`` perhaps."""

    traffic: Traffic
    barrier: BarrierIndex | None
    received: float
    over: Completes


@dataclass(frozen=True)
class CommitStep:
    """Close the groups of these kinds."""

    kinds: tuple[Completes, ...]


@dataclass(frozen=True)
class GroupWaitStep:
    """Until at most ``pending`` groups of each of these kinds remain."""

    kinds: tuple[Awaits, ...]
    pending: int


@dataclass(frozen=True)
class ProductStep:
    """Matrix instructions: cycles of the tensor cores, wavefronts of operands.

    ``instructions``: of one warpgroup, or of all warps.
    """

    tensor: float
    shared: float
    issue: float
    over: Completes
    instructions: float


@dataclass(frozen=True)
class CopyOutStep:
    """Shared to global memory by TMA: read by the first kind of group, then written."""

    traffic: Traffic
    over: tuple[Completes, Completes]


@dataclass(frozen=True)
class ExpectStep:
    """``weight`` arrivals that announce bytes (of which each group does its part)."""

    barrier: BarrierIndex
    bytes: Value
    weight: float = 1.0


@dataclass(frozen=True)
class ArriveStep:
    """``weight`` arrivals; with ``copies``, when earlier cp.async have landed."""

    barrier: BarrierIndex
    weight: float
    copies: bool = False


@dataclass(frozen=True)
class WaitStep:
    """Until phase ``n`` of the barrier is complete."""

    barrier: BarrierIndex
    n: Value


@dataclass(frozen=True)
class SyncStep:
    """``mine`` of ``threads`` threads come together under ``name``.

    ``arrive``: without waiting for the others.
    """

    name: str
    threads: int
    mine: int
    arrive: bool = False


@dataclass(frozen=True)
class LetStep:
    """Name a scalar."""

    name: str
    value: Value


@dataclass(frozen=True)
class LoopStep:
    """``tiles``: (init, argument, yielded, result) of tiles that loads may make."""

    var: str
    start: Value
    stop: Value
    step: Value
    carried: tuple[tuple[str, Value, Value, str], ...]
    """Name inside, initial value, value for the next iteration, name after the loop."""
    tiles: tuple[tuple[int, int, int, int], ...]
    body: list[Step]
    depth: int


@dataclass(frozen=True)
class BranchStep:
    """``merged``: name, value after the first and after the second branch."""

    condition: Value
    then: list[Step]
    other: list[Step]
    merged: tuple[tuple[str, Value, Value], ...]


Step = (
    WorkStep | NeedStep | LoadStep | ScalarLoadStep | StoreStep | CopyStep | CommitStep
    | GroupWaitStep | ProductStep | CopyOutStep | ExpectStep | ArriveStep | WaitStep
    | SyncStep | LetStep | LoopStep | BranchStep
)  # fmt: skip


@dataclass(frozen=True)
class Trace:
    """A block: steps of every thread before the roles, then a list for each group.

    ``roles``: (role name, steps); a role of several warpgroups is in it once for each.
    """

    before: list[Step]
    roles: list[tuple[str, list[Step]]]
    depth: int
    """Of the deepest loop nest."""
    traffic: dict[str, float] = field(default_factory=dict[str, float])
