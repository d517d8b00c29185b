"""Concrete sizes that realise trip counts, within what a program requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.ir import ops as o
from argus.ir.expr import Expr, Sym, evaluate, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, SM_COUNT, Program
from argus.verify.order.control import Control, has_events

__all__ = ["Sizes", "trips"]

Table = Callable[[str, tuple[int, ...]], int]
_TRIES = (16, 128, 64, 256, 1, 32, 512, 1024, 0)
_STRIDE = 1 << 16


class Sizes:
    """Which sizes are varied, and values for all symbols given their trip counts.

    ``varied``: innermost first. ``loops``: the loops that each of them decides.
    """

    def __init__(self, program: Program, control: Control) -> None:
        self.program = program
        self.control = control
        self.loops: dict[str, list[o.For]] = {}
        self.fixed: dict[str, int | float] = {}
        self._classes()
        self._defaults()

    def _classes(self) -> None:
        """One size for each set of loops: the others stay at one turn's worth."""
        influence: dict[str, frozenset[o.For]] = {}
        for size in sorted(self.control.sizes):
            loops = frozenset(
                op for op, sizes in self.control.loops.items() if size in sizes
            )
            influence[size] = loops
        chosen: dict[frozenset[o.For], str] = {}
        self.together: dict[str, list[str]] = {}
        for size, loops in influence.items():
            if loops in chosen:
                self.together[chosen[loops]].append(size)
            else:
                chosen[loops] = size
                self.together[size] = []

        def depth(size: str) -> int:
            return max((self.control.depth[op] for op in influence[size]), default=0)

        order = sorted(chosen.values(), key=lambda s: (-depth(s), s))
        self.varied = tuple(order)
        for size in order:
            # A loop that a more deeply nested size decides, too, is that one's.
            self.loops[size] = [
                op for op in influence[size] if self.control.depth[op] == depth(size)
            ]

    def _defaults(self) -> None:
        program = self.program
        for param in program.params:
            if isinstance(param, GlobalTensor):
                for extent in (*param.shape, *param.strides):
                    for sym in symbols(extent):
                        self._default(sym)
            elif param.dtype == "f32":
                self.fixed[param.sym.name] = 1.0
            else:
                self._default(param.sym)
        self.fixed[SM_COUNT.name] = program.cluster

    def _default(self, sym: Sym) -> None:
        if sym.kind == "stride":
            self.fixed.setdefault(sym.name, _STRIDE)
        else:
            unit = self.control.units.get(sym.name)
            self.fixed.setdefault(sym.name, unit if unit is not None else 16)

    def environment(self, chosen: Mapping[str, int]) -> dict[str, int | float] | None:
        """Values of all symbols; None when the program does not admit these sizes."""
        env = dict(self.fixed)
        for size, turns in chosen.items():
            unit = self.control.units.get(size, 1)
            env[size] = unit * turns
            if self.diagonal(size):
                for other in self.together[size]:
                    env[other] = self.control.units.get(other, 1) * max(turns, 1)
        free = [n for n in self.fixed if n not in chosen and n != SM_COUNT.name]
        return env if self._admit(env, free) else None

    def diagonal(self, size: str) -> bool:
        """Whether sizes that decide the same loops have to grow together.

        So it is when a loop's course depends on the block, too: a bound that is the
        least of several.
        """
        return any(
            isinstance(e, Expr) and _has_min(e)
            for op in self._bodies()
            for e in _bounds(op)
        ) and bool(self.together[size])

    def _bodies(self) -> list[o.AnyOp]:
        from argus.ir.walk import walk

        return [op for op in walk(self.program.body) if isinstance(op, o.For | o.Let)]

    def _admit(self, env: dict[str, int | float], free: list[str]) -> bool:
        for _ in range(3):
            failing = [
                r for r in self.program.requirements if not evaluate(r.cond, env)
            ]
            if not failing:
                return True
            for requirement in failing:
                self._mend(requirement.cond, env, free)
        return all(evaluate(r.cond, env) for r in self.program.requirements)

    def _mend(self, cond: Expr, env: dict[str, int | float], free: list[str]) -> None:
        for sym in symbols(cond):
            if sym.name not in free or evaluate(cond, env):
                continue
            old = env[sym.name]
            for value in _TRIES:
                env[sym.name] = value
                if evaluate(cond, env):
                    break
            else:
                env[sym.name] = old


def _has_min(e: Expr) -> bool:
    from argus.ir.expr import Binary, Select

    match e:
        case Binary():
            return e.op == "min" or _has_min(e.left) or _has_min(e.right)
        case Select():
            return True
        case _:
            return False


def _bounds(op: o.AnyOp) -> tuple[Expr, ...]:
    match op:
        case o.For():
            return (op.start, op.stop)
        case o.Let():
            return (op.value,)
        case _:
            return ()


def trips(
    program: Program,
    env: Mapping[str, int | float],
    block: int,
    rank: int,
    table: Table,
) -> object:
    """The course of a block: turns of each loop, branches taken, nested as they are."""
    values = {
        **env,
        BLOCK_INDEX.name: block,
        CLUSTER_RANK.name: rank,
        GRID_SIZE.name: env[GRID_SIZE.name],
    }
    return _course(program.body, values, table)


def _course(block: o.Block, env: dict[str, int | float], table: Table) -> object:
    found: list[object] = []
    for op in block.ops:
        match op:
            case o.Let():
                env[op.sym.name] = evaluate(op.value, env)
            case o.LoadScalar():
                coords = tuple(int(evaluate(c, env)) for c in op.coords)
                env[op.sym.name] = table(op.tensor.name, coords)
            case o.For():
                if has_events(op.body):
                    found.append(_turns(op, env, table))
                else:
                    for carry in op.scalars:
                        env[carry.result.name] = evaluate(carry.init, env)
            case o.If():
                taken = bool(evaluate(op.cond, env))
                found.append(
                    (taken, _course(op.then if taken else op.other, env, table))
                )
                for merge in op.scalars:
                    value = evaluate(merge.then if taken else merge.other, env)
                    env[merge.result.name] = value
            case o.Roles():
                found += [_course(r.body, dict(env), table) for r in op.roles]
            case _:
                pass
    return tuple(found)


def _turns(op: o.For, env: dict[str, int | float], table: Table) -> object:
    start, stop, step = (int(evaluate(e, env)) for e in (op.start, op.stop, op.step))
    scalars = [evaluate(c.init, env) for c in op.scalars]
    found: list[object] = []
    for value in range(start, stop, max(step, 1)):
        env[op.var.name] = value
        for carry, number in zip(op.scalars, scalars, strict=True):
            env[carry.arg.name] = number
        found.append(_course(op.body, env, table))
        scalars = [evaluate(c.yielded, env) for c in op.scalars]
    for carry, number in zip(op.scalars, scalars, strict=True):
        env[carry.result.name] = number
    return tuple(found)
