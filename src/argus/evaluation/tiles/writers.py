"""Which blocks store an element: by the corners of what each block stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import numpy as np

from argus.evaluation.tiles.endings import NotExecutable
from argus.evaluation.tiles.facet import Facet, Scope
from argus.evaluation.tiles.search import Search
from argus.evaluation.tiles.tensors import BlockTensor
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE, Program

__all__ = ["stores", "writers"]

_MOST = 1 << 24
"""Blocks of a grid that are looked through."""
_AT_ONCE = 1 << 16
"""Blocks whose corners are held at a time."""


def writers(
    program: Program,
    tensors: Mapping[str, BlockTensor],
    env: Mapping[str, int | float],
    wanted: Mapping[str, Array],
) -> Array:
    """Blocks that may write one of the elements: flat indices by output.

    By the corners of what each block stores, so that where a coordinate is no sum of
    products some may be missing, and others too many. Raises NotExecutable for a grid
    of more blocks than are looked through.
    """
    grid = int(evaluate(program.grid, env))
    if grid > _MOST:
        raise NotExecutable(f"{program.name} has {grid} blocks, more than {_MOST}")
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
            search = Search(program, facet, tensors, {**env, GRID_SIZE.name: grid})
            for start in range(0, grid, _AT_ONCE):
                blocks = np.arange(start, min(grid, start + _AT_ONCE))
                with np.errstate(all="ignore"):
                    span = search.span(blocks)
                if span is None:
                    break
                least, most = span
                there = (least <= place.max()) & (most >= place.min())
                inside[blocks] &= there & (least < extent)
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
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                    | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)

    visit(program.body, ())
    return found
