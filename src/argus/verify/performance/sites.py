"""Memory accesses of a placed program, each with a value for every scalar.

Counting wavefronts and sectors needs concrete addresses. What they depend on is chosen
here, and said here: sizes are large multiples of what the specialisation knows, rows
are as far apart as the least alignment that it knows allows, every loop is at its first
iteration, every block index 0, run-time tables hold 0. Shared addresses hardly depend
on any of it (`bank_conflicts.py` tries all places that a view can have); for global
ones the numbers are those of an inner tile of a large problem.

Executes nothing, proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, evaluate, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam

__all__ = ["Access", "Site", "sites"]

Access = o.LoadGlobal | o.StoreGlobal | o.LoadShared | o.StoreShared | o.CopyAsync

LARGE = 8192
"""Extent of a dimension, where the kernel's requirements allow it."""
_MOST_ELEMENTS = 1 << 48
"""Of a tensor: offsets, and their sums, are numbers of 64 bits."""


@dataclass(frozen=True)
class Site:
    """An access, the role that does it ("block" outside roles), values of scalars."""

    op: Access
    role: str
    env: Mapping[str, Any]


def sites(program: Program) -> Iterator[Site]:
    """Every access by vectors or matrices of a placed program, in program order.

    TMA copies are not among them: hardware makes their addresses.
    """
    yield from _block(program.body, "block", _arguments(program))


def _block(block: o.Block, role: str, env: dict[str, Any]) -> Iterator[Site]:
    for op in block.ops:
        match op:
            case o.For():
                env[op.var.name] = _value(op.start, env)
                for c in op.scalars:
                    env[c.arg.name] = _value(c.init, env)
                yield from _block(op.body, role, env)
                for c in op.scalars:
                    env[c.result.name] = _value(c.init, env)
            case o.If():
                yield from _block(op.then, role, env)
                yield from _block(op.other, role, env)
                for m in op.scalars:
                    env[m.result.name] = _value(m.then, env)
            case o.Roles():
                for part in op.roles:
                    yield from _block(part.body, part.name, dict(env))
            case o.Let():
                env[op.sym.name] = _value(op.value, env)
            case o.LoadScalar() | o.Extract():
                env[op.sym.name] = 0
            case (
                o.LoadGlobal()
                | o.StoreGlobal()
                | o.LoadShared()
                | o.StoreShared()
                | o.CopyAsync()
            ):
                yield Site(op, role, dict(env))
            case (
                o.RegisterOp() | o.Dot() | o.CopyOut() | o.Synchronisation()
                | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def _value(e: Expr, env: Mapping[str, Any]) -> Any:
    """The value of a scalar; 0 where a table that holds 0 would be divided by."""
    try:
        return evaluate(e, env)
    except ZeroDivisionError:
        return 0


def _arguments(program: Program) -> dict[str, Any]:
    """Sizes, strides and scalars of a large problem that the kernel accepts."""
    env: dict[str, Any] = {
        "block_x": 0,
        "grid_x": 1 << 16,
        "cluster_rank": 0,
        "sm_count": 132,
    }
    tensors = [p for p in program.params if isinstance(p, GlobalTensor)]
    for param in program.params:
        if isinstance(param, ScalarParam):
            env[param.name] = env[param.sym.name] = 1
    extents = {s.name: s for t in tensors for s in t.shape if isinstance(s, Sym)}
    for name in extents:
        env[name] = LARGE
    for tensor in tensors:
        _fit(tensor, env, set(extents))
    _shrink(program, env, set(extents))
    for tensor in tensors:
        _strides(program, tensor, env)
    return env


def _fit(tensor: GlobalTensor, env: dict[str, Any], extents: set[str]) -> None:
    """Make dimensions smaller until offsets into the tensor are small numbers."""
    names = sorted({s.name for e in tensor.shape for s in symbols(e)} & extents)
    while prod(int(evaluate(e, env)) for e in tensor.shape) > _MOST_ELEMENTS and names:
        largest = max(names, key=lambda n: env[n])
        env[largest] //= 2


def _shrink(program: Program, env: dict[str, Any], extents: set[str]) -> None:
    """Make dimensions smaller until what is required of them holds."""
    for _ in range(64):
        broken = [
            r.cond
            for r in program.requirements
            if not _satisfied(r.cond, env)
            and extents & {s.name for s in symbols(r.cond)}
        ]
        if not broken:
            return
        names = extents & {s.name for s in symbols(broken[0])}
        largest = max(sorted(names), key=lambda n: env[n])
        if env[largest] <= 1:
            return
        env[largest] //= 2


def _satisfied(cond: Expr, env: Mapping[str, Any]) -> bool:
    """Whether a requirement holds; one about what is chosen later counts as holding."""
    try:
        return bool(evaluate(cond, env))
    except (KeyError, ZeroDivisionError):
        return True


def _strides(program: Program, tensor: GlobalTensor, env: dict[str, Any]) -> None:
    """Rows as far apart as is needed, at the least alignment that is known."""
    for axis, stride in enumerate(tensor.strides):
        if isinstance(stride, Const):
            continue
        inner = prod(int(evaluate(e, env)) for e in tensor.shape[axis + 1 :])
        for s in symbols(stride):
            known = program.facts.get(s.name, 1)
            steps = -(-inner // known)
            # An odd number of steps: aligned to what is known and to no more.
            env[s.name] = (steps + 1 - steps % 2) * known
