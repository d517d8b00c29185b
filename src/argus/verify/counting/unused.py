"""Scalars that nothing asks for any more, and branches that choose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from argus.ir import ops as o
from argus.ir.expr import Expr, symbols
from argus.ir.walk import (
    expressions,
    mentioned_expressions,
    plan_expressions,
    walk,
)
from argus.verify.counting.blocks import changed, within

__all__ = ["without_unused"]


def without_unused(block: o.Block, names: AbstractSet[str]) -> o.Block:
    """A block without the scalars among ``names`` that nothing asks for."""
    while True:
        unused = names - _used(block)
        made = _without(block, unused)
        if made is block:
            return block
        block = made


def _used(block: o.Block) -> set[str]:
    asked = (e for op in walk(block) for e in _asked(op))
    return {s.name for e in asked for s in symbols(e)}


def _asked(op: o.AnyOp) -> Iterator[Expr]:
    yield from expressions(op)
    yield from plan_expressions(op)
    yield from mentioned_expressions(op)


def _without(block: o.Block, unused: AbstractSet[str]) -> o.Block:
    return changed(block, lambda op: _kept(op, unused))


def _kept(op: o.AnyOp, unused: AbstractSet[str]) -> tuple[o.AnyOp, ...]:
    """What is left of an operation."""
    if isinstance(op, o.Binding) and op.sym.name in unused:
        return ()
    op = within(op, lambda b: _without(b, unused))
    if not isinstance(op, o.If):
        return (op,)
    if any(m.result.name in unused for m in op.scalars):
        kept = [m for m in op.scalars if m.result.name not in unused]
        op = replace(op, scalars=kept)
    chooses = op.then.ops or op.other.ops or op.scalars or op.tiles
    return (op,) if chooses else ()
