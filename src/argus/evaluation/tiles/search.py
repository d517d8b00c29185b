"""A block in which a condition turns out in a given way, or that there is none.

The condition is evaluated for many blocks, turns of loops and elements at once: first
for few, then the verifier's procedures are asked, then for as many as time allows.
"never" is said only where all were evaluated, or where it is proved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np

from argus.evaluation.tiles.facets import Facet, Scope
from argus.evaluation.tiles.tensors import Tensor
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, binary, evaluate, substitute, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program
from argus.verify.decide import negate, prove
from argus.verify.verdict import Verdict

__all__ = ["Place", "Sizes", "other_sizes", "places", "writers"]

_CHEAP = 1 << 21
"""Elements up to which everything is evaluated before a solver is asked."""
_AT_ONCE = 1 << 19
"""Elements that are evaluated at once."""
_TURNS = 32
"""Turns of a loop that are tried, where it turns more often."""
_SOLVER_MS = 250

Place = int | Literal["never", "data", "unknown"]
Env = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Sizes at which a condition turns out in a given way, and a block of them."""

    sizes: Mapping[str, int]
    block: int


class _Unknown(Exception):  # noqa: N818 - a result, not a fault
    """The condition depends on what is not known before the block runs."""


def places(
    program: Program,
    facets: Sequence[Facet],
    tensors: Mapping[str, Tensor],
    env: Mapping[str, int | float],
    deadline: float,
) -> dict[Facet, Place]:
    """For each facet a block that shows it; "never" if there is none.

    ``env`` gives sizes, strides, scalars and ``sm_count``. "data" where it depends on
    what a block reads or counts, "unknown" where nothing was found before ``deadline``
    (of `time.monotonic`).
    """
    grid = int(evaluate(program.grid, env))
    rng = np.random.default_rng(grid)
    few = np.unique([0, 1, grid // 2, grid - 1, *rng.integers(0, grid, 12)])
    few = few[few < grid]
    found: dict[Facet, Place] = {}
    searches: list[tuple[Facet, _Search]] = []
    chosen: dict[int, None] = {}
    for facet in facets:
        if facet.when is None:
            found[facet] = "data" if facet.drivable else "unknown"
            continue
        search = _Search(program, facet, tensors, {**env, GRID_SIZE.name: grid})
        with np.errstate(all="ignore"):
            # As few blocks as will do: those that are run anyway come first.
            place: Place = "unknown"
            if chosen:
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
        if time.monotonic() > deadline:
            break
        place = "unknown"
        if chosen:
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


def writers(
    program: Program,
    tensors: Mapping[str, Tensor],
    env: Mapping[str, int | float],
    wanted: Mapping[str, Array],
) -> Array:
    """Blocks that may write one of the elements: flat indices by output.

    By the corners of what each block stores, so that where a coordinate is no sum of
    products some may be missing, and others too many.
    """
    grid = int(evaluate(program.grid, env))
    found = np.zeros(grid, np.bool_)
    for op, scope in stores(program):
        view = op.dst if isinstance(op, o.CopyOut) else op.view
        at = wanted.get(view.tensor.name)
        if at is None or not at.size:
            continue
        shape = tensors[view.tensor.name].shape
        places = np.unravel_index(at, shape)
        inside = np.ones(grid, np.bool_)
        for coord, extent, place in zip(view.coords, shape, places, strict=True):
            facet = Facet(op, "", "", scope, coord, view.shape, decides=False)
            search = _Search(program, facet, tensors, {**env, GRID_SIZE.name: grid})
            with np.errstate(all="ignore"):
                span = search.span(np.arange(grid))
            if span is None:
                continue
            least, most = span
            inside &= (least <= place.max()) & (most >= place.min()) & (least < extent)
        found |= inside
    return np.flatnonzero(found)


def stores(program: Program) -> list[tuple[o.StoreGlobal | o.CopyOut, Scope]]:
    """Stores to global memory, and what is known there."""
    found: list[tuple[o.StoreGlobal | o.CopyOut, Scope]] = []

    def visit(block: o.Block, scope: Scope) -> None:
        for op in block.ops:
            match op:
                case o.StoreGlobal() | o.CopyOut():
                    found.append((op, scope))
                case o.Let() | o.LoadScalar():
                    scope = (*scope, op)
                case o.For():
                    visit(op.body, (*scope, op))
                case o.If():
                    visit(op.then, (*scope, (op.cond, True)))
                    visit(op.other, (*scope, (op.cond, False)))
                case o.Roles():
                    for role in op.roles:
                        visit(role.body, scope)
                case (
                    o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)

    visit(program.body, ())
    return found


class _Search:
    """One facet, for blocks at given sizes."""

    def __init__(
        self, program: Program, facet: Facet, tensors: Mapping[str, Tensor], env: Env
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
        self.turns = _TURNS if wide else 8 * _TURNS
        self.each = max(1, math.prod(facet.shape)) * self.turns**self.loops

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
        starts = np.arange(0, grid, step)
        rng.shuffle(starts)
        for start in starts:
            if time.monotonic() > deadline:
                return "unknown"
            blocks = np.arange(start, min(grid, start + step))
            made = self.among(blocks, whole=True)
            if made != "never":
                return made
        return "never"

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
        """Values of the condition [blocks, turns .., axes ..], where they are reached.

        And whether all turns were evaluated.
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
                    valid, all_turns = self._turns(env, step, depth)
                    holds = holds & valid
                    complete = complete and all_turns
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

    def _turns(self, env: Env, op: o.For, depth: int) -> tuple[Any, bool]:
        """Give a loop's variable values; where they are turns; whether all are."""
        start, stop, step = (self._maybe(e, env) for e in (op.start, op.stop, op.step))
        for c in op.scalars:
            env.pop(c.arg.name, None)
        if start is None or stop is None or step is None:
            env.pop(op.var.name, None)
            return np.True_, False
        most = int(np.max(-(-(np.asarray(stop) - start) // step), initial=0))
        turns = np.arange(max(most, 1))
        tried = self.turns
        if most > tried:
            ends = np.concatenate([turns[: tried // 4], turns[-(tried // 4) :]])
            spread = np.linspace(0, most - 1, tried // 2).astype(np.int64)
            turns = np.unique(np.concatenate([ends, spread]))
        value = start + step * self._along(turns, depth)
        # The last turns of each block, where blocks turn differently often.
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
        goal = _goal(self.program, self.facet, known)
        if goal is None:
            return "unknown"
        model, impossible = _decided(goal, grid)
        if impossible:
            return "never"
        if model is None:
            return "unknown"
        block = model.get(BLOCK_INDEX.name, 0)
        made = self.among(np.array([block]), whole=False)
        # Turns of a loop in the middle are not among those that are evaluated.
        return made if made != "unknown" or not self.loops else block


def _length(values: Array) -> int:
    """Extent along blocks, which 1 stands for where it makes no difference."""
    return values.shape[0] if values.ndim else 1


Goal = tuple[Expr, list[Expr]]


def _goal(program: Program, facet: Facet, known: Mapping[str, Expr]) -> Goal | None:
    """The condition over blocks, turns and axes, and what is known of these."""
    assert facet.when is not None
    meaning: dict[str, Expr] = dict(known)
    block = BLOCK_INDEX
    meaning[CLUSTER_RANK.name] = binary("%", block, program.cluster)
    given: list[Expr] = []
    for step in facet.scope:
        match step:
            case o.Let():
                meaning[step.sym.name] = substitute(step.value, meaning)
            case o.LoadScalar():
                meaning.pop(step.sym.name, None)
            case o.For():
                start, stop, by = (
                    substitute(e, meaning) for e in (step.start, step.stop, step.step)
                )
                turn = Sym(f"turn_{step.var.name}", "loop")
                value = binary("+", start, binary("*", turn, by))
                meaning[step.var.name] = value
                given += [binary(">=", turn, 0), binary("<", value, stop)]
            case tuple():
                cond, taken = step
                made = substitute(cond, meaning)
                given.append(made if taken else negate(made))
            case _:
                assert_never(step)
    axes = {f"%{i}": Sym(f"axis_{i}", "loop") for i in range(len(facet.shape))}
    for i, extent in enumerate(facet.shape):
        given.append(binary("<", axes[f"%{i}"], extent))
    goal = substitute(substitute(facet.when, meaning), axes)
    free = {s.name for e in (goal, *given) for s in symbols(e)}
    own = {block.name, *(s.name for s in axes.values())}
    own |= {s.name for e in given for s in symbols(e) if s.name.startswith("turn_")}
    dims = {s.name for e in (goal, *given) for s in symbols(e) if s.kind == "dim"}
    return (goal, given) if free <= own | dims else None


def _decided(goal: Goal, grid: int | Expr) -> tuple[dict[str, int] | None, bool]:
    """Values for which a condition holds; whether there are none."""
    condition, given = goal
    inside = [binary(">=", BLOCK_INDEX, 0), binary("<", BLOCK_INDEX, grid), *given]
    try:
        made = prove(negate(condition), inside, timeout_ms=_SOLVER_MS)
    except (ZeroDivisionError, ValueError, TypeError):
        return None, False
    if made.verdict is Verdict.PROVED:
        return None, True
    return made.model if made.verdict is Verdict.REFUTED else None, False


def other_sizes(
    program: Program,
    facet: Facet,
    known: Mapping[str, int],
    free: Mapping[str, tuple[int, int]],
) -> Sizes | None:
    """Sizes at which a facet is there, where those of the problem never show it.

    ``known``: what stays, by name; ``free``: a divisor and the largest value of each
    size that may change. None where none was found.
    """
    meaning = {name: Const(value) for name, value in known.items()}
    goal = _goal(program, facet, meaning)
    if goal is None:
        return None
    condition, given = goal
    dims = {s.name for e in (condition, *given) for s in symbols(e) if s.kind == "dim"}
    if not dims or not dims <= free.keys():
        return None
    own = [*given]
    for name, (step, most) in free.items():
        sym = Sym(name, "dim")
        own.append(binary("<=", sym, most))
        own.append(binary(">=", sym, 1))
        if step > 1:
            own.append(binary("==", binary("%", sym, step), 0))
    own += [substitute(r.cond, meaning) for r in program.requirements]
    grid = substitute(program.grid, meaning)
    if any(s.name not in free for s in symbols(grid)):
        return None
    model, _ = _decided((condition, own), grid)
    if model is None:
        return None
    sizes = {name: int(model.get(name, step)) for name, (step, _) in free.items()}
    return Sizes(sizes, int(model.get(BLOCK_INDEX.name, 0)))
