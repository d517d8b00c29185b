"""What the verifier proves: sums that are counted once and fit, and few decisions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeGuard

from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    NumberNode,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.tensors.recorder import COMPARISONS

_DECISIONS = 2
"""Comparisons of floats, or truths, that what another one compares may depend on."""


def require_provable(group: LoweredGroup) -> None:
    """Raises NotFusedError for what is proved of several kernels, and not of one."""
    _require_counted_once(group)
    _require_bounded_scans(group)
    _require_whole_rests(group)
    _require_stored_shares(group)
    _require_few_decisions(group)


def _require_counted_once(group: LoweredGroup) -> None:
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


def _require_bounded_scans(group: LoweredGroup) -> None:
    """Raises NotFusedError for a product of whole numbers beside a running sum.

    That a scan goes on from one tile to the next is proved by its reference, and of
    products that no size bounds nothing is proved so.
    """
    if not group.scans:
        return
    for node in group.nodes:
        match node:
            case ApplyNode(function="mul", parts=parts) if node.dtype.kind == "int":
                if not any(isinstance(p, NumberNode) for p in parts):
                    raise NotFusedError("a product beside a scan of whole numbers")
            case _:
                continue


def _require_whole_rests(group: LoweredGroup) -> None:
    """Raises NotFusedError for quotients and rests of whole numbers that are added up.

    They are known of numbers that are read, or made of such; a sum is stored first.
    """
    for node in group.nodes:
        match node:
            case ApplyNode(function="mod" | "floordiv", parts=parts):
                if node.dtype.kind == "int" and any(
                    isinstance(inner, ReduceNode | ScanNode)
                    and inner.dtype.kind == "int"
                    for inner in walked(parts)
                ):
                    raise NotFusedError("what is left of a sum of whole numbers")
            case _:
                continue


def _require_stored_shares(group: LoweredGroup) -> None:
    """Raises NotFusedError where an extreme of what sums made is compared with that.

    Which of the shares of a softmax are the largest, for one: they are stored first.
    """
    for node in group.nodes:
        if not isinstance(node, ApplyNode) or node.function not in COMPARISONS:
            continue
        for extreme in walked(node.parts):
            if isinstance(extreme, ReduceNode) and extreme.function in ("max", "min"):
                inner = (n for n in walked([extreme.body]) if isinstance(n, ReduceNode))
                if any(n.function == "sum" for n in inner):
                    raise NotFusedError("an extreme of what sums made, compared")


def _require_few_decisions(group: LoweredGroup) -> None:
    """Raises NotFusedError for decisions that depend on many others.

    Of a neuron that fires above a threshold, step by step, each step has two cases for
    each of the step before: what it holds after a few of them is stored.
    """
    for node in group.nodes:
        if not _decides(node):
            continue
        before = (n for n in walked(node.parts) if _decides(n) or _is_decided(n))
        if sum(1 for _ in islice(before, _DECISIONS + 1)) > _DECISIONS:
            raise NotFusedError("a comparison of what many comparisons chose")


def _decides(node: ExpressionNode) -> TypeGuard[ApplyNode]:
    """Whether floats are compared."""
    return (
        isinstance(node, ApplyNode)
        and node.function in COMPARISONS
        and any(part.dtype.is_float for part in node.parts)
    )


def _is_decided(node: ExpressionNode) -> bool:
    """Whether a truth is read that was decided before."""
    return isinstance(node, ElementNode) and node.dtype.name == "bool"


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
