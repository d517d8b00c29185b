"""Blocks of a typed program, executed on whole tiles.

    done = run_blocks(program, tensors, env, [0, 17])

Roles are generators that yield a condition to wait for; a copy is complete when it is
issued. Of an order that is proved right any one may be taken, so this is the simplest:
each role runs until it must wait. Clusters run together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.clock import now
from argus.evaluation.tiles.endings import Stuck
from argus.evaluation.tiles.indices import axes_of, flat
from argus.evaluation.tiles.order import BlockOrder, ClusterOrder, Env, RoleState, Steps
from argus.evaluation.tiles.tensors import BlockTensor
from argus.evaluation.tiles.values import TileOp, computed, filled, fitted
from argus.evaluation.tiles.watching import Watch
from argus.interpret.numbers import Array
from argus.interpret.scalars import scalar_value
from argus.ir import ops as o
from argus.ir.access import Ints
from argus.ir.codec import computing
from argus.ir.dtypes import DType
from argus.ir.expr import evaluate
from argus.ir.memory import GlobalView, SharedView
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program

__all__ = ["MANY", "ExecutedBlocks", "run_blocks"]

MANY = 1 << 20
"""Multiprocessors: as many as tiles, so that a persistent block does one."""


@dataclass(frozen=True)
class ExecutedBlocks:
    """Which blocks ran, and of how many."""

    blocks: tuple[int, ...]
    grid: int


def run_blocks(
    program: Program,
    tensors: Mapping[str, BlockTensor],
    env: Mapping[str, int | float],
    blocks: Iterable[int],
    *,
    watch: Watch | None = None,
    deadline: float = math.inf,
    limit: float = 20.0,
    exact: bool = False,
) -> ExecutedBlocks:
    """Run blocks, with their whole clusters; ``env`` gives sizes, strides, scalars.

    ``exact``: floats are float64 numbers, which are rounded to no type of the program;
    tensors of floats hold such numbers.

    Stops before a second cluster that would begin after ``deadline`` (of
    `clock.now`). Raises :class:`Stuck`, also where one takes longer than
    ``limit`` seconds of this thread, which others on the machine do not change, and
    :class:`NotExecutable`.
    """
    grid = int(evaluate(program.grid, env))
    done: list[int] = []
    seen: set[int] = set()
    for block in blocks:
        number = block // program.cluster
        if number in seen or (done and now() > deadline):
            continue
        seen.add(number)
        first = number * program.cluster
        members = range(first, first + program.cluster)
        common = {**env, GRID_SIZE.name: grid}
        envs = [
            {**common, BLOCK_INDEX.name: i, CLUSTER_RANK.name: i - first}
            for i in members
        ]
        with np.errstate(all="ignore"):
            latest = now() + limit
            _Cluster(program, tensors, envs, watch, latest, exact).run()
        done.extend(members)
    return ExecutedBlocks(tuple(done), grid)


class _Cluster:
    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, BlockTensor],
        envs: list[Env],
        watch: Watch | None,
        latest: float,
        exact: bool,
    ) -> None:
        self.program = program
        self.tensors = tensors
        self.watch = watch
        self.latest = latest
        self.exact = exact
        self.real = np.float64 if exact else np.float32
        self.blocks = [BlockOrder(program) for _ in envs]
        self.order = ClusterOrder(program, self.blocks)
        self.running: list[Steps] = []
        for block, env in zip(self.blocks, envs, strict=True):
            whole = RoleState(block, program.warps, env, {})
            self.running.append(self._block(whole, program.body))

    def run(self) -> None:
        """All roles to their end. Raises Stuck, NotExecutable."""
        waits: dict[int, Callable[[], bool]] = {}
        while self.running:
            moved = False
            for steps in list(self.running):
                wait = waits.get(id(steps))
                if wait is not None and not wait():
                    continue
                moved = True
                try:
                    waits[id(steps)] = next(steps)
                except StopIteration:
                    self.running.remove(steps)
                    waits.pop(id(steps), None)
            if not moved:
                raise Stuck("every role waits for another")

    # -------------------------------------------------------------- control flow

    def _block(self, role: RoleState, block: o.Block) -> Steps:
        for op in block.ops:
            if self.watch is not None:
                self.watch.before(op, role.tiles, role.env)
            match op:
                case o.For():
                    yield from self._for(role, op)
                case o.If():
                    yield from self._if(role, op)
                case o.Roles():
                    for part in op.roles:
                        own = RoleState(
                            role.block, part.warps, dict(role.env), dict(role.tiles)
                        )
                        self.running.append(self._block(own, part.body))
                case o.Let():
                    value = scalar_value(op.value, role.env, self.real)
                    role.env[op.sym.name] = value
                case o.Extract():
                    role.env[op.sym.name] = role.tiles[op.src].item()
                case o.RegisterOp():
                    self._compute(role, op)
                case o.Dot():
                    role.tiles[op.result] = self._dot(role, op)
                case (
                    o.LoadScalar() | o.LoadGlobal() | o.StoreGlobal() | o.LoadShared()
                    | o.StoreShared() | o.CopyAsync() | o.CopyOut()
                ):  # fmt: skip
                    self._memory(role, op)
                case (
                    o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease()
                    | o.BarrierExpect() | o.BarrierArrive() | o.BarrierWait()
                    | o.CpAsyncArrive() | o.Sync() | o.ClusterSync()
                ):  # fmt: skip
                    yield from self.order.run(role, op, len(self.running))
                case (
                    o.Fence() | o.SetMaxRegisters() | o.Commit() | o.GroupWait()
                    | o.Annotation()
                ):  # fmt: skip
                    pass  # of order, cost and elements; values do not show them
                case _:
                    assert_never(op)

    def _for(self, role: RoleState, op: o.For) -> Steps:
        env = role.env
        tiles = [role.tiles[c.init] for c in op.tiles]
        scalars = [scalar_value(c.init, env, self.real) for c in op.scalars]
        ends = (int(scalar_value(e, env)) for e in (op.start, op.stop, op.step))
        for value in range(*ends):
            if now() > self.latest:
                raise Stuck("a block takes too long")
            env[op.var.name] = value
            role.tiles.update(zip((c.arg for c in op.tiles), tiles, strict=True))
            env.update(zip((c.arg.name for c in op.scalars), scalars, strict=True))
            yield from self._block(role, op.body)
            if self.watch is not None:
                self.watch.ended(op, role.tiles, env)
            tiles = [role.tiles[c.yielded] for c in op.tiles]
            scalars = [scalar_value(c.yielded, env, self.real) for c in op.scalars]
        role.tiles.update(zip((c.result for c in op.tiles), tiles, strict=True))
        env.update(zip((c.result.name for c in op.scalars), scalars, strict=True))

    def _if(self, role: RoleState, op: o.If) -> Steps:
        taken = bool(scalar_value(op.cond, role.env, self.real))
        yield from self._block(role, op.then if taken else op.other)
        if self.watch is not None:
            self.watch.ended(op, role.tiles, role.env)
        tiles = [role.tiles[m.then if taken else m.other] for m in op.tiles]
        scalars = [
            scalar_value(m.then if taken else m.other, role.env, self.real)
            for m in op.scalars
        ]
        role.tiles.update(zip((m.result for m in op.tiles), tiles, strict=True))
        role.env.update(zip((m.result.name for m in op.scalars), scalars, strict=True))

    def _compute(self, role: RoleState, op: TileOp) -> None:
        role.tiles[op.result] = computed(op, role.tiles, role.env, self.exact)

    def _dot(self, role: RoleState, op: o.Dot) -> Array:
        a, b = (
            role.tiles[x] if isinstance(x, o.Tile) else self._read_shared(role, x)
            for x in (op.a, op.b)
        )
        wide = self._kind(op.result.dtype)
        made = a.astype(wide, copy=False) @ b.astype(wide, copy=False)
        return made if op.acc is None else role.tiles[op.acc] + made

    def _kind(self, dtype: DType) -> np.dtype[Any]:
        """The numpy type of a tile's numbers."""
        exact = self.exact and dtype.is_float
        return np.dtype(np.float64) if exact else computing(dtype)

    # -------------------------------------------------------------------- memory

    def _memory(
        self,
        role: RoleState,
        op: o.LoadScalar | o.LoadGlobal | o.StoreGlobal | o.LoadShared | o.StoreShared
        | o.CopyAsync | o.CopyOut,
    ) -> None:  # fmt: skip
        match op:
            case o.LoadScalar():
                tensor = self.tensors[op.tensor.name]
                at = 0
                for e, extent in zip(op.coords, tensor.shape, strict=True):
                    coord = int(scalar_value(e, role.env))
                    if not 0 <= coord < extent:
                        raise Stuck(f"{op.tensor.name} has no element {coord}")
                    at = at * extent + coord
                value = tensor.read(np.array([at], np.int64))[0].item()
                role.env[op.sym.name] = value
            case o.LoadGlobal():
                other = filled(op.fill, op.view.dtype, role.env, self.exact)
                mask = None if op.mask is None else role.tiles[op.mask]
                made = self._read(role, op, op.view, other, mask)
                role.tiles[op.result] = made
            case o.StoreGlobal():
                mask = None if op.mask is None else role.tiles[op.mask]
                if isinstance(op, o.Atomic):
                    self._atomic(role, op, mask)
                    return
                self._write(role, op, op.view, role.tiles[op.src], mask, op.atomic)
            case o.LoadShared():
                role.tiles[op.result] = self._read_shared(role, op.view)
            case o.StoreShared():
                self._write_shared(role, op.view, role.tiles[op.src])
            case o.CopyAsync():
                zero = np.zeros((), self._kind(op.src.dtype))
                self._write_shared(role, op.dst, self._read(role, op, op.src, zero))
                if op.barrier is not None:
                    nbytes = math.prod(op.src.shape) * op.src.dtype.bytes
                    self.order.barrier(role, op.barrier).change(0, -nbytes)
            case o.CopyOut():
                self._write(role, op, op.dst, self._read_shared(role, op.src))
            case _:
                assert_never(op)

    def _places(
        self, role: RoleState, op: o.AnyOp, view: GlobalView, mask: Array | None
    ) -> tuple[Ints, Array]:
        """Flat indices of a view's elements (0 where none is), and which exist."""
        rank = len(view.shape)
        gathered: Env = {}
        for gather in view.gathers:
            shape = [1] * rank
            shape[gather.axis] = -1
            held = role.tiles[gather.tile].astype(np.int64)
            gathered[gather.symbol.name] = held.reshape(shape)
        axes = axes_of(view.shape)
        env = {**role.env, **gathered}
        exists, at = flat(view, axes, env, self.tensors[view.tensor.name].shape)
        if mask is not None:
            exists = exists & mask
        if self.watch is not None:
            self.watch.existed(op, exists, role.env)
        return (at if exists.all() else np.where(exists, at, 0)), exists

    def _read(
        self,
        role: RoleState,
        op: o.AnyOp,
        view: GlobalView,
        other: Array,
        mask: Array | None = None,
    ) -> Array:
        at, exists = self._places(role, op, view, mask)
        made = self.tensors[view.tensor.name].read(at)
        if not exists.all():
            made = np.where(exists, made, other.astype(made.dtype))
        return np.broadcast_to(made, view.shape)

    def _write(
        self,
        role: RoleState,
        op: o.AnyOp,
        view: GlobalView,
        values: Array,
        mask: Array | None = None,
        atomic: str | None = None,
    ) -> None:
        at, exists = self._places(role, op, view, mask)
        tensor = self.tensors[view.tensor.name]
        there = np.broadcast_to(exists, view.shape)
        places = np.broadcast_to(at, view.shape)[there]
        written = np.broadcast_to(values, view.shape)[there]
        if atomic is not None:
            places, which = np.unique(places, return_inverse=True)
            held = tensor.read(places)
            if atomic == "add":
                total = np.zeros(places.shape, written.dtype)
                np.add.at(total, which, written)
                held = held + total
            else:
                pick = np.maximum if atomic == "max" else np.minimum
                held = held.astype(written.dtype)
                pick.at(held, which, written)
            written = fitted(held, view.dtype, self.exact)
        tensor.write(places, written)

    def _atomic(self, role: RoleState, op: o.Atomic, mask: Array | None) -> None:
        """Elements one after the other; each sees what those before it have left."""
        at, exists = self._places(role, op, op.view, mask)
        tensor = self.tensors[op.view.tensor.name]
        shape = op.view.shape
        there = np.broadcast_to(exists, shape)
        places = np.broadcast_to(at, shape)[there]
        values = np.broadcast_to(role.tiles[op.src], shape)[there]
        expected = values
        if op.expected is not None:
            expected = np.broadcast_to(role.tiles[op.expected], shape)[there]
        old = np.zeros(shape, values.dtype)
        before = np.zeros(len(values), values.dtype)
        for i, place in enumerate(places):
            where = np.array([place])
            held = before[i] = tensor.read(where)[0]
            new = values[i]
            match op.atomic:
                case "add":
                    new = held + new
                case "max" | "min":
                    new = (np.maximum if op.atomic == "max" else np.minimum)(held, new)
                case "exchange":
                    pass
                case "cas":
                    new = new if held == expected[i] else held
                case _:
                    raise ValueError(f"no atomic {op.atomic}")
            tensor.write(where, fitted(np.array([new]), op.view.dtype, self.exact))
        old[there] = before
        role.tiles[op.result] = old

    def _read_shared(self, role: RoleState, view: SharedView) -> Array:
        buffer, window = self._window(role, view)
        # In the order of the buffer's axes, without those that are fixed.
        kept = sorted(view.axes)
        shape = [view.shape[view.axes.index(axis)] for axis in kept]
        order = [kept.index(axis) for axis in view.axes]
        return buffer[window].reshape(shape).transpose(order).copy()

    def _write_shared(self, role: RoleState, view: SharedView, values: Array) -> None:
        buffer, window = self._window(role, view)
        turned = np.broadcast_to(values, view.shape).transpose(np.argsort(view.axes))
        buffer[window] = turned.reshape(buffer[window].shape)

    def _window(
        self, role: RoleState, view: SharedView
    ) -> tuple[Array, tuple[slice, ...]]:
        """A stage of a buffer, and the part of it that a view is."""
        key = (view.alloc, int(scalar_value(view.stage, role.env)))
        if key not in role.block.shared:
            kind = self._kind(view.dtype)
            fresh = np.full(view.alloc.shape, -1).astype(kind)
            if view.dtype.is_float:
                fresh[...] = np.nan
            role.block.shared[key] = fresh
        extents = dict(zip(view.axes, view.shape, strict=True))
        starts = [int(scalar_value(e, role.env)) for e in view.origin]
        return role.block.shared[key], tuple(
            slice(start, start + extents.get(axis, 1))
            for axis, start in enumerate(starts)
        )
