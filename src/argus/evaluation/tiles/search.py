"""A block in which a condition turns out in a given way, or that there is none.

The condition is evaluated for many blocks, iterations of loops and elements at once:
first for few, then the verifier's procedures are asked, then for as many as time
allows. "never" is said only where all were evaluated, or where it is proved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, assert_never

import numpy as np

from argus.clock import now
from argus.evaluation.tiles.facet import Facet
from argus.evaluation.tiles.solving import decided, goal_of
from argus.evaluation.tiles.tensors import BlockTensor
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, evaluate
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program

__all__ = ["Place", "Search", "places"]

_CHEAP = 1 << 21
"""Elements up to which everything is evaluated before a solver is asked."""
_AT_ONCE = 1 << 19
"""Elements that are evaluated at once."""
_CHUNKS = 1 << 20
"""Parts of a grid that are listed, to be gone through in another order."""
_ITERATIONS = 32
"""Iterations of a loop that are tried, where it iterates more often."""

Place = int | Literal["never", "data", "unknown"]
Env = dict[str, Any]


class _Unknown(Exception):  # noqa: N818 - a result, not a fault
    """The condition depends on what is not known before the block runs."""


def places(
    program: Program,
    facets: Sequence[Facet],
    tensors: Mapping[str, BlockTensor],
    env: Mapping[str, int | float],
    deadline: float,
) -> dict[Facet, Place]:
    """For each facet a block that shows it; "never" if there is none.

    ``env`` gives sizes, strides, scalars and ``sm_count``. "data" where it depends on
    what a block reads or counts, "unknown" where nothing was found before ``deadline``
    (of `clock.now`).
    """
    grid = int(evaluate(program.grid, env))
    rng = np.random.default_rng(grid)
    few = np.unique([0, 1, grid // 2, grid - 1, *rng.integers(0, grid, 12)])
    few = few[few < grid]
    found: dict[Facet, Place] = {}
    searches: list[tuple[Facet, Search]] = []
    chosen = dict.fromkeys((0, grid - 1) if grid else ())
    for facet in facets:
        if facet.when is None:
            found[facet] = "data" if facet.drivable else "unknown"
            continue
        search = Search(program, facet, tensors, {**env, GRID_SIZE.name: grid})
        with np.errstate(all="ignore"):
            # As few blocks as will do: those that are run anyway come first.
            place = search.among(np.array(list(chosen)[:16]), whole=False)
            if not isinstance(place, int):
                place = search.among(few, whole=few.size == grid)
            found[facet] = place
            if found[facet] == "unknown" and search.each * grid <= _CHEAP:
                found[facet] = search.everywhere(grid, rng, deadline)
        place = found[facet]
        if isinstance(place, int):
            chosen[place] = None
        elif place == "unknown":
            searches.append((facet, search))
    searches.sort(key=lambda x: not x[0].compares)
    for facet, search in searches:
        if now() > deadline:
            break
        with np.errstate(all="ignore"):
            place = search.among(np.array(list(chosen)[:16]), whole=False)
        if place == "unknown":
            place = search.solved(grid)
        if place == "unknown":
            with np.errstate(all="ignore"):
                place = search.everywhere(grid, rng, deadline)
        found[facet] = place
        if isinstance(place, int):
            chosen[place] = None
    return found


class Search:
    """One facet, for blocks at given sizes."""

    def __init__(
        self,
        program: Program,
        facet: Facet,
        tensors: Mapping[str, BlockTensor],
        env: Env,
    ) -> None:
        assert facet.when is not None
        self.program = program
        self.facet = facet
        self.when = facet.when
        self.tensors = tensors
        self.env = env
        self.loops = sum(isinstance(s, o.For) for s in facet.scope)
        self.rank = 1 + self.loops + len(facet.shape)
        wide = facet.decides and math.prod(facet.shape) > 64
        self.iterations = _ITERATIONS if wide else 8 * _ITERATIONS
        self.each = max(1, math.prod(facet.shape)) * self.iterations**self.loops

    def among(self, blocks: Array, *, whole: bool) -> Place:
        """One of the blocks that shows the facet; "never" if these are all."""
        try:
            shown, complete = self._shown(np.asarray(blocks, np.int64))
        except _Unknown:
            return "data"
        if shown is not None:
            return shown
        return "never" if (whole or self.uniform) and complete else "unknown"

    def everywhere(self, grid: int, rng: np.random.Generator, deadline: float) -> Place:
        """The same for all blocks, as far as time allows."""
        step = max(1, _AT_ONCE // self.each)
        if grid > step * _CHUNKS:
            return self._some(grid, step, rng, deadline)
        starts = np.arange(0, grid, step)
        rng.shuffle(starts)
        for start in starts:
            if now() > deadline:
                return "unknown"
            blocks = np.arange(start, min(grid, start + step))
            made = self.among(blocks, whole=True)
            if made != "never":
                return made
        return "never"

    def _some(
        self, grid: int, step: int, rng: np.random.Generator, deadline: float
    ) -> Place:
        """One of blocks drawn at random, of more than can be listed."""
        while now() <= deadline:
            start = int(rng.integers(grid))
            made = self.among(np.arange(start, min(grid, start + step)), whole=False)
            if made != "unknown":  # "never": what these show is the same for all
                return made
        return "unknown"

    def span(self, blocks: Array) -> tuple[Array, Array] | None:
        """Least and largest value in each block, by the ends of axes and loops.

        Of blocks that do not get there the least is more than the largest.
        """
        try:
            value, there, _ = self._evaluated(np.asarray(blocks, np.int64))
        except _Unknown:
            return None
        shape = np.broadcast_shapes(value.shape, there.shape, (1,) * self.rank)
        rest = tuple(range(1, self.rank))
        huge = np.int64(1) << 62
        least = np.where(there, value, huge) + np.zeros(shape, np.int64)
        most = np.where(there, value, -huge) + np.zeros(shape, np.int64)
        size = len(blocks)
        return (
            np.broadcast_to(least.min(axis=rest), (size,)),
            np.broadcast_to(most.max(axis=rest), (size,)),
        )

    def _shown(self, blocks: Array) -> tuple[int | None, bool]:
        """A block that shows the facet; whether all there is was evaluated."""
        value, holds, complete = self._evaluated(blocks)
        there = np.asarray(value.astype(np.bool_) & holds)
        self.each = max(1, there.size // len(blocks))
        # What is the same for these blocks is the same for all.
        self.uniform = _length(there) == 1 < len(blocks)
        if not there.any():
            return None, complete
        shape = np.broadcast_shapes(there.shape, (1,) * self.rank)
        spread = np.broadcast_to(there, shape)
        first = spread.any(axis=tuple(range(1, self.rank)))
        return int(blocks[int(np.argmax(first))]), complete

    def _evaluated(self, blocks: Array) -> tuple[Array, Array, bool]:
        """The condition's values [blocks, iterations .., axes ..] where it is reached.

        And whether all iterations were evaluated.
        """
        env: Env = dict(self.env)
        cluster = self.program.cluster
        env[BLOCK_INDEX.name] = self._along(blocks, 0)
        env[CLUSTER_RANK.name] = self._along(blocks % cluster, 0)
        holds: Any = np.True_
        complete, depth = True, 0
        for step in self.facet.scope:
            match step:
                case o.Let():
                    self._define(env, step.sym.name, step.value)
                case o.LoadScalar():
                    self._load(env, step)
                case o.For():
                    depth += 1
                    valid, all_iterations = self._iterations(env, step, depth)
                    holds = holds & valid
                    complete = complete and all_iterations
                case tuple():
                    cond, taken = step
                    value = self._maybe(cond, env)
                    if value is None:
                        complete = False  # whether it is reached is not known
                        continue
                    value = np.asarray(value, np.bool_)
                    holds = holds & (value if taken else ~value)
                case _:
                    assert_never(step)
        # Where accesses end, the corners of a tile show; they decide nothing.
        ends = not self.facet.decides
        for axis, extent in enumerate(self.facet.shape):
            counted = np.array([0, extent - 1]) if ends else np.arange(extent)
            env[f"%{axis}"] = self._along(counted, 1 + self.loops + axis)
        value = self._maybe(self.when, env)
        if value is None:
            raise _Unknown
        return np.asarray(value), np.asarray(holds), complete

    def _along(self, values: Array, axis: int) -> Array:
        shape = [1] * self.rank
        shape[axis] = -1
        return np.asarray(values, np.int64).reshape(shape)

    def _maybe(self, e: Expr, env: Env) -> Any:
        try:
            return evaluate(e, env)
        except (KeyError, ZeroDivisionError):
            return None

    def _define(self, env: Env, name: str, e: Expr) -> None:
        value = self._maybe(e, env)
        env.pop(name, None)
        if value is not None:
            env[name] = value

    def _load(self, env: Env, op: o.LoadScalar) -> None:
        tensor = self.tensors[op.tensor.name]
        at: Any = np.zeros((1,) * self.rank, np.int64)
        for e, extent in zip(op.coords, tensor.shape, strict=True):
            coord = self._maybe(e, env)
            if coord is None:
                return
            # Where the access is not reached its coordinate may be anything.
            at = at * extent + np.clip(coord, 0, extent - 1)
        env[op.sym.name] = tensor.read(np.asarray(at))

    def _iterations(self, env: Env, op: o.For, depth: int) -> tuple[Any, bool]:
        """Give a loop's variable values; where they are iterations; whether all are."""
        start, stop, step = (self._maybe(e, env) for e in (op.start, op.stop, op.step))
        for c in op.scalars:
            env.pop(c.arg.name, None)
        if start is None or stop is None or step is None:
            env.pop(op.var.name, None)
            return np.True_, False
        most = int(np.max(-(-(np.asarray(stop) - start) // step), initial=0))
        iterations = np.arange(max(most, 1))
        tried = self.iterations
        if most > tried:
            ends = np.concatenate(
                [iterations[: tried // 4], iterations[-(tried // 4) :]]
            )
            spread = np.linspace(0, most - 1, tried // 2).astype(np.int64)
            iterations = np.unique(np.concatenate([ends, spread]))
        value = start + step * self._along(iterations, depth)
        # The last iterations of each block, where blocks iterate differently often.
        env[op.var.name] = value
        return value < stop, most <= tried

    # -------------------------------------------------------------------- solving

    def solved(self, grid: int) -> Place:
        """What the verifier's procedures say."""
        known = {
            name: Const(int(value))
            for name, value in self.env.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }
        goal = goal_of(self.program, self.facet, known)
        if goal is None:
            return "unknown"
        model, impossible = decided(goal, grid)
        if impossible:
            return "never"
        if model is None:
            return "unknown"
        block = model.get(BLOCK_INDEX.name, 0)
        made = self.among(np.array([block]), whole=False)
        # Iterations of a loop in the middle are not among those that are evaluated.
        return made if made != "unknown" or not self.loops else block


def _length(values: Array) -> int:
    """Extent along blocks, which 1 stands for where it makes no difference."""
    return values.shape[0] if values.ndim else 1
