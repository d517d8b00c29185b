"""From a placed program and its sizes to steps with costs, for the simulation.

Walks the program once per role. Scalars have the values of one block in one environment
(strings of closures that the simulation runs), and of all resident blocks at once in
another (arrays), from which the share of tiles that L2 serves is found.

Nothing is left out: an operation that has no cost here raises ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, evaluate, symbols
from argus.ir.memory import BarrierRef, GlobalView
from argus.ir.placement import TmaPlan, VectorPlan
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, Program
from argus.ir.walk import walk
from argus.isa.effects import effects_of
from argus.isa.registers import WARPGROUP
from argus.model import costs
from argus.model import steps as s
from argus.model.hardware import Hardware
from argus.model.scalars import closure
from argus.model.traffic import LaunchTraffic, Read, origin_share, present

TMA_ISSUE = 24.0
"""Cycles of the one thread that issues a TMA instruction."""


class Tracer:
    """Makes the steps of one program. ``env``: scalars of the launch."""

    def __init__(
        self,
        program: Program,
        env: s.Env,
        footprint: LaunchTraffic,
        hardware: Hardware,
    ) -> None:
        self._program = program
        self._lanes = program.target.warp_threads
        self._footprint = footprint
        self._hardware = hardware
        self._joined = costs.fused(program.body)
        blocks = np.arange(footprint.wave, dtype=np.int64)
        self._wave: dict[str, Any] = {
            **env,
            BLOCK_INDEX.name: blocks,
            CLUSTER_RANK.name: blocks % program.cluster,
        }
        self._one: dict[str, Any] = {**env, BLOCK_INDEX.name: 0, CLUSTER_RANK.name: 0}
        self.iterations: NDArray[np.float64] = np.zeros(footprint.wave)
        """Iterations of all outermost loops, by block."""
        self._swept: set[str] = set()
        self._times: list[float] = [1.0]
        self._inner: list[float] = [1.0]
        self._loaded: set[int] = set()
        self._origins: dict[int, Any] = {}
        self._indexes = indexed(program)
        self._warps = program.warps
        self._groups = 1
        self._role = "block"
        self.depth = 0

    def trace(self) -> s.Trace:
        """The whole block."""
        before: list[s.Step] = []
        roles: list[tuple[str, list[s.Step]]] = []
        for op in self._program.body.ops:
            if isinstance(op, o.Roles):
                for role in op.roles:
                    self._enter(role)
                    steps = self._block(role.body, 0)
                    roles += [(role.name, steps)] * self._groups
            else:
                before += self._op(op, 0)
        totals = self._footprint.settle()
        return s.Trace(merged(before), roles, self.depth, totals)

    def _enter(self, role: o.Role) -> None:
        self._warps, self._role = role.warps, role.name
        whole = role.warps % WARPGROUP == 0
        self._groups = role.warps // WARPGROUP if whole else 1

    # ------------------------------------------------------------------ structure

    def _block(self, block: o.Block, depth: int) -> list[s.Step]:
        return merged([step for op in block.ops for step in self._op(op, depth)])

    def _loop(self, op: o.For, depth: int) -> list[s.Step]:
        self.depth = max(self.depth, depth + 1)
        start = evaluate(op.start, self._wave)
        stop, step = (evaluate(e, self._wave) for e in (op.stop, op.step))
        iterations: NDArray[np.float64] = np.maximum(0.0, -((start - stop) // step))
        mean = float(np.mean(iterations))
        if depth == 0:
            self.iterations = self.iterations + iterations
        # Blocks go through a loop side by side, unless each begins at its own place.
        apart = np.ndim(start) > 0 and np.unique(start).size > 1
        names = {op.var.name, *(c.arg.name for c in op.scalars)}
        for env in (self._wave, self._one):
            env[op.var.name] = evaluate(op.start, env)
            for c in op.scalars:
                env[c.arg.name] = evaluate(c.init, env)
        if not apart:
            self._swept |= names
        self._times.append(self._times[-1] * mean)
        self._inner.append(self._inner[-1] * (1.0 if apart else mean))
        tiles = self._carried(op.tiles)
        body = self._block(op.body, depth + 1)
        if self._carried(op.tiles) != tiles:  # a load inside is carried on
            tiles = self._carried(op.tiles)
            body = self._block_again(op, depth)
        self._times.pop()
        self._inner.pop()
        for env in (self._wave, self._one):
            for c in op.scalars:
                env[c.result.name] = env[c.arg.name]
        carried = tuple(
            (c.arg.name, closure(c.init), closure(c.yielded), c.result.name)
            for c in op.scalars
        )
        values = (closure(op.start), closure(op.stop), closure(op.step))
        return [s.LoopStep(op.var.name, *values, carried, tiles, body, depth)]

    def _block_again(self, op: o.For, depth: int) -> list[s.Step]:
        """The body once more, with tiles that are known to come from loads."""
        kept = len(self._footprint.reads)
        body = self._block(op.body, depth + 1)
        # The accesses are those that were counted the first time.
        del self._footprint.reads[kept - (len(self._footprint.reads) - kept) : kept]
        return body

    def _carried(
        self, carries: Sequence[o.TileCarry]
    ) -> tuple[tuple[int, int, int, int], ...]:
        found: list[tuple[int, int, int, int]] = []
        for c in carries:
            ids = (c.init.id, c.arg.id, c.yielded.id, c.result.id)
            if {c.init.id, c.yielded.id} & self._loaded:
                self._loaded |= {c.arg.id, c.result.id}
                found.append(ids)
        return tuple(found)

    def _branch(self, op: o.If, depth: int) -> list[s.Step]:
        found = [self._block(b, depth) for b in (op.then, op.other)]
        for m in op.tiles:
            if {m.then.id, m.other.id} & self._loaded:
                self._loaded.add(m.result.id)
        for env in (self._wave, self._one):
            for m in op.scalars:
                env[m.result.name] = evaluate(m.then, env)
        merges = tuple(
            (m.result.name, closure(m.then), closure(m.other)) for m in op.scalars
        )
        return [s.BranchStep(closure(op.cond), found[0], found[1], merges)]

    def _name(self, name: str, value: Expr) -> None:
        for env in (self._wave, self._one):
            env[name] = evaluate(value, env)
        if {x.name for x in symbols(value)} & self._swept:
            self._swept.add(name)

    # ------------------------------------------------------------------ operations

    def _op(self, op: o.AnyOp, depth: int) -> list[s.Step]:
        need = self._needs(op)
        simple = costs.in_registers(op, self._warps, self._joined, self._lanes)
        if simple is not None:
            return [*need, self._each(simple)]
        return [*need, *self._other(op, depth)]

    def _needs(self, op: o.AnyOp) -> list[s.Step]:
        """Loads that must have arrived before an operation begins."""
        if isinstance(op, o.For | o.If):
            return []
        tiles = {t.id for t in costs.used(op)} & self._loaded
        return [s.NeedStep(tuple(sorted(tiles)))] if tiles else []

    def _other(self, op: o.AnyOp, depth: int) -> list[s.Step]:
        match op:
            case o.For():
                return self._loop(op, depth)
            case o.If():
                return self._branch(op, depth)
            case o.Let():
                self._name(op.sym.name, op.value)
                return [s.LetStep(op.sym.name, closure(op.value))]
            case o.LoadScalar():
                value = self._entry(op)
                self._name(op.sym.name, value)
                return [s.ScalarLoadStep(op.sym.name, closure(value))]
            case o.Extract():
                # Nobody knows here what it is: a branch that asks is not taken.
                self._name(op.sym.name, Const(0))
                return [s.LetStep(op.sym.name, closure(Const(0)))]
            case o.Dot():
                product = costs.product(op, self._warps, self._groups, self._hardware)
                return [product]
            case o.LoadGlobal() | o.StoreGlobal():
                return self._global(op)
            case o.LoadShared() | o.StoreShared():
                if op.plan is None:
                    raise ValueError("a shared access without a plan: not placed")
                target = self._program.target
                work = costs.shared_access(op.plan, op.view, self._warps, target)
                return [self._each(work)]
            case o.CopyAsync():
                return self._copy(op)
            case o.CopyOut():
                size = self._bytes(op.dst)
                self._footprint.stored += size * self._inner[-1]
                traffic = s.Traffic(size, size, 0.0, 0.0, TMA_ISSUE)
                does = effects_of(op)
                over = (does.reads[0].over, does.completes)
                return [s.CopyOutStep(self._of_group(traffic), over)]
            case o.Commit():
                return [s.CommitStep(effects_of(op).commits)]
            case o.GroupWait():
                return [s.GroupWaitStep(effects_of(op).awaits, op.pending)]
            case o.CpAsyncArrive():
                weight = float(self._lanes * self._warps) / self._groups
                return [s.ArriveStep(self._barrier(op.barrier), weight, True)]
            case o.BarrierExpect():
                barrier = self._barrier(op.barrier)
                weight = 1.0 / self._groups
                return [s.ExpectStep(barrier, closure(op.bytes), weight)]
            case o.BarrierArrive():
                return [self._arrive(op)]
            case o.BarrierWait():
                return [s.WaitStep(self._barrier(op.barrier), closure(op.n))]
            case o.Sync():
                mine = self._lanes * self._warps // self._groups
                name = f"{op.barrier}"
                return [s.SyncStep(name, op.threads, mine, op.arrive_only)]
            case o.ClusterSync():
                return [s.WorkStep(latency=8 * self._hardware.sync_cycles)]
            case o.Fence():
                slow = op.kind in ("threadfence",)
                return [s.WorkStep(latency=500.0 if slow else 8.0)]
            case o.SetMaxRegisters():
                return [s.WorkStep(latency=self._hardware.sync_cycles)]
            case o.Annotation():  # it makes no code, or is not timed
                return []
            case o.RingOp():
                raise ValueError("a ring operation: the program is not placed")
            case o.Roles():
                raise ValueError("roles within roles")
            case o.RegisterOp():
                raise ValueError(f"{type(op).__name__} has no cost")
            case _:
                assert_never(op)

    def _entry(self, op: o.LoadScalar) -> Expr:
        """What a table is taken to hold, which nobody knows here.

        Entries rise evenly over the dimension that they are used as a coordinate of.
        """
        if not op.coords:
            return Const(0)
        place, extent = op.coords[-1], op.tensor.shape[-1]
        used = self._indexes.get(op.sym.name)
        return place if used is None else place * used // extent

    def _each(self, work: s.WorkStep) -> s.WorkStep:
        """The part of one thread group."""
        n = self._groups
        return s.WorkStep(
            work.issue / n, work.special / n, work.shared / n, work.chain, work.latency
        )

    def _of_group(self, traffic: s.Traffic) -> s.Traffic:
        n = self._groups
        if n > 1:
            traffic.l2 /= n
            traffic.dram /= n
            traffic.lines /= n
            traffic.issue /= n
        return traffic

    def _bytes(self, view: GlobalView) -> float:
        size = view.dtype.bytes
        for extent in view.shape:
            size *= extent
        return size * present(view, self._wave)

    def _read(self, view: GlobalView, traffic: s.Traffic, size: float) -> None:
        """Note an access, whose bytes from memory are settled at the end."""
        wave = {**self._wave, **self._gathered(view)}
        share = origin_share(view, wave, self._swept, self._footprint.wave)
        self._footprint.reads.append(
            Read(
                traffic,
                view.tensor.name,
                size,
                share,
                self._times[-1],
                self._inner[-1],
                self._groups,
            )
        )

    def _gathered(self, view: GlobalView) -> dict[str, Any]:
        """A gathered row is taken to be where its index was loaded from."""
        return {g.symbol.name: self._origins.get(g.tile.id, 0) for g in view.gathers}

    def _global(self, op: o.LoadGlobal | o.StoreGlobal) -> list[s.Step]:
        if op.plan is None:
            raise ValueError("a global access without a plan: not placed")
        env = {**self._one, **self._gathered(op.view)}
        stores = isinstance(op, o.StoreGlobal)
        spread, lines = costs.requests(
            op.plan, op.view, env, self._program.target, stores=stores
        )
        asked = self._bytes(op.view)
        n = costs.ACCESS * op.plan.accesses
        traffic = s.Traffic(spread, asked, lines, n * self._warps, n)
        if op.plan.width * op.view.dtype.bytes < 4:
            traffic.elements = float(op.plan.accesses)
        if stores:
            self._footprint.stored += asked * self._inner[-1]
            return [s.StoreStep(self._of_group(traffic))]
        self._read(op.view, traffic, asked)
        self._loaded.add(op.result.id)
        if op.view.coords:
            first = op.view.coords[-1]
            known = {**self._wave, **self._gathered(op.view)}
            known |= {f"%{i}": 0 for i in range(len(op.view.shape))}
            self._origins[op.result.id] = evaluate(first, known)
        gathers = bool(op.view.gathers) or op.mask is not None
        return [s.LoadStep(op.result.id, self._of_group(traffic), gathers)]

    def _copy(self, op: o.CopyAsync) -> list[s.Step]:
        barrier = None if op.barrier is None else self._barrier(op.barrier)
        size = self._bytes(op.src)
        over = effects_of(op).completes
        match op.plan:
            case TmaPlan():
                # What is multicast is fetched once, but enters every multiprocessor.
                shared = size / op.multicast
                line = self._program.target.line_bytes
                lines = shared * costs.straddling(op.src, op.plan, self._one, line)
                boxes = float(len(op.plan.boxes))
                traffic = s.Traffic(
                    max(size, lines), 0.0, 0.0, boxes, boxes * TMA_ISSUE
                )
                self._read(op.src, traffic, shared)
                received = op.plan.bytes / self._groups
                return [s.CopyStep(self._of_group(traffic), barrier, received, over)]
            case VectorPlan():
                env = {**self._one, **self._gathered(op.src)}
                spread, lines = costs.requests(
                    op.plan, op.src, env, self._program.target
                )
                n = costs.ACCESS * op.plan.accesses
                traffic = s.Traffic(spread, 0.0, lines, n * self._warps, n)
                self._read(op.src, traffic, size)
                return [s.CopyStep(self._of_group(traffic), barrier, 0.0, over)]
            case None:
                raise ValueError("a copy without a plan: the program is not placed")
            case _:
                assert_never(op.plan)

    def _barrier(self, ref: BarrierRef) -> s.BarrierIndex:
        return s.BarrierIndex(id(ref.alloc), closure(ref.index), ref.alloc.arrivals)

    def _arrive(self, op: o.BarrierArrive) -> s.Step:
        warps = self._warps / self._groups
        match op.per:
            case "role":
                weight = 1.0 / self._groups
            case "warpgroup":
                weight = max(1.0, warps / WARPGROUP)
            case "warp":
                weight = warps
            case "thread":
                weight = self._lanes * warps
            case _:
                assert_never(op.per)
        # The other blocks of the cluster do the same at about the same time.
        weight *= self._program.cluster if op.cluster else 1
        return s.ArriveStep(self._barrier(op.barrier), weight)


def indexed(program: Program) -> dict[str, Expr]:
    """Scalars that are coordinates of tensors: the extent of the dimension."""
    found: dict[str, Expr] = {}
    for op in walk(program.body):
        match op:
            case o.LoadGlobal() | o.StoreGlobal():
                view = op.view
            case o.CopyAsync(src=view) | o.CopyOut(dst=view):
                pass
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                | o.LoadShared() | o.StoreShared() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                continue
            case _:
                assert_never(op)
        for coordinate, extent in zip(view.coords, view.tensor.shape, strict=True):
            for x in symbols(coordinate):
                if x.kind == "let":
                    found.setdefault(x.name, extent)
    return found


def merged(steps: list[s.Step]) -> list[s.Step]:
    """Loads as early as the compiler issues them, and neighbouring work as one step.

    A load to registers goes before work and waits for other loads that stand above it,
    but not before a step that orders memory.
    """
    found: list[s.Step] = []
    for step in steps:
        match step:
            case s.WorkStep():
                if step == s.WorkStep():
                    continue
                if found and isinstance(found[-1], s.WorkStep):
                    found[-1] = costs.added(found[-1], step)
                    continue
                found.append(step)
            case s.LoadStep() if not step.gathers:
                at = len(found)
                while at and isinstance(
                    found[at - 1], s.WorkStep | s.NeedStep | s.LetStep
                ):
                    at -= 1
                found.insert(at, step)
            case (
                s.LoadStep() | s.NeedStep() | s.ScalarLoadStep() | s.StoreStep()
                | s.CopyStep() | s.CommitStep() | s.GroupWaitStep() | s.ProductStep()
                | s.CopyOutStep() | s.ExpectStep() | s.ArriveStep() | s.WaitStep()
                | s.SyncStep() | s.LetStep() | s.LoopStep() | s.BranchStep()
            ):  # fmt: skip
                found.append(step)
    return found
