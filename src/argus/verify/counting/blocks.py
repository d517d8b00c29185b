"""Blocks with operations changed; what has not changed stays the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from argus.ir import ops as o
from argus.ir.walk import blocks, map_blocks

__all__ = ["changed", "within"]


def changed(block: o.Block, change: Callable[[o.AnyOp], Iterable[o.AnyOp]]) -> o.Block:
    """A block with others in the place of each operation."""
    ops = [new for op in block.ops for new in change(op)]
    same = len(ops) == len(block.ops) and all(
        a is b for a, b in zip(ops, block.ops, strict=True)
    )
    return block if same else replace(block, ops=ops)


def within(op: o.AnyOp, change: Callable[[o.Block], o.Block]) -> o.AnyOp:
    """An operation with its nested blocks changed, once each and in order."""
    before = blocks(op)
    after = [change(b) for b in before]
    if all(a is b for a, b in zip(after, before, strict=True)):
        return op
    made = iter(after)
    return map_blocks(op, lambda _: next(made))
