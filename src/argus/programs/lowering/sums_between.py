"""Sums of which tables say where they begin and end: of groups of rows (experts)."""

from __future__ import annotations

from dataclasses import dataclass

from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    NumberNode,
    PositionNode,
    ReduceNode,
    flattened,
)
from argus.programs.tensors.affine import Affine


@dataclass(frozen=True)
class Between:
    """Indices of a loop that are summed: from one number of tables up to another."""

    loop: str
    low: ElementNode
    high: ElementNode


def summed_between(body: ExpressionNode) -> tuple[ExpressionNode, Between | None]:
    """What is summed, and of which indices that is not 0; None: of all."""
    match body:
        case ApplyNode(
            function="where",
            parts=(
                ApplyNode(
                    function="and",
                    parts=(
                        ApplyNode(function="ge", parts=(PositionNode() as at, low)),
                        ApplyNode(function="lt", parts=(below, high)),
                    ),
                ),
                inner,
                NumberNode(value=0.0),
            ),
        ) if at is below and isinstance(low, ElementNode):
            if isinstance(high, ElementNode) and len(at.index.terms) == 1:
                ((loop, step),) = at.index.terms
                if at.index == Affine.loop(loop) and step == 1:
                    return inner, Between(loop, low, high)
        case _:
            pass
    return body, None


def summands(reduction: ReduceNode) -> list[ExpressionNode]:
    """What a sum adds up at each step."""
    return list(flattened(summed_between(reduction.body)[0], "add"))
