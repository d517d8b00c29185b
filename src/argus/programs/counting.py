"""Sums in which a summand is counted once: what the verifier proves."""

from __future__ import annotations

from collections.abc import Iterator

from argus.programs.expressions import ApplyNode, ExpressionNode, NumberNode
from argus.programs.lowering import LoweredGroup, NotFusedError


def require_counted_once(group: LoweredGroup) -> None:
    """Raises NotFusedError for a sum of which a summand is the same along some columns.

    Of elements that are added once and counted many times nothing is proved.
    """
    columns, free = set(group.columns), group.pool.free
    for reduction in group.reductions:
        if reduction.function != "sum":
            continue
        along = free(reduction.body) & columns
        for summand in _summands(reduction.body):
            if not isinstance(summand, NumberNode) and not along <= free(summand):
                raise NotFusedError("a sum that counts what is repeated")


def _summands(node: ExpressionNode) -> Iterator[ExpressionNode]:
    match node:
        case ApplyNode(function="add" | "sub", parts=parts):
            for part in parts:
                yield from _summands(part)
        case ApplyNode(function="mul" | "div", parts=(first, NumberNode())):
            yield from _summands(first)
        case ApplyNode(function="cast", parts=(part,)):
            yield from _summands(part)
        case _:
            yield node
