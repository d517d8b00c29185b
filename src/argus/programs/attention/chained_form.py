"""Chained products: sums of products of which one factor is made of other products.

    group, form = chained_form(group)     # NotFusedError: no kernel of this form

The gradients of attention are of this form (Dao 2023, "FlashAttention-2", algorithm 2):
with P = exp(Q K^T - L) and dS = P (dO V^T - Delta) they are dQ = dS K, and dK = dS^T Q
beside dV = P^T dO. A kernel walks blocks of ``along`` (keys for dQ, else queries) for a
tile of ``row``; in each it computes the inner products (Q K^T, dO V^T), weights (dS, P)
of these, and adds the outer products with what lies along the blocks. So nothing of the
size row times along is stored. Masks, biases and functions of positions may be in the
weights; factors are bf16 or f16, weights are not rounded before they are multiplied
but to that type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from argus.ir.dtypes import DType, bf16, f16, f32
from argus.programs.attention.attention_form import (
    narrowed,
    of_sums,
    require_side_by_side,
    require_strides,
    uncast,
    weighted,
)
from argus.programs.attention.attention_scores import Widening, last_key
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    NumberNode,
    ReduceNode,
    flattened,
    parts_of,
    walked,
)
from argus.programs.lowering.lowering import KernelStore, LoweredGroup, NotFusedError

MOST_ACROSS = 128
"""Elements of a factor's row, at most: beyond, sums do not fit the registers."""
_MOST_PRODUCTS = 2
"""Inner products, and outer ones, of a kernel."""


@dataclass(frozen=True)
class InnerProduct:
    """A sum of products of what lies along the rows and along the blocks."""

    total: ReduceNode
    own: ElementNode
    other: ElementNode


@dataclass(frozen=True)
class OuterProduct:
    """A sum over ``along`` of weights and a factor's elements."""

    total: ReduceNode
    weights: ExpressionNode
    factor: ElementNode


@dataclass(frozen=True)
class ChainedForm:
    """Which nodes and loops of a group are what.

    ``last``: a row has weights up to the index ``row + last`` of ``along`` only;
    ``first``: from ``row - first`` on only. None: all.
    """

    inner: tuple[InnerProduct, ...]
    outer: tuple[OuterProduct, ...]
    row: str
    along: str
    across: str
    batch: tuple[str, ...]
    last: int | None
    first: int | None

    @property
    def element(self) -> DType:
        """Of what type the factors are."""
        return self.inner[0].own.dtype

    @property
    def own(self) -> tuple[ElementNode, ...]:
        """Factors that lie along the rows, each once."""
        return tuple(dict.fromkeys(p.own for p in self.inner))

    @property
    def walked(self) -> tuple[ElementNode, ...]:
        """Factors of which there is a tile in each block, each once."""
        found = [p.other for p in self.inner] + [p.factor for p in self.outer]
        return tuple(dict.fromkeys(found))


def chained_form(group: LoweredGroup) -> tuple[LoweredGroup, ChainedForm]:
    """The form of a chained group, and the group with weights in f32.

    Loops of inner products that are as long as the factors' rows have their name, so
    that a factor of both kinds of products is one tile. Raises NotFusedError for
    another group.
    """
    if any(e.borders or e.tables for e in group.elements):
        raise NotFusedError("chained products of what has a border or a table")
    pool, widening = group.pool, Widening(group.pool, group.sizes)
    outer: list[tuple[ReduceNode, ExpressionNode, ElementNode]] = []
    for node in group.reductions:
        if not of_sums(node):
            continue
        found = weighted(pool, node) if node.function == "sum" else None
        if found is None or len(found[1]) != 1:
            raise NotFusedError("a reduction that is no sum of products")
        outer.append((node, widening.of(found[0]), found[1][0][1]))
    if not 0 < len(outer) <= _MOST_PRODUCTS:
        raise NotFusedError("more chained products than one kernel computes")
    loops = _Loops(group, outer)
    inner = _inner(pool, [w for _, w, _ in outer], loops)
    renamed: dict[ExpressionNode, ExpressionNode] = {
        old: new.total for old, new in inner.items()
    }
    results: list[OuterProduct] = []
    done: dict[ExpressionNode, ExpressionNode] = {}
    for node, weights, factor in outer:
        weights = pool.rewritten(weights, lambda n: n, dict(renamed))
        product = pool.apply("mul", (weights, pool.apply("cast", (factor,), f32)), f32)
        total = pool.reduce("sum", product, (loops.along,), f32)
        assert isinstance(total, ReduceNode)
        done[node] = narrowed(pool, total, node)
        results.append(OuterProduct(total, weights, factor))
    stores = tuple(
        KernelStore(s.buffer, s.offset, pool.rewritten(s.node, lambda n: n, done))
        for s in group.stores
    )
    over = dict.fromkeys(n for p in inner.values() for n in p.total.loops)
    columns = (loops.along, *(n for n in over if n != loops.across))
    sizes = {n: group.sizes[n] for n in (*group.rows, *columns)}
    group = replace(group, stores=stores, columns=columns, sizes=sizes)
    return group, _checked(group, loops, tuple(inner.values()), tuple(results))


