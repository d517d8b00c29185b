"""Walking all roles of a cluster together, with concrete counters and no data.

A placed program and values for its sizes become one run of events: what each warp knows
(`clock.py`) decides whether an access, an arrival or a wait is right in *every*
schedule, so that one run in a fixed order is enough. Control flow is uniform and a wait
names the completion that it waits for; nothing a role does depends on the schedule.

This file is control flow; `memory.py` and `syncs.py` are the operations. What it cannot
walk raises :class:`~argus.verify.order.footprint.OutOfModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Sym, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, Program
from argus.verify.order import memory, register_budgets, registers, syncs
from argus.verify.order.block_exit import leave, over
from argus.verify.order.clock import Knowledge
from argus.verify.order.course import Table
from argus.verify.order.deadlock import explain
from argus.verify.order.events import has_events
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings
from argus.verify.order.footprint import Footprints, OutOfModel
from argus.verify.order.machine import Machine
from argus.verify.order.slicing import Pruned
from argus.verify.order.state import BlockState, GroupState, Parting, Steps
from argus.verify.order.trip_count_choices import Choices

__all__ = ["ClusterWalk"]


_LONGEST = 1 << 14
"""Iterations of a loop that are walked, at most: what is known grows with each."""


class ClusterWalk(Machine):
    """One run of all blocks of a cluster.

    ``env`` gives sizes, strides, scalar arguments and the grid; ``first`` is the index
    of the cluster's first block. ``heads``: note how groups would leave at each head of
    their outermost loops. ``limit`` bounds the operations that are walked. ``choices``
    says how often its loops iterate, in the place of their bounds.
    """

    def __init__(
        self,
        program: Program,
        env: Mapping[str, int | float],
        first: int,
        findings: OrderFindings,
        footprints: Footprints,
        fills: Fills,
        table: Table,
        pruned: Pruned,
        heads: bool = False,
        limit: int = 200_000,
        choices: Choices | None = None,
    ) -> None:
        super().__init__(program, first, findings, footprints, fills)
        self.table = table
        self.pruned = pruned
        self.left = self.limit = limit
        self.heads = heads
        self.choices = choices
        self.stuck = False
        self.taken: set[tuple[o.If, bool]] = set()
        """Branches that were taken."""
        self.partings: list[Parting] = []
        self.everyone: list[GroupState] = []
        held = register_budgets.launched(program)
        for block in self.blocks:
            values = {
                **env,
                BLOCK_INDEX.name: block.index,
                CLUSTER_RANK.name: block.rank,
            }
            know = Knowledge.first(program.warps)
            self._start(
                block, "block", program.span, 0, values, know, program.body, held
            )

    def _start(
        self,
        block: BlockState,
        name: str,
        span: Span,
        first: int,
        env: dict[str, int | float],
        know: Knowledge,
        body: o.Block,
        held: int,
    ) -> None:
        lanes = self.program.target.warp_threads
        group = GroupState(
            block, name, span, first, know.warps, lanes, env, know, self.moments, held
        )
        group.tick()
        group.steps = self._block(group, body)
        self.groups.append(group)
        self.everyone.append(group)

    @property
    def steps(self) -> int:
        """Operations that were walked."""
        return self.limit - self.left

    @property
    def even(self) -> bool:
        """Whether all accesses so far would touch the same bytes of any stage."""
        records = (r for block in self.blocks for r in block.records)
        return not self.footprints.empty and all(f.even for f, *_ in records)

    # ------------------------------------------------------------------ running

    def run(self, after_round: Callable[[ClusterWalk], bool] | None = None) -> None:
        """Walk to the end, until nobody can go on (``stuck``), or as long as wanted.

        ``after_round`` says after each round whether to stop there.
        """
        while self.groups:
            moved = False
            for group in tuple(self.groups):
                moved |= self._go(group)
            if not moved:
                self.stuck = True
                explain(self.findings, self.groups, self.everyone, self.program)
                return
            if after_round is not None and after_round(self):
                return
        over(self.findings, self.blocks, self.partings)

    def _go(self, group: GroupState) -> bool:
        """Let a group go on until it waits or begins an iteration of a loop."""
        if group.wait is not None and not group.wait.ready():
            return False
        assert group.steps is not None
        try:
            group.wait = next(group.steps)
        except StopIteration:
            self.groups.remove(group)
            leave(self.findings, group.parting(), group.iteration)
            self.partings.append(group.parting())
            self.release_cluster()
        return True

    # ------------------------------------------------------------- control flow

    def _block(self, group: GroupState, block: o.Block) -> Steps:
        for op in self.pruned.ops[id(block)]:
            group.op = op
            self.left -= 1
            if self.left < 0:
                raise OutOfModel("a walk of representative sizes is too long")
            if group.hot:
                registers.touch(self.findings, group, op, self.effects)
            match op:
                case o.Let():
                    group.env[op.sym.name] = self.value(group, op.value)
                case o.Dot():
                    memory.product(self, group, op)
                case o.Commit():
                    memory.commit(self, group, op)
                case o.WgmmaWait():
                    memory.wait(self, group, op)
                    registers.waited(self.findings, group, op)
                case o.CopyAsync():
                    memory.copy(self, group, op)
                case o.BarrierExpect():
                    syncs.expect(self, group, op)
                case o.BarrierArrive():
                    syncs.arrive(self, group, op)
                case o.BarrierWait():
                    yield from syncs.wait(self, group, op)
                case o.Sync():
                    yield from syncs.sync(self, group, op)
                case o.LoadShared() | o.StoreShared():
                    memory.generic(self, group, op)
                case o.CopyOut():
                    memory.store(self, group, op)
                case o.CopyOutWait() | o.CpAsyncWait():
                    memory.wait(self, group, op)
                case o.CpAsyncArrive():
                    memory.copies_arrive(self, group, op)
                case o.Fence():
                    if self.effects.of(op).fence == "async":
                        group.fence()
                case o.ClusterSync():
                    yield from syncs.cluster(self, group, op)
                case o.SetMaxRegisters():
                    yield from register_budgets.change(
                        self.findings, self.program, group, op
                    )
                case o.For():
                    yield from self._for(group, op)
                case o.If():
                    yield from self._if(group, op)
                case o.Roles():
                    self._roles(group, op)
                case o.LoadScalar():
                    coords = tuple(self.integer(group, c) for c in op.coords)
                    group.env[op.sym.name] = self.table(op.tensor.name, coords)
                case o.Extract():
                    at = (group.block.rank, *group.iterations)
                    group.env[op.sym.name] = self.table(f"%{op.sym.name}", at)
                case o.RegisterOp() | o.LoadGlobal() | o.StoreGlobal():
                    pass
                case o.Annotation():
                    pass  # annotations do nothing
                case o.RingOp():
                    raise OutOfModel("a ring operation in a placed program")
                case _:
                    assert_never(op)

    def _for(self, group: GroupState, op: o.For) -> Steps:
        registers.move(self.findings, group, op, ((c.init, c.arg) for c in op.tiles))
        env = group.env
        carried = [c for c in op.scalars if self._matters(c.arg, c.result)]
        scalars = [self.value(group, c.init) for c in carried]
        choices = self.choices
        if choices is not None and id(op) in choices.of:
            # Where it would end by itself does not count, and need not have a value.
            named = self._matters(op.var)
            start = self.integer(group, op.start) if named else 0
            step = self._step(group, op) if named else 1
            values = choices.iterations(self, group, op, start, step)
        else:
            choices = None
            start, stop = self.integer(group, op.start), self.integer(group, op.stop)
            values = range(start, stop, self._step(group, op))
            if len(values) > _LONGEST:
                raise OutOfModel(f"a loop of {len(values)} iterations is walked")
        outer, iterations, loops = group.iteration, group.iterations, group.loops
        extents = group.extents
        group.path.append(id(op))
        group.loops = (*loops, id(op))
        group.extents = (*extents, len(values) if isinstance(values, range) else 0)
        group.around[op.var.name] = op
        count = 0
        if choices is not None:
            _assign(env, carried, scalars)
        for iteration, value in enumerate(values):
            count += 1
            group.iterations = (*iterations, iteration)
            env[op.var.name] = value
            _assign(env, carried, scalars)
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
            scalars = [self.value(group, c.yielded) for c in carried]
            if choices is not None:
                # Whether it iterates once more may be asked in a state to be compared.
                _assign(env, carried, scalars)
        group.path.pop()
        group.iteration, group.iterations, group.loops = outer, iterations, loops
        if self.choices is not None:
            self.choices.leave(group, op)
        group.left[op] = count
        group.extents = extents
        registers.move(self.findings, group, op, ((c.arg, c.result) for c in op.tiles))
        for carry, number in zip(carried, scalars, strict=True):
            env[carry.result.name] = number

    def _step(self, group: GroupState, op: o.For) -> int:
        step = self.integer(group, op.step)
        if step < 1:
            raise OutOfModel(f"a loop with step {step}")
        return step

    def _if(self, group: GroupState, op: o.If) -> Steps:
        choices = self.choices
        if self._of_registers(group, op):
            yield from self._both(group, op)
            return
        if choices is not None and id(op) in choices.tests:
            taken = choices.holds(self, group, op)
        else:
            taken = bool(self.value(group, op.cond))
        self.taken.add((op, taken))
        group.path.append(id(op.then if taken else op.other))
        yield from self._block(group, op.then if taken else op.other)
        group.path.pop()
        group.op = op
        pairs = ((m.then if taken else m.other, m.result) for m in op.tiles)
        registers.move(self.findings, group, op, pairs)
        merged = [m for m in op.scalars if self._matters(m.result)]
        values = [self.value(group, m.then if taken else m.other) for m in merged]
        for merge, value in zip(merged, values, strict=True):
            group.env[merge.result.name] = value

    def _of_registers(self, group: GroupState, op: o.If) -> bool:
        """Whether a branch only touches registers, and which way is taken is not known.

        Such ways leave the state as it is, so that one after the other shows what
        either of them does.
        """
        if id(op) in (self.choices.tests if self.choices is not None else ()):
            return False
        known = all(s.name in group.env for s in symbols(op.cond))
        if known and self.choices is None:
            return False
        merged = any(self._matters(m.result) for m in op.scalars)
        return not merged and not has_events(o.Block([op]))

    def _both(self, group: GroupState, op: o.If) -> Steps:
        for taken, block in ((True, op.then), (False, op.other)):
            self.taken.add((op, taken))
            group.path.append(id(block))
            yield from self._block(group, block)
            group.path.pop()
            group.op = op
            pairs = ((m.then if taken else m.other, m.result) for m in op.tiles)
            registers.move(self.findings, group, op, pairs)

    def _matters(self, *scalars: Sym) -> bool:
        return any(s.name in self.pruned.scalars for s in scalars)

    def _roles(self, group: GroupState, op: o.Roles) -> None:
        for role in op.roles:
            first = role.first_warp
            if first is None:
                raise OutOfModel(f"role {role.name} has no warps")
            if first + role.warps > group.warps:
                raise OutOfModel(f"role {role.name} has warps beyond the block's")
            know = group.know.of(first, role.warps)
            env = dict(group.env)
            self._start(
                group.block,
                role.name,
                role.span,
                first,
                env,
                know,
                role.body,
                group.registers,
            )


def _assign(
    env: dict[str, int | float],
    carried: Sequence[o.ScalarCarry],
    numbers: Sequence[int | float],
) -> None:
    for carry, number in zip(carried, numbers, strict=True):
        env[carry.arg.name] = number
