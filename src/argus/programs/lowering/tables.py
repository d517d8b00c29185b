"""Elements that tables choose: along which axes, and what is assumed of the tables."""

from __future__ import annotations

from collections.abc import Sequence

from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    NumberNode,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.lowering.lowering import LoweredGroup


def scalar_index(node: ExpressionNode) -> bool:
    """Whether a position without an axis can be written: a number, or an element."""
    if isinstance(node, ElementNode):
        return not node.borders and not node.tables
    return isinstance(node, NumberNode)


def chooses(element: ElementNode, axes: Sequence[str], group: LoweredGroup) -> bool:
    """Whether the tables of an element can be walked in tiles with these axes.

    The index of an access has one axis, or none where it is one number.
    """
    taken = element.offset.loops & set(axes)
    for table in element.tables:
        if any(isinstance(n, ReduceNode | ScanNode) for n in walked([table.index])):
            return False
        own = group.pool.free(table.index) & set(axes)
        if own & taken or len(own) > 1 or not (own or scalar_index(table.index)):
            return False
        taken |= own
    return True


def table_in_memory(element: ElementNode) -> bool:
    """Whether positions are read from memory, and not made of loop indices alone."""
    nodes = walked([t.index for t in element.tables])
    return any(isinstance(n, ElementNode) for n in nodes)


def assumed_of(index: ExpressionNode) -> tuple[ElementNode, bool] | None:
    """The table whose numbers torch requires to lie inside, for positions from it.

    True: they may count from the end, and are below 0 then. None: no table that the
    kernel reads has them.
    """
    match index:
        case ElementNode(borders=(), tables=()):
            return index, False
        case ApplyNode(
            function="where",
            parts=(
                ApplyNode(function="lt", parts=(below, NumberNode(value=0))),
                ApplyNode(function="add", parts=(moved, NumberNode())),
                ElementNode(borders=(), tables=()) as table,
            ),
        ) if below is table and moved is table:
            return table, True
        case _:
            return None
