"""Scores of attention as one function of a sum of products, and what masks say.

`widened` brings expressions into one form: in f32, with comparisons of positions in 32
bits, and without detours by numbers (``where(c, 1, 0) == 0`` is ``not c``).
`without_causal` finds a mask that says up to which key a query sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.ir.dtypes import boolean, f32, i32
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    NumberNode,
    PositionNode,
    ReduceNode,
    flattened,
    walked,
)
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.numbers import number_of

MASKED = -1e29
"""A score that is at most as large counts for nothing beside any other."""
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_SMALL = 2**31


class Widening:
    """Expressions of a pool in one form, each made once."""

    def __init__(self, pool: ExpressionPool, sizes: dict[str, int]) -> None:
        self.pool, self.sizes = pool, sizes
        self._done: dict[ExpressionNode, ExpressionNode] = {}

    def of(self, node: ExpressionNode) -> ExpressionNode:
        """The node in that form."""
        return self.pool.rewritten(node, self._changed, self._done)

    def _changed(self, node: ExpressionNode) -> ExpressionNode:
        pool = self.pool
        match node:
            case ApplyNode(function="cast", parts=(inner,), dtype=dtype) if (
                dtype.is_float and inner.dtype.is_float
            ):
                return self._wide(inner)
            case ApplyNode(function="div", parts=(x, NumberNode(value=by))) if by:
                inverse = pool.number(1 / by, f32)
                return pool.apply("mul", (self._wide(x), inverse), f32)
            case ApplyNode(function=function, parts=parts, dtype=dtype):
                parts = tuple(self._wide(p) for p in parts)
                if function in _COMPARISONS:
                    return self._compared(function, parts)
                if function == "not":
                    return negated(pool, parts[0])
                return pool.apply(function, parts, f32 if dtype.is_float else dtype)
            case ReduceNode(function=function, body=body, loops=loops, dtype=dtype):
                wide = f32 if dtype.is_float else dtype
                return pool.reduce(function, self._wide(body), loops, wide)
            case _:
                return node

    def _wide(self, node: ExpressionNode) -> ExpressionNode:
        if not node.dtype.is_float or node.dtype == f32:
            return node
        if isinstance(node, NumberNode):
            return self.pool.number(node.value, f32)
        return self.pool.apply("cast", (node,), f32)

    def _compared(
        self, function: str, parts: tuple[ExpressionNode, ...]
    ) -> ExpressionNode:
        pool = self.pool
        match parts:
            case (
                ApplyNode(
                    function="where",
                    parts=(c, NumberNode(value=x), NumberNode(value=y)),
                ),
                NumberNode(value=n),
            ):
                first, second = (bool(number_of(function, [v, n], f32)) for v in (x, y))
                if first == second:
                    return pool.number(first, boolean)
                return c if first else negated(pool, c)
            case _ if all(self._short(p) for p in parts):
                parts = tuple(self._narrow(p) for p in parts)
            case _:
                pass
        return pool.apply(function, parts, boolean)

    def _short(self, node: ExpressionNode) -> bool:
        """Whether a whole number has no more than 32 bits."""
        match node:
            case PositionNode(index=index):
                low, high = index.range(self.sizes)
                return low >= -_SMALL and high < _SMALL
            case NumberNode(value=value):
                return isinstance(value, int) and -_SMALL <= value < _SMALL
            case ApplyNode(function="add" | "sub", parts=parts, dtype=dtype):
                found = _difference(node)
                if dtype.kind != "int" or found is None:
                    return False
                low, high = found.range(self.sizes)
                return low >= -_SMALL and high < _SMALL and all(map(self._short, parts))
            case _:
                return False

    def _narrow(self, node: ExpressionNode) -> ExpressionNode:
        match node:
            case PositionNode(index=index):
                return self.pool.position(index, i32)
            case NumberNode(value=value):
                return self.pool.number(value, i32)
            case _:
                found = _difference(node)
                assert found is not None
                return self.pool.position(found, i32)


def negated(pool: ExpressionPool, node: ExpressionNode) -> ExpressionNode:
    """What is true where a truth value is not."""
    match node:
        case ApplyNode(function="not", parts=(inner,)):
            return inner
        case ApplyNode(function="and" | "or" as both, parts=parts):
            other = "or" if both == "and" else "and"
            return pool.apply(other, [negated(pool, p) for p in parts], boolean)
        case ApplyNode(function=function, parts=parts) if (
            function in _OPPOSITE and not any(p.dtype.is_float for p in parts)
        ):
            return pool.apply(_OPPOSITE[function], parts, boolean)
        case NumberNode(value=value):
            return pool.number(not value, boolean)
        case _:
            return pool.apply("not", (node,), boolean)


def _difference(node: ExpressionNode) -> Affine | None:
    """A whole number as a sum of loop indices."""
    match node:
        case PositionNode(index=index):
            return index
        case NumberNode(value=int() as value):
            return Affine((), int(value))
        case ApplyNode(function="add" | "sub" as function, parts=(x, y)):
            left, right = _difference(x), _difference(y)
            if left is None or right is None:
                return None
            return left + (right if function == "add" else right * -1)
        case _:
            return None


@dataclass(frozen=True)
class Masked:
    """Scores that are ``kept`` under conditions that all hold, else ``fill``."""

    kept: ExpressionNode
    conditions: tuple[ExpressionNode, ...]
    fill: float

    def again(
        self,
        pool: ExpressionPool,
        kept: ExpressionNode,
        conditions: Sequence[ExpressionNode],
    ) -> ExpressionNode:
        """Other scores under some conditions."""
        for condition in conditions:
            fill = pool.number(self.fill, f32)
            kept = pool.apply("where", (condition, kept, fill), f32)
        return kept


def masked(pool: ExpressionPool, node: ExpressionNode) -> Masked:
    """Scores without the masks around them that put a number that counts for nothing.

    A mask of positions that is added is one of them.
    """
    conditions: list[ExpressionNode] = []
    fills: set[float] = set()
    while True:
        found = _mask(pool, node)
        if found is None or len({*fills, found[2]}) > 1:
            fill = fills.pop() if fills else 0.0
            return Masked(node, tuple(conditions), fill)
        node, condition, fill = found
        conditions += flattened(condition, "and")
        fills.add(fill)


def _mask(
    pool: ExpressionPool, node: ExpressionNode
) -> tuple[ExpressionNode, ExpressionNode, float] | None:
    match node:
        case ApplyNode(function="where", parts=(c, x, NumberNode(value=fill))) if (
            fill <= MASKED
        ):
            return x, c, float(fill)
        case ApplyNode(function="where", parts=(c, NumberNode(value=fill), x)) if (
            fill <= MASKED
        ):
            return x, negated(pool, c), float(fill)
        case ApplyNode(function="add", parts=(x, y)):
            for score, mask in ((x, y), (y, x)):
                found = _mask(pool, mask)
                if found and isinstance(found[0], NumberNode) and not found[0].value:
                    return score, found[1], found[2]
            return None
        case _:
            return None


def positional(node: ExpressionNode) -> bool:
    """Whether a node is made of positions and numbers alone."""
    return not any(isinstance(n, ElementNode | ReduceNode) for n in walked([node]))


def last_key(node: ExpressionNode, row: str, along: str) -> int | None:
    """Query i sees keys up to i and this number; None where that is not said."""
    match node:
        case ApplyNode(function=function, parts=(x, y)) if function in _TURNED:
            left, right = _difference(x), _difference(y)
            if left is None or right is None:
                return None
            if function in ("lt", "le"):
                left, right = right, left
            apart = left + right * -1
            if apart.terms != Affine.of({row: 1, along: -1}).terms:
                return None
            return apart.constant - (function in ("lt", "gt"))
        case _:
            return None
