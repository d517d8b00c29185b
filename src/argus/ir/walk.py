"""Generic questions about operations: what they read, define and contain.

All follow from the types of the fields (:mod:`argus.ir.fields`); there is no list of
operations here. Each function raises ``FieldError`` for what is no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from argus.ir import fields as f
from argus.ir import ops as o
from argus.ir.expr import Expr, Sym


def blocks(op: o.AnyOp) -> tuple[o.Block, ...]:
    """Nested blocks of a structural operation, in order."""
    return f.BLOCKS.of(op)


def walk(block: o.Block) -> Iterator[o.AnyOp]:
    """Every operation, outer before inner, in program order."""
    for op in block.ops:
        yield op
        for inner in blocks(op):
            yield from walk(inner)


def map_blocks(op: o.AnyOp, change: Callable[[o.Block], o.Block]) -> o.AnyOp:
    """The operation with each nested block changed; itself, if it has none."""
    if isinstance(op, o.For):
        return replace(op, body=change(op.body))
    if isinstance(op, o.If):
        return replace(op, then=change(op.then), other=change(op.other))
    if isinstance(op, o.Roles):
        return replace(op, roles=[replace(r, body=change(r.body)) for r in op.roles])
    if blocks(op):
        raise TypeError(f"blocks of a {type(op).__name__}")
    return op


def loops(block: o.Block) -> Iterator[o.For]:
    """The loops in a block, those inside of others after these."""
    return (op for op in walk(block) if isinstance(op, o.For))


def lets(block: o.Block) -> dict[str, Expr]:
    """What named scalars are, by their names."""
    return {op.sym.name: op.value for op in walk(block) if isinstance(op, o.Let)}


def bodies(body: o.Block) -> list[tuple[str, o.Block]]:
    """What runs, by role; "block" is what all run before and after the roles."""
    found: list[tuple[str, o.Block]] = [("block", o.Block([]))]
    for op in body.ops:
        if isinstance(op, o.Roles):
            found += [(role.name, role.body) for role in op.roles]
        else:
            found[0][1].ops.append(op)
    return found


def budgets(body: o.Block) -> dict[o.Role, o.SetMaxRegisters]:
    """The operation that sets the budget of each role that begins with it.

    All warps of the role's warpgroups execute it, those that run no role, too.
    """
    return {
        role: first
        for op in body.ops
        if isinstance(op, o.Roles)
        for role in op.roles
        for first in role.body.ops[:1]
        if isinstance(first, o.SetMaxRegisters)
    }


def defined(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` defines in its own block (loop results, not loop arguments)."""
    return f.DEFINED.of(op)


def used(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` itself reads (not those its nested blocks read).

    For loops and branches: initial values, yielded values and branch results.
    """
    return f.USED.of(op)


def arguments(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` defines inside its nested blocks: the arguments of a loop."""
    return f.INNER_TILES.of(op)


def mentioned(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` names and does not read: of an annotation, or of a wait."""
    return f.MENTIONED_TILES.of(op)


def expressions(op: o.AnyOp) -> tuple[Expr, ...]:
    """Scalar expressions of ``op`` itself (plans and annotations excluded)."""
    return f.EXPRESSIONS.of(op)


def plan_expressions(op: o.AnyOp) -> tuple[Expr, ...]:
    """Scalar expressions of the plan of ``op``: coordinates and offsets of boxes."""
    return f.PLAN_EXPRESSIONS.of(op)


def mentioned_expressions(op: o.AnyOp) -> tuple[Expr, ...]:
    """Scalar expressions of an annotation."""
    return f.MENTIONED_EXPRESSIONS.of(op)


def bound(op: o.AnyOp) -> tuple[Sym, ...]:
    """Scalars that ``op`` gives a value in its own block."""
    return f.BOUND.of(op)


def inner_symbols(op: o.AnyOp) -> tuple[Sym, ...]:
    """Symbols that mean something inside ``op`` only.

    The variable and the arguments of a loop, those that stand for elements of index
    tiles in a view, and those for elements of tables in an assumption.
    """
    return f.INNER_SYMBOLS.of(op)