class _Loops:
    """Which loop is what."""

    def __init__(
        self,
        group: LoweredGroup,
        outer: list[tuple[ReduceNode, ExpressionNode, ElementNode]],
    ) -> None:
        pool, sizes, rows = group.pool, group.sizes, group.rows
        over = {n for node, _, _ in outer for n in node.loops}
        if len(over) != 1:
            raise NotFusedError("chained products over several dimensions")
        (self.along,) = over
        seen = frozenset[str]().union(*(pool.free(w) for _, w, _ in outer))
        values = [factor.offset.loops for _, _, factor in outer]
        across = {n for v in values for n in v if n in rows and n not in seen}
        own = [n for n in rows if n in seen and sizes[n] > 1]
        own = [n for n in own if not any(n in v for v in values)]
        if len(across) != 1 or not all(across <= v for v in values) or not own:
            raise NotFusedError("products that are not of rows and what they see")
        (self.across,) = across
        self.row = max(reversed(own), key=sizes.__getitem__)
        self.batch = tuple(n for n in rows if n not in (self.row, self.across))
        self.sizes = sizes
        if not any(n in v for n in self.batch for v in values):
            raise NotFusedError("products one after the other")


def _inner(
    pool: ExpressionPool, weights: list[ExpressionNode], loops: _Loops
) -> dict[ReduceNode, InnerProduct]:
    """The inner products of weights, by the node that each has there."""
    found: dict[ReduceNode, InnerProduct] = {}
    for node in walked(weights):
        if not isinstance(node, ReduceNode):
            continue
        if node.function != "sum" or len(node.loops) != 1:
            raise NotFusedError("weights of what is no sum of products")
        (loop,) = node.loops
        names = {loop: loop}
        if loops.sizes[loop] == loops.sizes[loops.across]:
            names = {loop: loops.across}

        def named(n: ExpressionNode, names: dict[str, str] = names) -> ExpressionNode:
            return pool.reindexed(n, lambda index: index.renamed(names))

        body = pool.rewritten(node.body, named, {})
        total = pool.reduce("sum", body, tuple(names.values()), f32)
        assert isinstance(total, ReduceNode)
        summands = list(flattened(body, "add"))
        match [uncast(p) for p in parts_of(summands[0])]:
            case [ElementNode() as x, ElementNode() as y] if len(summands) == 1:
                pass
            case _:
                raise NotFusedError("factors that are computed on the way")
        keyed = loops.along in x.offset.loops
        own, other = (y, x) if keyed else (x, y)
        here, there = own.offset.loops, other.offset.loops
        if loops.along in here or loops.along not in there:
            raise NotFusedError("a product that is not of rows and what they see")
        if loops.row in there or loops.row not in here:
            raise NotFusedError("a product that is not of rows and what they see")
        found[node] = InnerProduct(total, own, other)
    if not 0 < len(set(found.values())) <= _MOST_PRODUCTS:
        raise NotFusedError("more inner products than one kernel computes")
    return found


