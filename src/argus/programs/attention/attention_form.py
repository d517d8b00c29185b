"""Attention: products of which the left factor is a softmax of other products.

    group, form = attention_form(group)     # NotFusedError: no kernel of this form

A chained group (`lowering.py`) has this form where its last sum is ``W V``, and, with
scores ``S = f(Q K^T)`` for any function f of products, masks, biases and positions,

| W is | |
| --- | --- |
| ``exp(S - max S) / sum exp(S - max S)`` | a softmax, also without the maximum |
| ``exp(S - max S)`` | one that is divided by its sum afterwards |
| ``g(S)`` | attention without a softmax |

Rows of the group are a batch, queries (``row``) and elements of values (``across``);
columns are keys (``along``) and elements of queries (``inner``). Scores are not rounded
to 16 bits on the way, as in torch's own fused kernels. Factors of f32 in parts (see
`product_operands.py`) are several terms of each product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from argus.ir.dtypes import DType, bf16, f16, f32
from argus.programs.attention.attention_scores import (
    Masked,
    Widening,
    last_key,
    masked,
    positional,
)
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
from argus.programs.products.product_forms import TMA_BYTES, TMA_DIMENSIONS, addressed

MOST_ACROSS = 256
"""Elements of a query or of a value, at most: a tile has all of them."""
Terms = tuple[tuple[ElementNode, ElementNode], ...]


@dataclass(frozen=True)
class AttentionForm:
    """Which nodes and loops of a group are what.

    ``scores`` is the sum of products of queries and keys (``terms``), ``seen`` S, and
    ``inside`` S in blocks of keys before those that ``causal`` keeps queries from:
    query i sees keys up to i + causal; None: all. ``factor``: the softmax is of
    ``factor * scores``, and S is without it; None: of S. ``values``: parts of weights
    (by number) and values that are multiplied. ``most``: the maximum, ``total``: the
    sum, ``divisor``: what weights are divided by before they are multiplied.
    """

    output: ReduceNode
    values: tuple[tuple[int, ElementNode], ...]
    scores: ReduceNode
    terms: Terms
    seen: ExpressionNode
    inside: ExpressionNode
    factor: float | None
    causal: int | None
    most: frozenset[ExpressionNode]
    total: ExpressionNode | None
    divisor: ExpressionNode | None
    row: str
    along: str
    inner: str
    across: str
    batch: tuple[str, ...]
    softmax: bool

    @property
    def element(self) -> DType:
        """Of what type the factors are."""
        return self.terms[0][0].dtype

    @property
    def parts(self) -> int:
        """In how many parts weights are multiplied."""
        return 1 + max(i for i, _ in self.values)


def attention_form(group: LoweredGroup) -> tuple[LoweredGroup, AttentionForm]:
    """The form of a chained group, and the group with scores in f32.

    Raises NotFusedError for another group.
    """
    if any(e.borders or e.tables for e in group.elements):
        raise NotFusedError("attention to what has a border or a table")
    pool = group.pool
    widening = Widening(pool, group.sizes)
    outer = [r for r in group.reductions if of_sums(r) and r.function == "sum"]
    found = [(r, v) for r in outer if (v := weighted(pool, r)) is not None]
    if len(found) != 1:
        raise NotFusedError("not one product of what other products give")
    ((output, (weights, values)),) = found
    weights = widening.of(weights)
    # Parts of weights add up to them: what the kernel rounds, its reference does not.
    total: ExpressionNode | None = None
    for value in dict.fromkeys(v for i, v in values if i == 0):
        one = pool.apply("mul", (weights, pool.apply("cast", (value,), f32)), f32)
        total = one if total is None else pool.apply("add", (total, one), f32)
    assert total is not None
    product = pool.reduce("sum", total, output.loops, f32)
    assert isinstance(product, ReduceNode)
    # What becomes of the product is rounded as torch rounds it: parts of a number are
    # differences to what is rounded.
    done: dict[ExpressionNode, ExpressionNode] = {
        r: narrowed(pool, widening.of(r), r)
        for r in group.reductions
        if r is not output
    }
    done[output] = narrowed(pool, product, output)
    stores = tuple(
        KernelStore(s.buffer, s.offset, pool.rewritten(s.node, lambda n: n, done))
        for s in group.stores
    )
    group = replace(group, stores=stores)
    return group, _Matching(group, product, weights, values).form()


def narrowed(
    pool: ExpressionPool, wide: ExpressionNode, like: ExpressionNode
) -> ExpressionNode:
    """The same number in the type of another node."""
    return wide if wide.dtype == like.dtype else pool.apply("cast", (wide,), like.dtype)


def of_sums(node: ReduceNode) -> bool:
    """Whether a reduction is of results of others."""
    return any(isinstance(n, ReduceNode) for n in walked([node.body]))


def weighted(
    pool: ExpressionPool, node: ReduceNode
) -> tuple[ExpressionNode, tuple[tuple[int, ElementNode], ...]] | None:
    """The left factor of a sum of products, and its parts with the right ones."""
    pairs: list[tuple[ExpressionNode, ElementNode]] = []
    for summand in flattened(node.body, "add"):
        if not isinstance(summand, ApplyNode) or summand.function != "mul":
            return None
        x, y = (uncast(p) for p in summand.parts)
        if isinstance(x, ElementNode) == isinstance(y, ElementNode):
            return None
        pairs.append((x, y) if isinstance(y, ElementNode) else (y, x))  # type: ignore[arg-type]
    if len({y.dtype for _, y in pairs}) > 1 or pairs[0][1].dtype not in (bf16, f16):
        return None
    different = list(dict.fromkeys(x for x, _ in pairs))
    if len(different) == 1:
        return different[0], tuple((0, y) for _, y in pairs)
    for high in different:
        if isinstance(high, ApplyNode) and high.function == "cast":
            whole = high.parts[0]
            parts = _split(pool, whole)
            if set(different) <= set(parts):
                return whole, tuple((parts.index(x), y) for x, y in pairs)
    return None


def _split(pool: ExpressionPool, whole: ExpressionNode) -> list[ExpressionNode]:
    """The parts of f32 as `product_operands.py` makes them."""
    parts: list[ExpressionNode] = []
    rest = whole
    for last in (False, False, True):
        part = pool.apply("cast", (rest,), bf16)
        parts.append(part)
        if not last:
            rest = pool.apply("sub", (rest, pool.apply("cast", (part,), f32)), f32)
    return parts


def uncast(node: ExpressionNode) -> ExpressionNode:
    """What becomes wider."""
    match node:
        case ApplyNode(function="cast", parts=(inner,), dtype=dtype) if (
            dtype == f32 and inner.dtype.is_float
        ):
            return inner
        case _:
            return node


class _Matching:
    """Which node is what."""

    def __init__(
        self,
        group: LoweredGroup,
        output: ReduceNode,
        weights: ExpressionNode,
        values: tuple[tuple[int, ElementNode], ...],
    ) -> None:
        self.group, self.pool = group, group.pool
        self.output, self.weights, self.values = output, weights, values
        self.most: frozenset[ExpressionNode] = frozenset()
        self.total: ExpressionNode | None = None
        self.divisor: ExpressionNode | None = None
        self.softmax = True

    def form(self) -> AttentionForm:
        score = self._score()
        inner = [
            n
            for n in walked([score])
            if isinstance(n, ReduceNode) and n.function == "sum"
        ]
        if len(inner) != 1 or len(inner[0].loops) != 1 or len(self.output.loops) != 1:
            raise NotFusedError("scores that are not of one product")
        (scores,) = inner
        terms = self._terms(scores)
        loops = self._loops(scores, terms)
        row, along, across = loops["row"], loops["along"], loops["across"]
        self._epilogue()
        if self.pool.free(score) & {loops["inner"], across}:
            raise NotFusedError("scores that depend on more than queries and keys")
        mask = masked(self.pool, score) if self.softmax else Masked(score, (), 0.0)
        if len(self.values) > 1 and not self._plain(mask):
            raise NotFusedError("parts of f32 under a mask, of which nothing is proved")
        causal, further = self._causal(mask, row, along)
        factor = self._factor(mask, scores, causal) if self.softmax else None
        kept = mask.kept if factor is None else scores
        seen = mask.again(self.pool, kept, mask.conditions)
        batch = tuple(n for n in self.group.rows if n not in (row, across))
        if not set(batch) <= self.pool.free(self.output):
            raise NotFusedError("attention that is computed again for each index")
        return AttentionForm(
            self.output, self.values, scores, terms,
            score if factor is None else seen,
            mask.again(self.pool, kept, further),
            factor, causal, self.most, self.total, self.divisor,
            row, along, loops["inner"], across, batch, self.softmax,
        )  # fmt: skip

    # -- the softmax

    def _score(self) -> ExpressionNode:
        """S, and which nodes are its maximum, its sum and what divides."""
        weights = self.weights
        match weights:
            case ApplyNode(function="div", parts=(share, divisor)):
                total = self._unguarded(divisor, "eq", 0.0, 1.0)
                if self._is_sum(total, share):
                    self.total, self.divisor = total, divisor
                    return self._exponent(share)
            case ApplyNode(function="exp"):
                totals = [r for r in self.group.reductions if self._is_sum(r, weights)]
                if totals:
                    self.total = totals[0]
                    return self._exponent(weights)
            case _:
                pass
        self.softmax = False
        return weights

    def _is_sum(self, total: ExpressionNode, share: ExpressionNode) -> bool:
        return (
            isinstance(total, ReduceNode)
            and total.function == "sum"
            and total.body is share
            and isinstance(share, ApplyNode)
            and share.function == "exp"
        )

    def _unguarded(
        self, node: ExpressionNode, test: str, number: float, instead: float
    ) -> ExpressionNode:
        """X of ``where(x == number, instead, x)``, or the node."""
        match node:
            case ApplyNode(
                function="where",
                parts=(
                    ApplyNode(function=function, parts=(x, NumberNode(value=a))),
                    NumberNode(value=b),
                    y,
                ),
            ) if (function, a, b) == (test, number, instead) and x is y:
                return x
            case _:
                return node

    def _exponent(self, share: ExpressionNode) -> ExpressionNode:
        """S of ``exp(S - max S)``, or of ``exp(S)``."""
        (inner,) = parts_of(share)
        match inner:
            case ApplyNode(function="sub", parts=(score, most)):
                found = self._unguarded(most, "eq", -inf, 0.0)
                if (
                    isinstance(found, ReduceNode)
                    and found.function == "max"
                    and found.body is score
                ):
                    self.most = frozenset({most, found})
                    return score
            case _:
                pass
        if self.divisor is None:
            raise NotFusedError("exponentials that are not relative to a maximum")
        return inner

    def _epilogue(self) -> None:
        """Raises NotFusedError where results are of more than what a tile has."""
        known = {self.output, *self.most}
        if self.total is not None and (self.most or self.divisor is None):
            known.add(self.total)
        columns = set(self.group.columns)
        stack = [s.node for s in self.group.stores]
        seen: set[ExpressionNode] = set(known)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            along = not parts_of(node) and self.pool.free(node) & columns
            if along or isinstance(node, ReduceNode):
                raise NotFusedError("results of more than a tile's rows")
            stack.extend(parts_of(node))

    # -- masks

    def _causal(
        self, mask: Masked, row: str, along: str
    ) -> tuple[int | None, tuple[ExpressionNode, ...]]:
        """The last key of a query, and the conditions besides.

        Only where no query is kept from all keys, or those are infinitely far.
        """
        ends = {c: last_key(c, row, along) for c in mask.conditions}
        known = [c for c in mask.conditions if ends[c] is not None]
        if len(known) != 1 or not self.softmax:
            return None, mask.conditions
        end = ends[known[0]]
        assert end is not None
        alone = len(mask.conditions) == 1 and end >= 0 and self._plain(mask)
        if mask.fill != -inf and not alone:
            return None, mask.conditions
        if end:
            return end, mask.conditions
        return end, tuple(c for c in mask.conditions if c is not known[0])

    def _plain(self, mask: Masked) -> bool:
        """Whether scores depend on no tensor but queries and keys."""
        nodes = list(walked([mask.kept, *mask.conditions]))
        inside = (r.body for r in nodes if isinstance(r, ReduceNode))
        factors = set(walked(list(inside)))
        return all(n in factors for n in nodes if isinstance(n, ElementNode))

    def _factor(
        self, mask: Masked, scores: ReduceNode, causal: int | None
    ) -> float | None:
        """What scores are multiplied by, where nothing else becomes of them."""
        if mask.conditions and mask.fill != -inf and causal is None:
            return None
        if not all(positional(c) for c in mask.conditions):
            return None
        if mask.kept is scores:
            return 1.0
        match mask.kept:
            case ApplyNode(
                function="mul",
                parts=(x, NumberNode(value=c)) | (NumberNode(value=c), x),
            ) if x is scores and c > 0:
                return float(c)
            case _:
                return None

    # -- factors

    def _terms(self, scores: ReduceNode) -> Terms:
        terms: list[tuple[ElementNode, ElementNode]] = []
        (along,) = self.output.loops
        for summand in flattened(scores.body, "add"):
            parts = [uncast(p) for p in parts_of(summand)]
            match summand, parts:
                case (
                    ApplyNode(function="mul"),
                    [ElementNode() as x, ElementNode() as y],
                ):
                    keyed = along in x.offset.loops
                    if keyed == (along in y.offset.loops):
                        raise NotFusedError("scores that are not of queries and keys")
                    terms.append((y, x) if keyed else (x, y))
                case _:
                    raise NotFusedError("queries or keys that are computed on the way")
        types = {e.dtype for pair in terms for e in pair}
        types |= {v.dtype for _, v in self.values}
        if len(types) > 1 or not types <= {bf16, f16}:
            raise NotFusedError("attention to other types than tensor cores multiply")
        return tuple(terms)

    def _loops(self, scores: ReduceNode, terms: Terms) -> dict[str, str]:
        """Which loop is what. Raises NotFusedError for factors that TMA cannot take."""
        sizes, rows = self.group.sizes, self.group.rows
        (along,), (inner,) = self.output.loops, scores.loops

        def loops_of(nodes: Sequence[ElementNode]) -> set[str]:
            return {loop for n in nodes for loop in n.offset.loops}

        queries = loops_of([q for q, _ in terms])
        keys = loops_of([k for _, k in terms])
        values = loops_of([v for _, v in self.values])
        own = [n for n in rows if n in queries - keys - values and sizes[n] > 1]
        across = [n for n in rows if n in values - queries - keys]
        if not own or len(across) != 1 or not {along, inner} <= keys:
            raise NotFusedError("not attention of several queries")
        if not self.softmax and not set(rows) & keys & queries:
            raise NotFusedError("products one after the other")
        row = max(reversed(own), key=sizes.__getitem__)
        if max(sizes[inner], sizes[across[0]]) > MOST_ACROSS:
            raise NotFusedError("queries or values that do not fit a tile")
        found = {"row": row, "along": along, "inner": inner, "across": across[0]}
        for nodes, units in (
            ([q for q, _ in terms], (inner, row)),
            ([k for _, k in terms], (inner, along)),
            ([v for _, v in self.values], (across[0], along)),
        ):
            require_side_by_side(nodes, units)
        require_strides(
            self.group,
            [n for pair in terms for n in pair] + [v for _, v in self.values],
        )
        return found


def require_side_by_side(nodes: Sequence[ElementNode], units: Sequence[str]) -> None:
    """Raises NotFusedError for factors that TMA cannot take.

    Elements of all lie side by side along one loop, which is one of ``units``.
    """
    along_of = {unit(n) for n in nodes}
    if len(along_of) != 1 or not along_of <= set(units):
        raise NotFusedError("a factor whose elements do not lie side by side")
    for node in nodes:
        if not addressed(node.offset, node.dtype):
            raise NotFusedError("a factor that TMA cannot address")
        if len(node.offset.terms) > TMA_DIMENSIONS:
            raise NotFusedError("a factor of more dimensions than TMA walks")


def require_strides(group: LoweredGroup, factors: Sequence[ElementNode]) -> None:
    """Raises NotFusedError for strides that hide what divides a factor's.

    Of the strides of all tensors that lie along a loop, a kernel knows what divides
    them together.
    """
    step = TMA_BYTES // factors[0].dtype.bytes
    units = {unit(n) for n in factors}
    offsets = [e.offset for e in group.elements]
    offsets += [s.offset for s in group.stores]
    for offset in offsets:
        if not any(n in units and c == 1 for n, c in offset.terms):
            continue
        if any(c % step for _, c in offset.terms if c != 1):
            raise NotFusedError("a factor beside rows that TMA cannot address")


def unit(node: ElementNode) -> str | None:
    """The loop along which elements lie side by side."""
    found = [n for n, c in node.offset.terms if c == 1]
    return found[0] if len(found) == 1 else None
