"""Blocks of a typed program, executed on whole tiles.

    done = run_blocks(program, tensors, env, [0, 17])

Roles are generators that yield a condition to wait for; a copy is complete when it is
issued. Of an order that is proved right any one may be taken, so this is the simplest:
each role runs until it must wait. Clusters run together.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from argus.evaluation.tiles.tensors import Tensor
from argus.evaluation.tiles.values import TileOp, computed, fitted
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.access import Ints, global_place
from argus.ir.expr import Expr, evaluate
from argus.ir.memory import BarrierRef, GlobalView, Ring, SharedView
from argus.ir.walk import walk
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program

__all__ = ["Run", "Stuck", "Unmodelled", "Watch", "run_blocks"]

Steps = Generator[Callable[[], bool], None, None]
Env = dict[str, Any]


class Unmodelled(Exception):  # noqa: N818 - a result, not a fault
    """The program does what this executor does not know; says what."""


class Stuck(Exception):  # noqa: N818 - a result, not a fault
    """Every role waits, a block takes too long, or an index is outside its tensor."""


class Watch(Protocol):
    """Told what is about to happen, in a block's terms."""

    def before(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """An operation is about to run."""
        ...

    def ended(self, op: o.AnyOp, env: Env) -> None:
        """What an operation contains is over; its results are evaluated next."""
        ...

    def existed(self, op: o.AnyOp, exists: Array) -> None:
        """Which elements of its view an access touches."""
        ...


@dataclass(frozen=True)
class Run:
    """Which blocks ran, and of how many."""

    blocks: tuple[int, ...]
    grid: int


def run_blocks(
    program: Program,
    tensors: Mapping[str, Tensor],
    env: Mapping[str, int | float],
    blocks: Iterable[int],
    *,
    watch: Watch | None = None,
    deadline: float = math.inf,
    limit: float = 20.0,
) -> Run:
    """Run blocks, with their whole clusters; ``env`` gives sizes, strides, scalars.

    Stops before a second cluster that would begin after ``deadline`` (of
    `time.monotonic`). Raises :class:`Stuck`, also where one takes longer than
    ``limit`` seconds, and :class:`Unmodelled`.
    """
    grid = int(evaluate(program.grid, env))
    done: list[int] = []
    seen: set[int] = set()
    for block in blocks:
        number = block // program.cluster
        if number in seen or (done and time.monotonic() > deadline):
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
            latest = time.monotonic() + limit
            _Cluster(program, tensors, envs, watch, latest).run()
        done.extend(members)
    return Run(tuple(done), grid)


@dataclass
class _Barrier:
    """An mbarrier: completions so far, and what the present phase still lacks."""

    arrivals: int
    completed: int = 0
    missing: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        self.missing = self.arrivals

    def change(self, arrivals: int, nbytes: int) -> None:
        """Arrivals and announced bytes; completes the phase when both are there."""
        self.missing -= arrivals
        self.bytes += nbytes
        if self.missing == 0 and self.bytes == 0:
            self.completed += 1
            self.missing = self.arrivals


@dataclass
class _Ring:
    """Fills that were published, and how often each was released."""

    consumers: int
    published: set[int] = field(default_factory=set[int])
    released: dict[int, int] = field(default_factory=dict[int, int])


@dataclass
class _Named:
    """A named barrier: threads that arrived, and completions."""

    arrived: int = 0
    completed: int = 0


class _Block:
    """What the roles of a block share."""

    def __init__(self, program: Program) -> None:
        self.shared: dict[tuple[object, int], Array] = {}
        self.barriers = {
            (alloc, i): _Barrier(alloc.arrivals)
            for alloc in program.barriers
            for i in range(alloc.count)
        }
        self.rings: dict[object, _Ring] = {}
        self.named: dict[str, _Named] = {}


@dataclass
class _Role:
    """One sequence of operations: its values of tiles and scalars."""

    block: _Block
    warps: int
    env: Env
    tiles: dict[o.Tile, Array]


class _Cluster:
    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, Tensor],
        envs: list[Env],
        watch: Watch | None,
        latest: float,
    ) -> None:
        self.program = program
        self.tensors = tensors
        self.watch = watch
        self.latest = latest
        self.consumers = _consumers(program)
        self.blocks = [_Block(program) for _ in envs]
        self.met = _Named()
        self.running: list[Steps] = []
        for block, env in zip(self.blocks, envs, strict=True):
            whole = _Role(block, program.warps, env, {})
            self.running.append(self._block(whole, program.body))

    def run(self) -> None:
        """All roles to their end. Raises Stuck, Unmodelled."""
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

    def _block(self, role: _Role, block: o.Block) -> Steps:
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
                        own = _Role(
                            role.block, part.warps, dict(role.env), dict(role.tiles)
                        )
                        self.running.append(self._block(own, part.body))
                case o.Let():
                    role.env[op.sym.name] = evaluate(op.value, role.env)
                case (
                    o.Full() | o.Index() | o.Elementwise() | o.Cast() | o.Broadcast()
                    | o.Transpose() | o.Reduce() | o.Split() | o.Slice() | o.Scan()
                    | o.Reinterpret() | o.Convert()
                ):  # fmt: skip
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
                    yield from self._sync(role, op)
                case (
                    o.Fence() | o.SetMaxRegisters() | o.WgmmaCommit() | o.WgmmaWait()
                    | o.CpAsyncCommit() | o.CpAsyncWait() | o.CopyOutCommit()
                    | o.CopyOutWait() | o.Assume() | o.Tag() | o.Check() | o.Expect()
                    | o.Trust()
                ):  # fmt: skip
                    pass  # of order, cost and elements; values do not show them

    def _for(self, role: _Role, op: o.For) -> Steps:
        env = role.env
        tiles = [role.tiles[c.init] for c in op.tiles]
        scalars = [evaluate(c.init, env) for c in op.scalars]
        ends = (int(evaluate(e, env)) for e in (op.start, op.stop, op.step))
        for value in range(*ends):
            if time.monotonic() > self.latest:
                raise Stuck("a block takes too long")
            env[op.var.name] = value
            role.tiles.update(zip((c.arg for c in op.tiles), tiles, strict=True))
            env.update(zip((c.arg.name for c in op.scalars), scalars, strict=True))
            yield from self._block(role, op.body)
            if self.watch is not None:
                self.watch.ended(op, env)
            tiles = [role.tiles[c.yielded] for c in op.tiles]
            scalars = [evaluate(c.yielded, env) for c in op.scalars]
        role.tiles.update(zip((c.result for c in op.tiles), tiles, strict=True))
        env.update(zip((c.result.name for c in op.scalars), scalars, strict=True))

    def _if(self, role: _Role, op: o.If) -> Steps:
        taken = bool(evaluate(op.cond, role.env))
        yield from self._block(role, op.then if taken else op.other)
        if self.watch is not None:
            self.watch.ended(op, role.env)
        tiles = [role.tiles[m.then if taken else m.other] for m in op.tiles]
        scalars = [
            evaluate(m.then if taken else m.other, role.env) for m in op.scalars
        ]
        role.tiles.update(zip((m.result for m in op.tiles), tiles, strict=True))
        role.env.update(zip((m.result.name for m in op.scalars), scalars, strict=True))

    def _compute(self, role: _Role, op: TileOp) -> None:
        role.tiles[op.result] = computed(op, role.tiles, role.env)

    def _dot(self, role: _Role, op: o.Dot) -> Array:
        a, b = (
            role.tiles[x] if isinstance(x, o.Tile) else self._read_shared(role, x)
            for x in (op.a, op.b)
        )
        wide = np.float32 if op.result.dtype.is_float else np.int32
        made = a.astype(wide, copy=False) @ b.astype(wide, copy=False)
        return made if op.acc is None else role.tiles[op.acc] + made

    # -------------------------------------------------------------------- memory

    def _memory(
        self,
        role: _Role,
        op: o.LoadScalar | o.LoadGlobal | o.StoreGlobal | o.LoadShared | o.StoreShared
        | o.CopyAsync | o.CopyOut,
    ) -> None:  # fmt: skip
        match op:
            case o.LoadScalar():
                tensor = self.tensors[op.tensor.name]
                at = 0
                for e, extent in zip(op.coords, tensor.shape, strict=True):
                    coord = int(evaluate(e, role.env))
                    if not 0 <= coord < extent:
                        raise Stuck(f"{op.tensor.name} has no element {coord}")
                    at = at * extent + coord
                value = tensor.read(np.array([at], np.int64))[0].item()
                role.env[op.sym.name] = value
            case o.LoadGlobal():
                fill = np.array(evaluate(op.fill, role.env))
                if op.view.dtype.is_float:
                    fill = fill.astype(np.float32)
                other = fitted(fill, op.view.dtype)
                mask = None if op.mask is None else role.tiles[op.mask]
                made = self._read(role, op, op.view, other, mask)
                role.tiles[op.result] = made
            case o.StoreGlobal():
                mask = None if op.mask is None else role.tiles[op.mask]
                self._write(role, op, op.view, role.tiles[op.src], mask, op.atomic)
            case o.LoadShared():
                role.tiles[op.result] = self._read_shared(role, op.view)
            case o.StoreShared():
                self._write_shared(role, op.view, role.tiles[op.src])
            case o.CopyAsync():
                zero = np.zeros((), np.float32 if op.src.dtype.is_float else np.int32)
                self._write_shared(role, op.dst, self._read(role, op, op.src, zero))
                if op.barrier is not None:
                    nbytes = math.prod(op.src.shape) * op.src.dtype.bytes
                    self._barrier(role, op.barrier).change(0, -nbytes)
            case o.CopyOut():
                self._write(role, op, op.dst, self._read_shared(role, op.src))

    def _places(
        self, role: _Role, op: o.AnyOp, view: GlobalView, mask: Array | None
    ) -> tuple[Ints, Array]:
        """Flat indices of a view's elements (0 where there is none), and which exist."""
        rank = len(view.shape)
        gathered: Env = {}
        for gather in view.gathers:
            shape = [1] * rank
            shape[gather.axis] = -1
            held = role.tiles[gather.tile].astype(np.int64)
            gathered[gather.symbol.name] = held.reshape(shape)
        axes = [
            np.arange(n, dtype=np.int64).reshape([-1 if a == i else 1 for a in range(rank)])
            for i, n in enumerate(view.shape)
        ]  # fmt: skip
        env = {**role.env, **gathered}
        exists, at = _flat(view, axes, env, self.tensors[view.tensor.name].shape)
        if mask is not None:
            exists = exists & mask
        if self.watch is not None:
            self.watch.existed(op, exists)
        return np.where(exists, at, 0), exists

    def _read(
        self,
        role: _Role,
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
        role: _Role,
        op: o.AnyOp,
        view: GlobalView,
        values: Array,
        mask: Array | None = None,
        atomic: str | None = None,
    ) -> None:
        at, exists = self._places(role, op, view, mask)
        tensor = self.tensors[view.tensor.name]
        places = np.broadcast_to(at, view.shape)[exists]
        written = np.broadcast_to(values, view.shape)[exists]
        if atomic is not None:
            places, which = np.unique(places, return_inverse=True)
            total = np.zeros(places.shape, written.dtype)
            np.add.at(total, which, written)
            written = fitted(tensor.read(places) + total, view.dtype)
        tensor.write(places, written)

    def _read_shared(self, role: _Role, view: SharedView) -> Array:
        buffer, window = self._window(role, view)
        # In the order of the buffer's axes, without those that are fixed.
        kept = sorted(view.axes)
        shape = [view.shape[view.axes.index(axis)] for axis in kept]
        order = [kept.index(axis) for axis in view.axes]
        return buffer[window].reshape(shape).transpose(order).copy()

    def _write_shared(self, role: _Role, view: SharedView, values: Array) -> None:
        buffer, window = self._window(role, view)
        turned = np.broadcast_to(values, view.shape).transpose(np.argsort(view.axes))
        buffer[window] = turned.reshape(buffer[window].shape)

    def _window(
        self, role: _Role, view: SharedView
    ) -> tuple[Array, tuple[slice, ...]]:
        """A stage of a buffer, and the part of it that a view is."""
        key = (view.alloc, int(evaluate(view.stage, role.env)))
        if key not in role.block.shared:
            kind = np.float32 if view.dtype.is_float else np.int32
            if view.dtype.kind == "bool":
                kind = np.bool_
            elif view.dtype.name == "i64":
                kind = np.int64
            fresh = np.full(view.alloc.shape, -1, kind)
            if view.dtype.is_float:
                fresh[...] = np.nan
            role.block.shared[key] = fresh
        extents = dict(zip(view.axes, view.shape, strict=True))
        starts = [int(evaluate(e, role.env)) for e in view.origin]
        return role.block.shared[key], tuple(
            slice(start, start + extents.get(axis, 1))
            for axis, start in enumerate(starts)
        )

    # --------------------------------------------------------------------- order

    def _barrier(self, role: _Role, ref: BarrierRef) -> _Barrier:
        return role.block.barriers[ref.alloc, int(evaluate(ref.index, role.env))]

    def _ring(self, role: _Role, ring: Ring) -> _Ring:
        if ring not in role.block.rings:
            role.block.rings[ring] = _Ring(self.consumers.get(id(ring), 1))
        return role.block.rings[ring]

    def _sync(self, role: _Role, op: o.AnyOp) -> Steps:
        def number(e: Expr) -> int:
            return int(evaluate(e, role.env))

        match op:
            case o.RingAcquire():
                ring, before = self._ring(role, op.ring), number(op.n) - op.ring.stages
                if before >= 0:
                    yield lambda: ring.released.get(before, 0) >= ring.consumers
            case o.RingPublish():
                self._ring(role, op.ring).published.add(number(op.n))
            case o.RingWait():
                ring, fill = self._ring(role, op.ring), number(op.n)
                yield lambda: fill in ring.published
            case o.RingRelease():
                released, fill = self._ring(role, op.ring).released, number(op.n)
                released[fill] = released.get(fill, 0) + 1
            case o.BarrierExpect():
                self._barrier(role, op.barrier).change(1, number(op.bytes))
            case o.BarrierArrive():
                per = {"role": role.warps, "warpgroup": 4, "warp": 1}
                count = (
                    32 * role.warps
                    if op.per == "thread"
                    else role.warps // per[op.per]
                )
                blocks = self.blocks if op.cluster else [role.block]
                index = number(op.barrier.index)
                for block in blocks:
                    block.barriers[op.barrier.alloc, index].change(count, 0)
            case o.CpAsyncArrive():
                self._barrier(role, op.barrier).change(32 * role.warps, 0)
            case o.BarrierWait():
                barrier, n = self._barrier(role, op.barrier), number(op.n)
                yield lambda: barrier.completed > n
            case o.Sync() if op.name is not None:
                named = role.block.named.setdefault(op.name, _Named())
                yield from _arrive(named, 32 * role.warps, op.threads, op.arrive_only)
            case o.ClusterSync():
                yield from _arrive(self.met, 1, len(self.running), False)
            case _:
                return


def _arrive(named: _Named, threads: int, all_threads: int, only: bool) -> Steps:
    turn = named.completed
    named.arrived += threads
    if named.arrived >= all_threads:
        named.arrived = 0
        named.completed += 1
    if not only:
        yield lambda: named.completed > turn


def _flat(
    view: GlobalView, axes: list[Ints], env: Env, shape: tuple[int, ...]
) -> tuple[Array, Ints]:
    """Which elements of a view exist, and their flat indices."""
    place = global_place(view, axes, env)
    at: Any = np.zeros((), np.int64)
    for coord, extent in zip(place.coords, shape, strict=True):
        at = at * extent + coord
    return place.exists, at


def _consumers(program: Program) -> dict[int, int]:
    """How many roles release each ring, by its id."""
    found: dict[int, int] = {}
    bodies = [program.body]
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            bodies = [role.body for role in op.roles]
    for body in bodies:
        rings = {id(x.ring) for x in walk(body) if isinstance(x, o.RingRelease)}
        for ring in rings:
            found[ring] = found.get(ring, 0) + 1
    return found


