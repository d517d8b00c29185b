"""A multiprocessor in simulation: resident blocks, their thread groups, shared units.

Each thread group of each resident block runs through its steps. Units (tensor cores,
schedulers, shared memory, the path to L2, the share of device memory) serve one request
after the other, at their rate. Barriers, groups of copies and syncs connect the groups
as in the program. What fills a pipeline, what overlaps and who waits for whom comes out
of that; no kernel is known here.

Loops are cut to ``caps`` iterations by depth, and blocks to a number; how many
iterations were cut is counted, so that `predict` can extrapolate.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from argus.diagnostics import fail
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK
from argus.model import steps as s
from argus.model.hardware import Hardware
from argus.model.scalars import CLUSTER_SIZE
from argus.model.simulated import NamedBarrierState, Phases, ResidentBlock, Run, Thread

UNITS = ("tensor", "issue", "special", "shared", "l2", "memory")
TENSOR, ISSUE, SPECIAL, SHARED, L2, MEMORY = range(6)


@dataclass(frozen=True)
class SimulationResult:
    """``cycles`` until the last block ended; ``busy`` cycles of each unit.

    ``dropped``: iterations cut per loop, on average, by depth; the first is of blocks.
    """

    cycles: float
    busy: tuple[float, ...]
    dropped: tuple[float, ...]


class Multiprocessor:
    """One multiprocessor, for one run."""

    def __init__(
        self,
        trace: s.Trace,
        env: s.Env,
        hardware: Hardware,
        caps: tuple[int, ...],
        memory_rate: float,
    ) -> None:
        self._trace, self._env, self._hw = trace, env, hardware
        self._caps = caps
        self._free = [0.0] * len(UNITS)
        self._busy = [0.0] * len(UNITS)
        self._memory_rate = memory_rate
        self._heap: list[tuple[float, int, Thread]] = []
        self._count = 0
        self._last = 0.0
        self._drops: list[list[tuple[int, int]]] = [[] for _ in caps]
        self._cut: dict[tuple[str, int], list[float]] = {}

    def run(self, blocks: list[int], resident: int, dropped: float) -> SimulationResult:
        """Run blocks in order, ``resident`` at a time."""
        waiting = list(reversed(blocks))
        alive = 0
        for slot in range(min(resident, len(blocks))):
            # Blocks are started one after the other.
            self._start(waiting.pop(), slot * 20.0 + self._hw.block_cycles)
            alive += 1
        end = 0.0
        while self._heap:
            _, _, thread = heapq.heappop(self._heap)
            run = thread.run
            assert run is not None
            try:
                if next(run) is None:
                    self._push(thread)
            except StopIteration:
                block = thread.block
                block.left -= 1
                block.end = max(block.end, thread.time)
                if block.left == 0:
                    end = max(end, block.end)
                    alive -= 1
                    if waiting:
                        self._start(waiting.pop(), block.end + self._hw.block_cycles)
                        alive += 1
        if alive:
            raise fail(
                "AG0517",
                None,
                "the performance model sees thread groups that wait for ever",
                help="`argus check` says whether the kernel can hang",
            )
        cut = [dropped]
        for depth in range(len(self._caps)):
            means = [c[0] / c[1] for (_, d), c in self._cut.items() if d == depth]
            cut.append(max(means, default=0.0))
        return SimulationResult(max(end, self._last), tuple(self._busy), tuple(cut))

    # ------------------------------------------------------------------ scheduling

    def _push(self, thread: Thread) -> None:
        self._count += 1
        heapq.heappush(self._heap, (thread.time, self._count, thread))

    def _start(self, index: int, time: float) -> None:
        block = ResidentBlock(index)
        first = Thread(block, "block", time)
        first.env = {**self._env, BLOCK_INDEX.name: index}
        first.env[CLUSTER_RANK.name] = index % self._env[CLUSTER_SIZE]
        block.left = 1
        first.run = self._whole(first)
        self._push(first)

    def _whole(self, thread: Thread) -> Run:
        yield from self._steps(thread, self._trace.before)
        for role, steps in self._trace.roles:
            other = Thread(thread.block, role, thread.time)
            other.env = dict(thread.env)
            other.arrival = dict(thread.arrival)
            thread.block.left += 1
            other.run = self._steps(other, steps)
            self._push(other)

    def _serve(self, unit: int, at: float, cycles: float) -> float:
        """When a unit has served a request that comes at ``at``."""
        begin = self._free[unit]
        if begin < at:
            begin = at
        end = begin + cycles
        self._free[unit] = end
        self._busy[unit] += cycles
        return end

    def _move(self, at: float, traffic: s.Traffic, latency: float) -> float:
        """When bytes have arrived that are asked for at ``at``."""
        hw = self._hw
        end = self._serve(L2, at, traffic.l2 / hw.l2_bytes)
        if traffic.dram:
            far = self._serve(MEMORY, at, traffic.dram / self._memory_rate)
            end = max(end, far)
            # Who asks first pays for the others that read the same tile.
            latency += (hw.dram_latency - hw.l2_latency) * traffic.far
        return end + latency

    # ------------------------------------------------------------------ barriers

    def _phases(self, thread: Thread, barrier: s.BarrierIndex) -> Phases:
        key = (barrier.alloc, barrier.index(thread.env))
        found = thread.block.phases.get(key)
        if found is None:
            found = thread.block.phases[key] = Phases()
        return found

    def _complete(self, phases: Phases, arrivals: int) -> None:
        if phases.arrived < arrivals - 1e-6 or phases.bytes > 0.5:
            return
        time = phases.latest
        number = len(phases.done)
        phases.done.append(time)
        phases.arrived, phases.bytes, phases.latest = 0.0, 0.0, 0.0
        still: list[tuple[int, Thread]] = []
        for n, thread in phases.waiting:
            if n <= number:
                thread.time = max(thread.time, time)
                self._push(thread)
            else:
                still.append((n, thread))
        phases.waiting = still

    def _arrive(self, phases: Phases, arrivals: int, weight: float, at: float) -> None:
        phases.arrived += weight
        phases.latest = max(phases.latest, at)
        self._complete(phases, arrivals)

    # ------------------------------------------------------------------ steps

    def _steps(self, t: Thread, steps: list[s.Step]) -> Run:
        for step in steps:
            match step:
                case s.WorkStep():
                    self._work(t, step)
                    yield None
                case s.WaitStep():
                    phases = self._phases(t, step.barrier)
                    n = int(step.n(t.env))
                    if n >= len(phases.done):
                        phases.waiting.append((n, t))
                        yield phases
                    elif n >= 0:
                        t.time = max(t.time, phases.done[n])
                    t.time += self._hw.sync_cycles
                    yield None
                case s.ProductStep():
                    self._product(t, step)
                    yield None
                case s.CopyStep():
                    self._copy(t, step)
                    yield None
                case s.ArriveStep():
                    phases = self._phases(t, step.barrier)
                    at = t.time
                    if step.copies:
                        at = max(at, t.open.get("cp_async_group", 0.0))
                    self._arrive(phases, step.barrier.arrivals, step.weight, at)
                    t.time += 4.0
                case s.ExpectStep():
                    phases = self._phases(t, step.barrier)
                    phases.bytes += step.bytes(t.env) * step.weight
                    self._arrive(phases, step.barrier.arrivals, step.weight, t.time)
                    t.time += 4.0
                case s.CommitStep():
                    for kind in step.kinds:
                        done = t.open.pop(kind, 0.0)
                        t.closed.setdefault(kind, []).append(done)
                case s.GroupWaitStep():
                    for kind in step.kinds:
                        groups = t.closed.get(kind, [])
                        count = max(0, len(groups) - step.pending)
                        t.time = max(t.time, *groups[:count], 0.0)
                        del groups[:count]
                    t.time += 4.0
                    yield None
                case s.LoopStep():
                    yield from self._loop(t, step)
                case s.BranchStep():
                    taken = bool(step.condition(t.env))
                    yield from self._steps(t, step.then if taken else step.other)
                    values = [
                        (name, (a if taken else b)(t.env)) for name, a, b in step.merged
                    ]
                    t.env.update(values)
                case s.LetStep():
                    t.env[step.name] = step.value(t.env)
                case s.NeedStep():
                    for tile in step.tiles:
                        t.time = max(t.time, t.arrival.get(tile, 0.0))
                    yield None
                case s.LoadStep():
                    self._issue(t, step.traffic, self._hw.lines)
                    latency = self._hw.l2_latency
                    t.arrival[step.tile] = self._move(t.time, step.traffic, latency)
                    yield None
                case s.StoreStep():
                    self._issue(t, step.traffic, self._hw.stored_lines)
                    # The block may end before memory has taken it; the kernel not.
                    self._last = max(self._last, self._move(t.time, step.traffic, 0.0))
                    yield None
                case s.CopyOutStep():
                    self._issue(t, step.traffic, self._hw.stored_lines)
                    end = self._move(t.time, step.traffic, 0.0)
                    # Read when the path to L2 has taken it.
                    for kind in step.over:
                        t.open[kind] = max(t.open.get(kind, 0.0), end)
                    yield None
                case s.SyncStep():
                    yield from self._sync(t, step)
                case s.ScalarLoadStep():
                    t.env[step.name] = step.value(t.env)
                    t.time += self._hw.l2_latency
                    yield None

    def _work(self, t: Thread, step: s.WorkStep) -> None:
        at = t.time
        end = at + step.chain * self._hw.cycles_per_instruction
        if step.issue:
            served = self._serve(ISSUE, at, step.issue / self._hw.issue_slots)
            end = max(end, served)
        if step.special:
            served = self._serve(SPECIAL, at, step.special / self._hw.special)
            end = max(end, served)
        if step.shared:
            end = max(end, self._serve(SHARED, at, step.shared))
        t.time = end + step.latency

    def _issue(self, t: Thread, traffic: s.Traffic, lines: float) -> None:
        """``lines``: how many the load/store unit takes per cycle; it queues few."""
        end = t.time + traffic.chain + traffic.elements * self._hw.element_cycles
        if traffic.issue:
            served = self._serve(ISSUE, t.time, traffic.issue / self._hw.issue_slots)
            end = max(end, served)
        if traffic.lines:
            end = max(end, self._serve(SHARED, t.time, traffic.lines / lines))
        t.time = end

    def _product(self, t: Thread, step: s.ProductStep) -> None:
        at, hw = t.time, self._hw
        later = step.over != "issue"
        if later:
            cycles = step.tensor / hw.wgmma_efficiency
            cycles += step.instructions * hw.wgmma_cycles
        else:
            cycles = step.tensor / hw.mma_efficiency
        end = self._serve(TENSOR, at, cycles)
        if step.shared:
            end = max(end, self._serve(SHARED, at, step.shared))
        if later:
            done = end + hw.wgmma_latency
            t.open[step.over] = max(t.open.get(step.over, 0.0), done)
            t.time += step.issue
        else:
            self._serve(ISSUE, at, step.issue / hw.issue_slots)
            t.time = end + hw.mma_latency

    def _copy(self, t: Thread, step: s.CopyStep) -> None:
        hw = self._hw
        self._issue(t, step.traffic, hw.lines)
        counted = step.over == "mbarrier"
        extra = hw.tma_latency if counted else hw.copy_latency
        end = self._move(t.time, step.traffic, hw.l2_latency + extra)
        if step.barrier is None or not counted:
            t.open[step.over] = max(t.open.get(step.over, 0.0), end)
            return
        phases = self._phases(t, step.barrier)
        phases.bytes -= step.received
        phases.latest = max(phases.latest, end)
        self._complete(phases, step.barrier.arrivals)

    def _sync(self, t: Thread, step: s.SyncStep) -> Run:
        if step.mine >= step.threads and not step.arrive:
            t.time += self._hw.sync_cycles
            yield None
            return
        meeting = t.block.meetings.setdefault(step.name, NamedBarrierState())
        meeting.count += step.mine
        meeting.latest = max(meeting.latest, t.time)
        whole = meeting.count >= step.threads
        if whole:
            time = meeting.latest + self._hw.sync_cycles
            for thread in meeting.waiting:
                thread.time = time
                self._push(thread)
            t.block.meetings[step.name] = NamedBarrierState()
            if not step.arrive:
                t.time = time
            yield None
        elif not step.arrive:
            meeting.waiting.append(t)
            yield meeting

    # ------------------------------------------------------------------ loops

    def _iterations(self, t: Thread, depth: int, count: int) -> int:
        """Iterations to simulate of ``count``.

        Loops of about the same length at the same depth (of a role that fills a ring,
        and one that drains it) are cut by the same number.
        """
        drops = self._drops[depth]
        cut = next((d for n, d in drops if abs(n - count) <= 2), None)
        if cut is None:
            cut = max(0, count - self._caps[depth])
            drops.append((count, cut))
        cut = min(cut, max(0, count - 1))
        total = self._cut.setdefault((t.role, depth), [0.0, 0.0])
        total[0] += cut
        total[1] += 1
        return count - cut

    def _loop(self, t: Thread, loop: s.LoopStep) -> Run:
        env = t.env
        start, stop, step = loop.start(env), loop.stop(env), loop.step(env)
        count = max(0, -((start - stop) // step))
        iterations = self._iterations(t, loop.depth, count) if count else 0
        arrival = t.arrival
        for name, init, _, _ in loop.carried:
            env[name] = init(env)
        for init, argument, _, _ in loop.tiles:
            arrival[argument] = arrival.get(init, 0.0)
        for iteration in range(iterations):
            env[loop.var] = start + iteration * step
            yield from self._steps(t, loop.body)
            values = [(name, after(env)) for name, _, after, _ in loop.carried]
            env.update(values)
            times = [(a, arrival.get(y, 0.0)) for _, a, y, _ in loop.tiles]
            arrival.update(times)
        for name, _, _, result in loop.carried:
            env[result] = env[name]
        for _, argument, _, result in loop.tiles:
            arrival[result] = arrival.get(argument, 0.0)
