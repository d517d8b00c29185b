"""Loops of blocks that take one tile after another, at a stride of the grid.

    i = ag.block(132)                        i = ag.block(ag.min(tiles, 132))
    for t in ag.range(i, tiles, 132):        for t in ag.range(i, tiles, 132):

The lemma, for G blocks, S >= 1 and i in [0, G): where G is S, ``i + j*S`` with j >= 0
is division with remainder, and so each t in [0, tiles) is that of one block and
iteration. Where G is ``min(tiles, S)``, it is S, or it is all tiles and j is 0. Nothing
else in the program may say which block this is, and loops carry no tile: then only t
matters.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, symbols
from argus.ir.program import BLOCK_INDEX, Program
from argus.ir.walk import expressions, walk
from argus.verify.denotation.state import Context
from argus.verify.denotation.tile_order import resolved

__all__ = ["strided"]


def strided(context: Context) -> frozenset[o.For]:
    """The loops by which the blocks of a program share out its tiles; none: others."""
    program, lets = context.program, context.buffers.lets
    found: list[o.For] = []
    for op in walk(program.body):
        if isinstance(op, o.Let):
            continue  # what it names is looked at where it is used
        said = expressions(op)
        if isinstance(op, o.For) and resolved(op.start, lets) == BLOCK_INDEX:
            found.append(op)
            said = tuple(e for e in said if e is not op.start)
        if any(BLOCK_INDEX in symbols(resolved(e, lets)) for e in said):
            return frozenset()
    inner = {x for op in found for x in walk(op.body)}
    shares = (_shares_out(program, op, resolved(op.stop, lets)) for op in found)
    if program.cluster != 1 or not inner.isdisjoint(found) or not all(shares):
        return frozenset()
    same = {(resolved(op.stop, lets), op.step) for op in found}
    return frozenset(found) if len(same) == 1 else frozenset()


def _shares_out(program: Program, op: o.For, tiles: Expr) -> bool:
    """Whether the blocks of a grid take each of so many tiles once."""
    if op.tiles or not isinstance(op.step, Const):
        return False
    grid = program.grid
    if isinstance(grid, Binary) and grid.op == "min":
        return {grid.left, grid.right} == {tiles, op.step}
    return grid == op.step
