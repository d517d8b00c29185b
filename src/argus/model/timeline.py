"""What the thread groups of one block do when, as the performance model sees it.

    timeline(program, {"M": 4096, "N": 4096, "K": 4096}).stays

The same simulation as :func:`argus.model.predict`, of few iterations of each loop,
written down: every step of every thread group, every copy in flight, every use of the
tensor cores, and what each slot of a ring holds. Nothing of it is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from argus.ir.program import Program
from argus.isa.record import Awaits
from argus.model import steps as s
from argus.model.hardware import H200, Hardware
from argus.model.predict import CodeUsage, memory_rate, prepare
from argus.model.simulate import TENSOR, Multiprocessor
from argus.model.simulated import Run, Thread

Kind = Literal[
    "wait data",  # until a slot is full, or a load has arrived
    "wait slot",  # until a slot is free
    "sync",  # until other threads are here
    "copy",  # issuing copies to shared memory, or a copy in flight
    "load",  # issuing loads to registers, or a load in flight
    "product",  # issuing matrix instructions and waiting for them; tensor cores at work
    "work",  # instructions in registers and shared memory
    "store",  # issuing stores, and waiting until they have been read
    "full",  # a slot that is filled and not read yet
    "read",  # a slot that is being read
]

INNER, OUTER = 7, 2
"""Iterations that are drawn of the innermost loop, and of loops around it."""
_AFTER = 4
"""More iterations than a ring has slots, so that slots are used again."""
_SHORT = 6.0
"""Cycles: what is shorter is not to be seen."""


@dataclass(frozen=True)
class Stay:
    """What a lane is busy with; times in microseconds from the first of all."""

    lane: int
    begin: float
    end: float
    kind: Kind
    slot: int | None = None
    """Of the ring, where the step is about one."""


@dataclass(frozen=True)
class TimelineLane:
    """A row: threads, copies in flight, a slot of a ring, or the tensor cores."""

    name: str
    what: Literal["threads", "flight", "slot", "unit"]


@dataclass(frozen=True)
class Timeline:
    """One block. ``blocks``: how many share the multiprocessor with it, itself too."""

    lanes: tuple[TimelineLane, ...]
    stays: tuple[Stay, ...]
    blocks: int
    iterations: tuple[int, ...]
    """Most iterations of loops that are drawn, by depth."""


def timeline(
    program: Program,
    arguments: Mapping[str, int | float],
    *,
    usage: CodeUsage | None = None,
    hardware: Hardware = H200,
) -> Timeline:
    """The beginning, the steady state and the end of a block with cut loops.

    ``arguments`` as for :func:`argus.model.predict`, and it raises what that raises.
    """
    prepared = prepare(program, arguments, usage, hardware)
    depth = prepared.trace.depth
    inner = max([INNER, *(r.stages + _AFTER for r in program.rings)])
    caps = tuple(inner if d == depth - 1 else OUTER for d in range(depth))
    rate = memory_rate(prepared, hardware)
    machine = Recorder(prepared.trace, prepared.env, hardware, caps, rate)
    blocks = prepared.blocks[: prepared.resident]
    machine.run(blocks, prepared.resident, 0.0)
    return _drawn(machine.notes, program, hardware, len(blocks), caps)


class LaneSpan(NamedTuple):
    """Of a lane, in cycles."""

    begin: float
    end: float
    kind: Kind
    slot: int | None = None


@dataclass(frozen=True)
class Note:
    """A step of a thread group, or the use of something by it."""

    thread: Thread
    step: s.Step
    what: Literal["step", "flight", "tensor"]
    begin: float
    end: float
    slot: tuple[int, int] | None
    """Allocation of the barrier, and its index."""


class Recorder(Multiprocessor):
    """The machine, with notes of what the first block does."""

    def __init__(
        self,
        trace: s.Trace,
        env: s.Env,
        hardware: Hardware,
        caps: tuple[int, ...],
        memory_rate: float,
    ) -> None:
        super().__init__(trace, env, hardware, caps, memory_rate)
        self.notes: list[Note] = []
        self._first: object = None
        self._now: tuple[Thread, s.Step] | None = None

    def _steps(self, t: Thread, steps: list[s.Step]) -> Run:
        if self._first is None:
            self._first = t.block
        for step in steps:
            if isinstance(step, s.LoopStep | s.BranchStep):
                yield from super()._steps(t, [step])
                continue
            self._now = (t, step)
            slot, begin = _slot(t, step), t.time
            yield from super()._steps(t, [step])
            self._note("step", t, step, begin, t.time, slot)

    def _serve(self, unit: int, at: float, cycles: float) -> float:
        end = super()._serve(unit, at, cycles)
        if unit == TENSOR and self._now is not None:
            self._note("tensor", *self._now, end - cycles, end, None)
        return end

    def _move(self, at: float, traffic: s.Traffic, latency: float) -> float:
        end = super()._move(at, traffic, latency)
        if self._now is not None:
            self._note("flight", *self._now, at, end, _slot(*self._now))
        return end

    def _note(
        self,
        what: Literal["step", "flight", "tensor"],
        thread: Thread,
        step: s.Step,
        begin: float,
        end: float,
        slot: tuple[int, int] | None,
    ) -> None:
        if thread.block is self._first and end > begin:
            self.notes.append(Note(thread, step, what, begin, end, slot))


def _slot(t: Thread, step: s.Step) -> tuple[int, int] | None:
    match step:
        case s.WaitStep() | s.ArriveStep() | s.ExpectStep():
            barrier = step.barrier
        case s.CopyStep() if step.barrier is not None:
            barrier = step.barrier
        case (
            s.WorkStep() | s.NeedStep() | s.LoadStep() | s.ScalarLoadStep()
            | s.StoreStep() | s.CopyStep() | s.CommitStep() | s.GroupWaitStep()
            | s.ProductStep() | s.CopyOutStep() | s.SyncStep() | s.LetStep()
            | s.LoopStep() | s.BranchStep()
        ):  # fmt: skip
            return None
    return barrier.alloc, int(barrier.index(t.env))


# --------------------------------------------------------------------- from notes

_FLIGHTS: tuple[tuple[Kind, str, int], ...] = (
    ("copy", "copies in flight", 4),
    ("load", "loads in flight", 3),
    ("store", "stores in flight", 1),
)
"""What is in flight without a slot, and how many rows it may take."""


def _drawn(
    notes: list[Note],
    program: Program,
    hardware: Hardware,
    blocks: int,
    caps: tuple[int, ...],
) -> Timeline:
    lanes: list[tuple[TimelineLane, list[LaneSpan]]] = []
    roles = {id(b): b.role for b in program.barriers}
    for thread, name in _names(notes).items():
        steps = [n for n in notes if n.thread is thread and n.what == "step"]
        lanes.append((TimelineLane(name, "threads"), _doings(steps, roles)))
    for ring in program.rings:
        if ring.full is None or ring.empty is None:
            continue
        whole = f"{ring.name} " if len(program.rings) > 1 else ""
        for slot in range(ring.stages):
            full, empty = (id(ring.full), slot), (id(ring.empty), slot)
            held = _held(notes, full, empty, slot)
            lanes.append((TimelineLane(f"{whole}slot {slot}", "slot"), held))
    for kind, name, most in _FLIGHTS:
        loose = [
            LaneSpan(n.begin, n.end, kind)
            for n in notes
            if n.what == "flight" and n.slot is None and _flight(n.step) == kind
        ]
        rows = _rows(loose, most)
        for i, row in enumerate(rows, 1):
            numbered = f"{name}, {i}" if len(rows) > 1 else name
            lanes.append((TimelineLane(numbered, "flight"), row))
    busy = sorted(
        LaneSpan(n.begin, n.end, "product") for n in notes if n.what == "tensor"
    )
    if busy:
        lanes.append((TimelineLane("tensor cores", "unit"), busy))
    begin = min((n.begin for n in notes), default=0.0)
    scale = 1e-3 / hardware.clock_ghz
    stays = [
        Stay(lane, (p.begin - begin) * scale, (p.end - begin) * scale, p.kind, p.slot)
        for lane, (_, parts) in enumerate(lanes)
        for p in _joined(parts)
        if p.end - p.begin >= _SHORT
    ]
    return Timeline(tuple(lane for lane, _ in lanes), tuple(stays), blocks, caps)


def _names(notes: list[Note]) -> dict[Thread, str]:
    """By role, numbered where a role has several groups; those without roles first."""
    threads = list(dict.fromkeys(n.thread for n in notes))
    roles = [t.role for t in threads]
    found: dict[Thread, str] = {}
    for i, thread in enumerate(threads):
        many = roles.count(thread.role) > 1
        number = f" {roles[: i + 1].count(thread.role)}" if many else ""
        found[thread] = thread.role + number
    return found


def _doings(steps: list[Note], roles: Mapping[int, str]) -> list[LaneSpan]:
    return [
        LaneSpan(n.begin, n.end, kind, n.slot[1] if n.slot else None)
        for n in steps
        if (kind := _kind(n.step, roles)) is not None
    ]


def _kind(step: s.Step, roles: Mapping[int, str]) -> Kind | None:
    match step:
        case s.WaitStep():
            free = roles.get(step.barrier.alloc) == "ring empty"
            return "wait slot" if free else "wait data"
        case s.NeedStep():
            return "wait data"
        case s.CopyStep() | s.ExpectStep():
            return "copy"
        case s.LoadStep() | s.ScalarLoadStep():
            return "load"
        case s.ProductStep():
            return "product"
        case s.GroupWaitStep():
            found: dict[Awaits, Kind] = {
                "wgmma_group": "product",
                "cp_async_group": "wait data",
            }
            return found.get(step.kinds[0], "store")
        case s.SyncStep():
            return "sync"
        case s.StoreStep() | s.CopyOutStep():
            return "store"
        case s.WorkStep() | s.ArriveStep():
            return "work"
        case s.CommitStep() | s.LetStep() | s.LoopStep() | s.BranchStep():
            return None


def _flight(step: s.Step) -> Kind | None:
    match step:
        case s.CopyStep():
            return "copy"
        case s.LoadStep() | s.ScalarLoadStep():
            return "load"
        case s.StoreStep() | s.CopyOutStep():
            return "store"
        case (
            s.WorkStep() | s.NeedStep() | s.CommitStep() | s.GroupWaitStep()
            | s.ProductStep() | s.ExpectStep() | s.ArriveStep() | s.WaitStep()
            | s.SyncStep() | s.LetStep() | s.LoopStep() | s.BranchStep()
        ):  # fmt: skip
            return None


def _held(
    notes: list[Note], full: tuple[int, int], empty: tuple[int, int], slot: int
) -> list[LaneSpan]:
    """What a slot holds: bytes on their way, a tile that waits, one that is read."""
    flights: list[Note] = [n for n in notes if n.what == "flight" and n.slot == full]
    waits = [n.end for n in notes if isinstance(n.step, s.WaitStep) and n.slot == full]
    frees = [
        n.end for n in notes if isinstance(n.step, s.ArriveStep) and n.slot == empty
    ]
    found: list[LaneSpan] = []
    # The copies of one fill are issued together, before the slot is free again.
    while flights:
        begin = min(n.begin for n in flights)
        until = min((t for t in frees if t > begin), default=math.inf)
        landed = max(n.end for n in flights if n.begin < until)
        flights = [n for n in flights if n.begin >= until]
        found.append(LaneSpan(begin, landed, "copy", slot))
        read = min((t for t in waits if t >= landed - 1), default=None)
        if read is None:
            continue
        again = min((n.begin for n in flights), default=math.inf)
        freed = max((t for t in frees if begin < t <= again), default=read)
        found.append(LaneSpan(landed, read, "full", slot))
        found.append(LaneSpan(read, freed, "read", slot))
    return found


def _rows(parts: list[LaneSpan], most: int) -> list[list[LaneSpan]]:
    """Parts in as few rows as they fit without overlap, but not in more than that."""
    rows: list[list[LaneSpan]] = []
    for part in sorted(parts):
        row = next((r for r in rows if r[-1].end <= part.begin), None)
        if row is not None:
            row.append(part)
        elif len(rows) < most:
            rows.append([part])
        else:  # drawn as one with what ends first
            row = min(rows, key=lambda r: r[-1].end)
            row[-1] = row[-1]._replace(end=max(row[-1].end, part.end))
    return rows


def _joined(parts: list[LaneSpan]) -> list[LaneSpan]:
    """Neighbours of the same kind as one."""
    found: list[LaneSpan] = []
    for part in parts:
        last = found[-1] if found else None
        same = last is not None and last[2:] == part[2:]
        if last is not None and same and part.begin - last.end < 1.0:
            found[-1] = last._replace(end=max(part.end, last.end))
        elif part.end > part.begin:
            found.append(part)
    return found
