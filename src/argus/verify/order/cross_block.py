"""Looks for elements that one block reads and another one writes, at small sizes.

The course of every block is followed with concrete sizes, and each access to one of the
tensors in question gives the set of elements that it surely touches. Finding nothing
proves nothing. What cannot be followed (tables, gathered rows, masks) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, axis, evaluate, holds, symbols
from argus.ir.memory import GlobalTensor, GlobalView
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, SM_COUNT, Program

__all__ = ["Clash", "clash"]

TRIES, BLOCKS, ITERATIONS, ELEMENTS = 40, 24, 4, 1 << 18
"""Sizes that are drawn; blocks of a grid and iterations of a loop that are followed;
elements of all tensors at all sizes.
"""
_STRIDE = 1 << 16
_FACTORS = (1, 2, 3, 5, 8, 17, 40, 80)


@dataclass(frozen=True)
class Clash:
    """``reader`` reads an element that ``writer`` (both are blocks) writes."""

    read: o.AnyOp
    write: o.AnyOp
    element: tuple[int, ...]
    reader: int
    writer: int
    sizes: dict[str, int]


def clash(program: Program, tensors: set[str]) -> list[Clash]:
    """The first clash of each reading operation, at the first sizes that have one."""
    rng = Random(0)
    found: dict[int, Clash] = {}
    left = ELEMENTS
    for _ in range(TRIES):
        env = _drawn(program, rng)
        if env is None or _elements(program, tensors, env) > ELEMENTS:
            continue
        for one in _at(program, tensors, env):
            found.setdefault(id(one.read), one)
        left -= _elements(program, tensors, env)
        if found or left <= 0:
            break
    return list(found.values())


def _elements(program: Program, tensors: set[str], env: dict[str, Any]) -> int:
    """Elements of these tensors together."""
    return sum(
        int(np.prod([int(evaluate(e, env)) for e in param.shape]))
        for param in program.params
        if isinstance(param, GlobalTensor) and param.name in tensors
    )


def _drawn(program: Program, rng: Random) -> dict[str, Any] | None:
    """Sizes that the program admits, with a few blocks."""
    env: dict[str, Any] = {SM_COUNT.name: 3 * program.cluster}
    for param in program.params:
        if not isinstance(param, GlobalTensor):
            env[param.sym.name] = 1.0 if param.dtype == "f32" else rng.choice(_FACTORS)
            continue
        for extent in (*param.shape, *param.strides):
            for sym in symbols(extent):
                known = program.facts.get(sym.name, 1)
                number = (
                    _STRIDE if sym.kind == "stride" else known * rng.choice(_FACTORS)
                )
                env.setdefault(sym.name, number)
    if not all(holds(r.cond, env) for r in program.requirements):
        return None
    try:
        grid = int(evaluate(program.grid, env))
    except ZeroDivisionError:
        return None
    env[GRID_SIZE.name] = grid
    return env if program.cluster < grid <= BLOCKS else None


def _at(program: Program, tensors: set[str], env: dict[str, Any]) -> Iterator[Clash]:
    reads: list[tuple[int, _Touch]] = []
    writes: list[tuple[int, _Touch]] = []
    for block in range(env[GRID_SIZE.name]):
        values = {
            **env,
            BLOCK_INDEX.name: block,
            CLUSTER_RANK.name: block % program.cluster,
        }
        course = _Course(tensors, values)
        course.follow(program.body)
        reads += ((block, x) for x in course.reads)
        writes += ((block, x) for x in course.writes)
    sizes = {k: v for k, v in env.items() if isinstance(v, int)}
    for name in tensors:
        mine = [(b, x) for b, x in writes if x.tensor == name]
        if not mine:
            continue
        # The first and the last block that writes each element.
        shape = mine[0][1].shape
        first = np.full(int(np.prod(shape)), 1 << 30)
        last = np.full(first.shape, -1)
        for block, x in mine:
            first[x.elements] = np.minimum(first[x.elements], block)
            last[x.elements] = np.maximum(last[x.elements], block)
        for block, x in reads:
            if x.tensor != name:
                continue
            low, high = first[x.elements], last[x.elements]
            others = np.flatnonzero((high >= 0) & ((low != block) | (high != block)))
            if not len(others):
                continue
            at = int(x.elements[others[0]])
            writer = int(low[others[0]] if low[others[0]] != block else high[others[0]])
            op = next(w.op for b, w in mine if b == writer and at in w.elements)
            element = tuple(int(i) for i in np.unravel_index(at, shape))
            yield Clash(x.op, op, element, block, writer, sizes)


@dataclass(frozen=True)
class _Touch:
    """An operation touches these elements (by their number) of a tensor."""

    op: o.AnyOp
    tensor: str
    shape: tuple[int, ...]
    elements: Any


class _Course:
    """What one block reads and writes of some tensors."""

    def __init__(self, tensors: set[str], env: dict[str, Any]) -> None:
        self.tensors = tensors
        self.env = env
        self.reads: list[_Touch] = []
        self.writes: list[_Touch] = []

    def follow(self, block: o.Block) -> None:
        """Go through operations; a loop that a table decides is passed by."""
        for op in block.ops:
            try:
                self._step(op)
            except (KeyError, ZeroDivisionError):
                continue

    def _step(self, op: o.AnyOp) -> None:
        match op:
            case o.Let():
                self.env[op.sym.name] = evaluate(op.value, self.env)
            case o.For():
                self._loop(op)
            case o.If():
                taken = bool(evaluate(op.cond, self.env))
                self.follow(op.then if taken else op.other)
                for merge in op.scalars:
                    value = merge.then if taken else merge.other
                    self.env[merge.result.name] = evaluate(value, self.env)
            case o.Roles():
                before = dict(self.env)
                for role in op.roles:
                    self.env = dict(before)
                    self.follow(role.body)
            case o.LoadScalar() if op.tensor.name in self.tensors:
                self._touch(self.reads, op, op.tensor, op.coords, {})
            case o.LoadGlobal() if op.mask is None:
                self._view(self.reads, op, op.view)
            case o.CopyAsync() if op.multicast == 1:
                self._view(self.reads, op, op.src)
            case o.StoreGlobal() if op.mask is None:
                self._view(self.writes, op, op.view)
            case o.CopyOut():
                self._view(self.writes, op, op.dst)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.CopyAsync() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def _loop(self, op: o.For) -> None:
        env = self.env
        start, stop, step = (
            int(evaluate(e, env)) for e in (op.start, op.stop, op.step)
        )
        scalars = [evaluate(c.init, env) for c in op.scalars]
        for value in range(start, stop, max(step, 1))[:ITERATIONS]:
            env[op.var.name] = value
            for carry, number in zip(op.scalars, scalars, strict=True):
                env[carry.arg.name] = number
            self.follow(op.body)
            scalars = [evaluate(c.yielded, env) for c in op.scalars]
        if len(range(start, stop, max(step, 1))) <= ITERATIONS:
            for carry, number in zip(op.scalars, scalars, strict=True):
                env[carry.result.name] = number
        else:
            for carry in op.scalars:
                env.pop(carry.result.name, None)

    def _view(self, into: list[_Touch], op: o.AnyOp, view: GlobalView) -> None:
        if view.tensor.name not in self.tensors or view.gathers:
            return
        axes = np.indices(view.shape)
        names = {axis(i).name: a for i, a in enumerate(axes)}
        keep = np.ones(view.shape, np.bool_)
        for limit in view.limits:
            value = evaluate(limit.value, {**self.env, **names})
            keep &= (value >= 0) & (value < evaluate(limit.extent, self.env))
        self._touch(into, op, view.tensor, view.coords, names, keep)

    def _touch(
        self,
        into: list[_Touch],
        op: o.AnyOp,
        tensor: GlobalTensor,
        coords: tuple[Expr, ...],
        names: Mapping[str, Any],
        keep: Any = True,
    ) -> None:
        shape = tuple(int(evaluate(e, self.env)) for e in tensor.shape)
        inside = np.asarray(keep)
        places: list[Any] = []
        for coord, extent in zip(coords, shape, strict=True):
            at = np.asarray(evaluate(coord, {**self.env, **names}))
            inside = inside & (at >= 0) & (at < extent)
            places.append(at)
        whole = np.broadcast_arrays(inside, *places)
        at = [p[whole[0]] for p in whole[1:]]
        flat = np.ravel_multi_index(tuple(at), shape)
        into.append(_Touch(op, tensor.name, shape, np.atleast_1d(flat)))
