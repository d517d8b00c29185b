"""Walking all roles of a cluster together, with concrete counters and no data.

A placed program and values for its sizes become one run of events: what each warp knows
(`clock.py`) decides whether an access, an arrival or a wait is right in *every*
schedule, so that one run in a fixed order is enough. Control flow is uniform and a wait
names the completion that it waits for; nothing a role does depends on the schedule.

What it cannot walk raises :class:`~argus.verify.order.footprint.Unmodelled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, Sym, evaluate
from argus.ir.memory import BarrierRef, SharedView
from argus.ir.placement import TmaPlan, VectorPlan, WgmmaPlan
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, Program
from argus.isa.boxes import box_bytes
from argus.verify.order import barriers, registers
from argus.verify.order.accesses import access, event, report
from argus.verify.order.clock import CAUSE, ORDER, Agents
from argus.verify.order.ending import leave, over
from argus.verify.order.finding import Findings
from argus.verify.order.footprint import Footprints, Unmodelled
from argus.verify.order.prune import Pruned
from argus.verify.order.state import (
    Barrier,
    Block,
    Group,
    Indices,
    Parting,
    Steps,
    Waiting,
    make_block,
    make_group,
)

__all__ = ["Table", "Walk"]

Table = Callable[[str, tuple[int, ...]], int]
"""Value of an element of a run-time table: tensor name and coordinates."""


class Walk:
    """One run of all blocks of a cluster.

    ``env`` gives sizes, strides, scalar arguments and the grid; ``first`` is the index
    of the cluster's first block. ``heads``: note how groups would leave at each head of
    their outermost loops. ``limit`` bounds the operations that are walked.
    """

    def __init__(
        self,
        program: Program,
        env: Mapping[str, int | float],
        first: int,
        findings: Findings,
        footprints: Footprints,
        table: Table,
        pruned: Pruned,
        heads: bool = False,
        limit: int = 200_000,
    ) -> None:
        self.program = program
        self.findings = findings
        self.footprints = footprints
        self.table = table
        self.pruned = pruned
        self.left = limit
        self.heads = heads
        self.agents = Agents.of(program)
        self.stuck = False
        self.arrived: set[Group] = set()
        """Groups that wait at the cluster's barrier."""
        self.partings: list[Parting] = []
        self.blocks: list[Block] = []
        self.groups: list[Group] = []
        """Those that have not ended."""
        self.everyone: list[Group] = []
        self.cluster = self._threads_barrier("the cluster", self.agents.count - 1)
        for rank in range(program.cluster):
            block = make_block(program, self.agents, first + rank, rank)
            self.blocks.append(block)
            values = {**env, BLOCK_INDEX.name: first + rank, CLUSTER_RANK.name: rank}
            clock = np.zeros((program.warps, 3, self.agents.count), np.int32)
            self._start(
                block, "block", 0, program.warps, values, clock, 0, program.body
            )

    def _threads_barrier(self, name: str, agent: int) -> Barrier:
        return Barrier(name, -1, agent, None, 0, self.agents.zero(), self.agents.zero())

    def _start(
        self,
        block: Block,
        name: str,
        first: int,
        warps: int,
        env: dict[str, int | float],
        clock: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
        time: int,
        body: o.Block,
    ) -> Group:
        group = make_group(
            self.agents, block, name, first, warps, env, clock.copy(), time
        )
        group.tick()
        group.steps = self._block(group, body)
        self.groups.append(group)
        self.everyone.append(group)
        return group

    # ------------------------------------------------------------------ running

    def run(self, after_round: Callable[[Walk], bool] | None = None) -> None:
        """Walk to the end, until nobody can go on (``stuck``), or as long as wanted.

        ``after_round`` says after each round whether to stop there.
        """
        while self.groups:
            moved = False
            for group in tuple(self.groups):
                moved |= self._go(group)
            if not moved:
                self.stuck = True
                self._deadlock()
                return
            if after_round is not None and after_round(self):
                return
        over(self.findings, self.blocks, self.partings)

    def _go(self, group: Group) -> bool:
        """Let a group go on until it waits or begins a turn of a loop."""
        if group.wait is not None and not group.wait.ready():
            return False
        assert group.steps is not None
        try:
            group.wait = next(group.steps)
        except StopIteration:
            self.groups.remove(group)
            self._end(group)
        return True

    def _end(self, group: Group) -> None:
        leave(self.findings, group.parting(), group.iteration)
        self.partings.append(group.parting())
        self._release_cluster()

    def _deadlock(self) -> None:
        from argus.verify.order.stuck import explain

        explain(self.findings, self.groups, self.program)

    # ------------------------------------------------------------- control flow

    def _block(self, group: Group, block: o.Block) -> Steps:
        for op in self.pruned.ops[id(block)]:
            group.op = op
            self.left -= 1
            if self.left < 0:
                raise Unmodelled("a walk of representative sizes is too long")
            if group.hot:
                registers.touch(self.findings, group, op)
            match op:
                case o.For():
                    yield from self._for(group, op)
                case o.If():
                    yield from self._if(group, op)
                case o.Roles():
                    self._roles(group, op)
                case o.Let():
                    group.env[op.sym.name] = self._value(group, op.value)
                case o.LoadScalar():
                    coords = tuple(self._int(group, c) for c in op.coords)
                    group.env[op.sym.name] = self.table(op.tensor.name, coords)
                case (
                    o.Full() | o.Index() | o.Elementwise() | o.Cast() | o.Broadcast()
                    | o.Transpose() | o.Reduce() | o.Split() | o.Slice() | o.Scan()
                    | o.Reinterpret() | o.Convert() | o.LoadGlobal() | o.StoreGlobal()
                    | o.SetMaxRegisters()
                ):  # fmt: skip
                    pass
                case o.Tag() | o.Check() | o.Assume() | o.Expect() | o.Trust():
                    pass  # annotations do nothing
                case o.LoadShared():
                    self._generic(group, op, op.plan, op.view, write=False)
                case o.StoreShared():
                    self._generic(group, op, op.plan, op.view, write=True)
                case o.Dot():
                    self._dot(group, op)
                case o.WgmmaCommit():
                    group.products.commit()
                case o.WgmmaWait():
                    covered = group.products.wait(op.pending)
                    self._learn(group, group.product_agents, covered)
                    self._together(group, covered)
                    registers.waited(self.findings, group, op)
                case o.CopyAsync():
                    self._copy(group, op)
                case o.CopyOut():
                    self._store(group, op)
                case o.CopyOutCommit():
                    group.stores.commit()
                case o.CopyOutWait():
                    covered = group.stores.wait(op.pending)
                    group.clock[0, (ORDER, CAUSE), group.store_agent] = covered
                case o.CpAsyncCommit():
                    group.copies.commit()
                case o.CpAsyncWait():
                    covered = group.copies.wait(op.pending)
                    self._learn(group, group.copy_agents, covered)
                case o.CpAsyncArrive():
                    self._copies_arrive(group, op)
                case o.BarrierExpect():
                    barrier = self._barrier(group, op.barrier)
                    nbytes = self._int(group, op.bytes)
                    barriers.expect(self.findings, group, op, barrier, nbytes)
                    group.tick()
                case o.BarrierArrive():
                    self._arrive(group, op)
                case o.BarrierWait():
                    barrier = self._barrier(group, op.barrier)
                    n = self._int(group, op.n)
                    yield from barriers.wait(self.findings, group, op, barrier, n)
                case o.Sync():
                    yield from self._sync(group, op)
                case o.ClusterSync():
                    yield from self._cluster(group, op)
                case o.Fence():
                    if op.kind == "proxy.async":
                        fenced, known = group.clock[:, 1], group.clock[:, ORDER]
                        np.maximum(fenced, known, out=fenced)
                        group.tick()
                case o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease():
                    raise Unmodelled("a ring operation in a placed program")
                case _:
                    assert_never(op)

    def _for(self, group: Group, op: o.For) -> Steps:
        registers.move(self.findings, group, op, ((c.init, c.arg) for c in op.tiles))
        env = group.env
        carried = [c for c in op.scalars if self._matters(c.arg, c.result)]
        scalars = [self._value(group, c.init) for c in carried]
        start, stop = self._int(group, op.start), self._int(group, op.stop)
        step = self._int(group, op.step)
        if step < 1:
            raise Unmodelled(f"a loop with step {step}")
        outer, turns, loops = group.iteration, group.turns, group.loops
        group.path.append(id(op))
        group.loops = (*loops, id(op))
        for turn, value in enumerate(range(start, stop, step)):
            group.turns = (*turns, turn)
            env[op.var.name] = value
            for carry, number in zip(carried, scalars, strict=True):
                env[carry.arg.name] = number
            if self.heads and not loops:
                group.tick()
                group.parting_at.append(group.parting())
            group.iteration = (*outer, (op.var.name, value))
            group.op = op
            yield None
            yield from self._block(group, op.body)
            group.op = op
            registers.move(
                self.findings, group, op, ((c.yielded, c.arg) for c in op.tiles)
            )
            scalars = [self._value(group, c.yielded) for c in carried]
        group.path.pop()
        group.iteration, group.turns, group.loops = outer, turns, loops
        registers.move(self.findings, group, op, ((c.arg, c.result) for c in op.tiles))
        for carry, number in zip(carried, scalars, strict=True):
            env[carry.result.name] = number

    def _if(self, group: Group, op: o.If) -> Steps:
        taken = bool(self._value(group, op.cond))
        group.path.append(id(op.then if taken else op.other))
        yield from self._block(group, op.then if taken else op.other)
        group.path.pop()
        group.op = op
        pairs = ((m.then if taken else m.other, m.result) for m in op.tiles)
        registers.move(self.findings, group, op, pairs)
        merged = [m for m in op.scalars if self._matters(m.result)]
        values = [self._value(group, m.then if taken else m.other) for m in merged]
        for merge, value in zip(merged, values, strict=True):
            group.env[merge.result.name] = value

    def _roles(self, group: Group, op: o.Roles) -> None:
        for role in op.roles:
            first = role.first_warp
            if first is None or first + role.warps > self.agents.warps:
                raise Unmodelled(f"role {role.name} has no warps")
            rows = group.clock[first : first + role.warps]
            if len(rows) != role.warps:
                raise Unmodelled(f"role {role.name} has warps beyond the block's")
            env = dict(group.env)
            self._start(
                group.block,
                role.name,
                first,
                role.warps,
                env,
                rows,
                group.time,
                role.body,
            )

    def _matters(self, *scalars: Sym) -> bool:
        return any(s.name in self.pruned.scalars for s in scalars)

    def _int(self, group: Group, e: Expr) -> int:
        return int(self._value(group, e))

    def _value(self, group: Group, e: Expr) -> int | float:
        try:
            return evaluate(e, group.env)
        except KeyError as missing:
            raise Unmodelled(f"the value of {missing} is not followed") from missing

    # ------------------------------------------------------------------- memory

    def _learn(self, group: Group, agents: Indices, covered: int) -> None:
        """Each warp knows its own operations up to ``covered`` to be complete."""
        rows = np.arange(group.warps)
        for part in (ORDER, CAUSE):
            group.clock[rows, part, agents] = covered

    def _together(self, group: Group, covered: int) -> None:
        """Four warps issue a product together (axiom "elected-arrival")."""
        latest = None
        while group.issue_causes and group.issue_causes[0][0] <= covered:
            latest = group.issue_causes.popleft()[1]
        if latest is not None:
            cause = group.clock[:, CAUSE]
            np.maximum(cause, np.repeat(latest, 4, axis=0), out=cause)

    def _generic(
        self,
        group: Group,
        op: o.LoadShared | o.StoreShared,
        plan: VectorPlan | None,
        view: SharedView,
        write: bool,
    ) -> None:
        if plan is None:
            raise Unmodelled("an access to shared memory without a plan")
        footprint = self.footprints.vector(op, plan, view, group.env)
        access(
            self.findings, group, group.block, op, footprint, "generic", write,
            group.clock, group.own, group.own, group.time,
        )  # fmt: skip

    def _dot(self, group: Group, op: o.Dot) -> None:
        plan = op.plan
        if not isinstance(plan, WgmmaPlan):
            return
        if group.warps % 4 or group.first % 4:
            report(
                self.findings,
                "AG0419",
                group,
                op,
                f"wgmma by the {group.warps} warps from warp {group.first} on, which"
                " are no whole warpgroups",
                "not whole warpgroups",
            )
            return
        warpgroups = group.warps // 4
        group.products.issued += 1
        count = group.products.issued
        by_group = group.clock.reshape(warpgroups, 4, 3, -1).min(axis=1)
        agents, issuers = group.product_agents[::4], group.own[::4]
        sides = [("b", op.b, plan.b, plan.inst_n)]
        if isinstance(op.a, SharedView):
            if plan.a is None:
                raise Unmodelled("a matrix operand in shared memory without descriptor")
            sides.append(("a", op.a, plan.a, 64))
        for side, view, operand, rows in sides:
            if not isinstance(view, SharedView):
                raise Unmodelled("wgmma with B in registers")
            footprint = self.footprints.operand(
                op, side, operand, view, group.env, rows, warpgroups
            )
            access(
                self.findings, group, group.block, op, footprint, "wgmma", False,
                by_group, agents, issuers, count,
            )  # fmt: skip
        causes = group.clock[:, CAUSE].reshape(warpgroups, 4, -1).max(axis=1)
        group.issue_causes.append((count, causes))
        registers.issue(self.findings, group, op, count)

    def _copy(self, group: Group, op: o.CopyAsync) -> None:
        match op.plan:
            case TmaPlan():
                self._tma(group, op, op.plan)
            case VectorPlan():
                footprint = self.footprints.vector(op, op.plan, op.dst, group.env)
                group.copies.issued += 1
                access(
                    self.findings, group, group.block, op, footprint, "cp", True,
                    group.clock, group.copy_agents, group.own, group.copies.issued,
                )  # fmt: skip
            case None:
                raise Unmodelled("a copy without a plan")
            case _:
                assert_never(op.plan)

    def _tma(self, group: Group, op: o.CopyAsync, plan: TmaPlan) -> None:
        if op.barrier is None:
            raise Unmodelled("a TMA copy without a barrier")
        receivers = (
            self.blocks[: plan.multicast] if plan.multicast > 1 else [group.block]
        )
        nbytes = box_bytes(plan.map.box, plan.map.tensor.dtype.bytes)
        actor = group.clock[:1]
        for block in receivers:
            barrier = self._barrier(group, op.barrier, block)
            phase = barrier.completed + 1
            agents = np.array([barrier.agent], np.intp)
            for index in range(len(plan.boxes)):
                footprint = self.footprints.box(op, plan, index, op.dst, group.env)
                access(
                    self.findings, group, block, op, footprint, "tma", True,
                    actor, agents, group.own[:1], phase,
                )  # fmt: skip
            group.sent[barrier] = (op, group.iteration, phase)
        for block in receivers:
            barrier = self._barrier(group, op.barrier, block)
            for _ in plan.boxes:
                barriers.bytes_land(self.findings, group, op, barrier, nbytes)

    def _store(self, group: Group, op: o.CopyOut) -> None:
        if op.plan is None:
            raise Unmodelled("a TMA store without a plan")
        group.stores.issued += 1
        agents = np.array([group.store_agent], np.intp)
        for index in range(len(op.plan.boxes)):
            footprint = self.footprints.box(op, op.plan, index, op.src, group.env)
            access(
                self.findings, group, group.block, op, footprint, "store", False,
                group.clock[:1], agents, group.own[:1], group.stores.issued,
            )  # fmt: skip

    def _copies_arrive(self, group: Group, op: o.CpAsyncArrive) -> None:
        """Every thread arrives once its copies so far have completed."""
        barrier = self._barrier(group, op.barrier)
        given = self.agents.zero()
        given[CAUSE] = group.clock[:, CAUSE].max(axis=0)
        for part in (ORDER, CAUSE):
            given[part, group.copy_agents] = group.copies.issued
        group.handed = group.copies.issued
        least = group.clock.min(axis=0)
        barriers.arrive(self.findings, group, op, barrier, group.threads, given, least)
        group.tick()

    # ---------------------------------------------------------- synchronisation

    def _barrier(
        self, group: Group, ref: BarrierRef, block: Block | None = None
    ) -> Barrier:
        index = self._int(group, ref.index)
        found = (block or group.block).barriers.get((ref.alloc, index))
        if found is None:
            self._outside(group, ref, index)
        return found

    def _outside(self, group: Group, ref: BarrierRef, index: int) -> NoReturn:
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
        raise Unmodelled(f"{name} has no barrier number {index}")

    def _arrive(self, group: Group, op: o.BarrierArrive) -> None:
        match op.per:
            case "role":
                rows, count = slice(0, 1), 1
            case "warpgroup":
                rows, count = slice(0, None, 4), max(group.warps // 4, 1)
            case "warp":
                rows, count = slice(None), group.warps
            case "thread":
                rows, count = slice(None), group.threads
            case _:
                assert_never(op.per)
        given = group.clock[rows].max(axis=0)
        least = group.clock[rows].min(axis=0)
        group.releases.append((group.time, op, group.iteration))
        for block in self.blocks if op.cluster else (group.block,):
            barrier = self._barrier(group, op.barrier, block)
            if block is not group.block:
                phase = barrier.completed + 1
                group.reached[barrier] = (op, group.iteration, phase, group.time)
            barriers.arrive(self.findings, group, op, barrier, count, given, least)
        group.tick()

    def _sync(self, group: Group, op: o.Sync) -> Steps:
        if op.barrier is None:
            if op.threads != group.threads:
                raise Unmodelled("a sync between roles without a barrier")
            group.acquire(group.clock.max(axis=0))
            group.tick()
            return
        named = group.block.named
        if op.barrier not in named:
            if not 0 <= op.barrier < 16:
                raise Unmodelled(f"named barrier {op.barrier}")
            agent = self.agents.named(group.block.rank, op.barrier)
            word = f"`{op.name}`" if op.name else str(op.barrier)
            named[op.barrier] = self._threads_barrier(f"named barrier {word}", agent)
        yield from barriers.meet(
            self.findings,
            group,
            op,
            named[op.barrier],
            op.threads,
            waits=not op.arrive_only,
        )

    def _cluster(self, group: Group, op: o.ClusterSync) -> Steps:
        """All threads of the cluster that have not ended."""
        barrier = self.cluster
        round_ = barrier.completed
        given = group.clock.max(axis=0)
        np.maximum(barrier.contribution, given, out=barrier.contribution)
        here = event(group, op, "arrives at the cluster's barrier", group.iteration)
        group.recent.append(here)
        group.releases.append((group.time, op, group.iteration))
        self.arrived.add(group)
        self._release_cluster()
        waiting = Waiting(op, barrier, round_)
        while not waiting.ready():
            yield waiting
        group.acquire(barrier.clock)
        group.tick()

    def _release_cluster(self) -> None:
        """Threads that have ended are not waited for (PTX ISA, barrier.cluster)."""
        if self.arrived and self.arrived.issuperset(self.groups):
            self.arrived.clear()
            self.cluster.complete()