def _checked(
    group: LoweredGroup,
    loops: _Loops,
    inner: tuple[InnerProduct, ...],
    outer: tuple[OuterProduct, ...],
) -> ChainedForm:
    """The form. Raises NotFusedError for what its kernel cannot compute."""
    pool, sizes = group.pool, group.sizes
    inner = tuple(dict.fromkeys(inner))
    over = {n for p in inner for n in p.total.loops}
    if max(sizes[n] for n in (*over, loops.across)) > MOST_ACROSS:
        raise NotFusedError("rows of factors that do not fit a tile")
    if any(pool.free(p.weights) & {*over, loops.across} for p in outer):
        raise NotFusedError("weights that depend on more than rows and what they see")
    if any(not set(loops.batch) <= pool.free(p.total) for p in outer):
        raise NotFusedError("products that are computed again for each index")
    last, first = _seen(outer, loops)
    form = ChainedForm(
        inner, outer, loops.row, loops.along, loops.across, loops.batch, last, first
    )
    types = {n.dtype for n in (*form.own, *form.walked)}
    if len(types) != 1 or not types <= {bf16, f16}:
        raise NotFusedError("products of other types than tensor cores multiply")
    for node in form.own:
        require_side_by_side([node], (*over, loops.row))
    for node in form.walked:
        require_side_by_side([node], (*over, loops.across, loops.along))
    require_strides(group, [*form.own, *form.walked])
    _require_epilogues(group, form)
    return form


def _require_epilogues(group: LoweredGroup, form: ChainedForm) -> None:
    """Raises NotFusedError where results are more than functions of one sum."""
    rows = {n for n in group.rows if group.sizes[n] > 1}
    totals = {p.total for p in form.outer}
    for store in group.stores:
        if not rows <= store.offset.loops:
            raise NotFusedError("results of different rows")
        stack = [store.node]
        while stack:
            node = stack.pop()
            if node in totals:
                continue
            if not isinstance(node, ApplyNode | NumberNode):
                raise NotFusedError("results of more than their sum")
            stack.extend(parts_of(node))


# ----------------------------------------------------------------- what rows see


def _seen(
    outer: tuple[OuterProduct, ...], loops: _Loops
) -> tuple[int | None, int | None]:
    """Where the blocks of a row end and begin, see `ChainedForm`."""
    last: int | None = None
    first: int | None = None
    for node in walked([p.weights for p in outer]):
        if not isinstance(node, ApplyNode) or node.function != "where":
            continue
        for condition in flattened(node.parts[0], "and"):
            if not all(_vanishes(p.weights, condition) for p in outer):
                continue
            end = last_key(condition, loops.row, loops.along)
            if end is not None:
                last = end if last is None else min(last, end)
            start = last_key(condition, loops.along, loops.row)
            if start is not None:
                first = start if first is None else min(first, start)
    return last, first


def _otherwise(node: ApplyNode, condition: ExpressionNode) -> float | None:
    """The number that a choice is where a condition does not hold."""
    match node.parts:
        case (kept, _, NumberNode(value=value)) if (
            node.function == "where" and condition in flattened(kept, "and")
        ):
            return float(value)
        case _:
            return None


def _vanishes(node: ExpressionNode, condition: ExpressionNode) -> bool:
    """Whether a node is 0 where a condition does not hold."""
    match node:
        case ApplyNode(function="where", parts=(_, x, y)):
            return _otherwise(node, condition) == 0.0 or (
                _vanishes(x, condition) and _vanishes(y, condition)
            )
        case ApplyNode(function="mul", parts=parts):
            return any(_vanishes(p, condition) for p in parts)
        case ApplyNode(function="cast" | "neg", parts=(x,)):
            return _vanishes(x, condition)
        case ApplyNode(function="exp", parts=(x,)):
            return _sinks(x, condition)
        case NumberNode(value=value):
            return value == 0
        case _:
            return False


def _sinks(node: ExpressionNode, condition: ExpressionNode) -> bool:
    """Whether a node is infinitely low where a condition does not hold."""
    match node:
        case ApplyNode(function="where"):
            return _otherwise(node, condition) == -inf
        case ApplyNode(function="cast" | "sub", parts=(x, *_)):
            return _sinks(x, condition)
        case ApplyNode(function="add", parts=parts):
            return any(_sinks(p, condition) for p in parts)
        case ApplyNode(function="mul", parts=(x, NumberNode(value=c))) if c > 0:
            return _sinks(x, condition)
        case _:
            return False
