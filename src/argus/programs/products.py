"""Sums of products that tensor cores compute: which loops are what, and which tile.

    form = product_form(group)      # None: each factor is read once; other forms do

A group has such a form where its one reduction sums products of elements, of which each
has rows that the other lacks: M those of the left factor, N those of the right one, and
K is summed. Rows that both have, and further ones, are a batch; further columns are
summed one after the other. What follows the sum is the epilogue: any expression over
rows. `product_operands.py` has brought operands into elements that tensor cores take
(`terms` are products of parts), `product_text.py` writes the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, gcd, prod

from argus.ir.dtypes import DType, bf16, f16, f32
from argus.ir.functions import FUNCTIONS
from argus.kernels.gemm.entry import REGISTERS
from argus.kernels.gemm.tiles import LINE, MeasuredTile, table
from argus.programs.affine import Affine
from argus.programs.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    PositionNode,
    ReduceNode,
    flattened,
    parts_of,
)
from argus.programs.lowering import LoweredGroup, NotFusedError

TMA_BYTES = 16
"""What TMA needs starts and strides to be multiples of."""
TMA_DIMENSIONS = 5
"""Most dimensions of a tensor that TMA walks."""
_SHORT_SUM = 16
_LEAST_ALONG = 16
"""Elements that lie side by side in the result, below which other rows are tiled."""
_SWIZZLE = 128
"""Bytes of a row of shared memory that the instructions read without conflicts."""
_SHARED, _STAGED = 226 * 1024, 128
"""Bytes of shared memory for the tiles of a block, and of a staged row of results."""


@dataclass(frozen=True)
class ProductTile:
    """Sizes of a block's tile, and how it is walked; names as in `kernels/gemm`.

    ``swap``: computed transposed, for tiles with few rows. ``persistent``: as many
    blocks as the device holds, ``resident`` on a multiprocessor. ``apart``: each step
    is added up in f32 by itself. ``split``: f32 is split into parts of bf16 by a role;
    registers of a thread of it.
    """

    bm: int
    bn: int
    bk: int
    stages: int
    warpgroups: int
    cluster: int = 1
    group: int = 16
    swap: bool = False
    persistent: bool = True
    apart: bool = False
    split: int = 0
    resident: int = 1

    @property
    def registers(self) -> int:
        """Budget of a thread that multiplies; 0: what the launch gives it."""
        if self.split:
            return _BESIDE_SPLIT
        if self.resident > 1:
            return _BESIDE_OTHERS if self.warpgroups > 1 else 0
        return REGISTERS[self.warpgroups] if self.persistent else 0


@dataclass(frozen=True)
class ProductForm:
    """Which loops of a group are M (``row``), N (``column``) and K (``inner``).

    ``batch`` and ``outer``: further rows and columns. ``terms``: left and right factor
    of each product that is summed. The factors are along K, or else (``turned``) along
    their other loop.
    """

    reduction: ReduceNode
    terms: tuple[tuple[ElementNode, ElementNode], ...]
    row: str
    column: str
    inner: str
    batch: tuple[str, ...]
    outer: tuple[str, ...]
    turned: tuple[bool, bool]
    tile: ProductTile

    @property
    def element(self) -> DType:
        """Of what type the factors are."""
        return self.terms[0][0].dtype


def product_form(group: LoweredGroup) -> ProductForm | None:
    """The form of a group for tensor cores.

    None where it has no sum of products, or one in which a factor has no rows of its
    own, so that each element is used once. Raises NotFusedError where it has one that
    tensor cores cannot compute as it is.
    """
    if not group.products:
        return None
    found = [r for r in group.reductions if _reused(group, r)]
    if not found or _short(group, found):
        return None
    if len(group.reductions) > 1:
        raise NotFusedError("a product beside another reduction")
    if any(e.borders or e.fill is not None for e in group.elements):
        raise NotFusedError("a product of what has a border")
    if any(e.tables for e in group.elements):
        raise NotFusedError("a product beside what tables choose")
    (reduction,) = found
    _epilogue_fits(group, reduction)
    (precision,) = set(group.products)
    return _Loops(group, reduction, precision).form()


def factors_of(node: ExpressionNode) -> tuple[ExpressionNode, ExpressionNode] | None:
    """The factors of a product, as they are before they become wider."""
    match node:
        case ApplyNode(function="mul", parts=(left, right)):
            return _narrow(left), _narrow(right)
        case _:
            return None


def _narrow(node: ExpressionNode) -> ExpressionNode:
    match node:
        case ApplyNode(function="cast", parts=(ElementNode() as inner,)):
            return inner if inner.dtype in (bf16, f16) else node
        case _:
            return node


def _reused(group: LoweredGroup, reduction: ReduceNode) -> bool:
    """Whether elements of both factors belong to several results."""
    pairs = [factors_of(s) for s in flattened(reduction.body, "add")]
    if reduction.function != "sum" or None in pairs:
        return False
    rows, free = set(group.rows), group.pool.free
    return any(
        free(pair[0]) & rows - free(pair[1]) and free(pair[1]) & rows - free(pair[0])
        for pair in pairs
        if pair is not None
    )


def _short(group: LoweredGroup, found: Sequence[ReduceNode]) -> bool:
    """Whether sums of f32 are so short that other cores than tensor cores take them.

    Raises NotFusedError where what is used by several results is computed on the way.
    """
    columns = [n for r in found for n in r.loops]
    if not short_sum(f32, group.products[0], prod(group.sizes[n] for n in columns)):
        return False
    pairs = [factors_of(s) for r in found for s in flattened(r.body, "add")]
    factors = [f for pair in pairs if pair for f in pair]
    if any(f.dtype != f32 for f in factors):
        return False
    if not all(isinstance(f, ElementNode) for f in factors):
        raise NotFusedError("a factor that is computed on the way")
    return True


def short_sum(element: DType, precision: str, length: int) -> bool:
    """Whether so few products of f32 are summed in full without tensor cores.

    Parts of f32 would be as many products again, and copies before them; the results
    take longer to be stored than so few products take to be summed.
    """
    return element == f32 and precision == "f32" and length <= _SHORT_SUM


def _epilogue_fits(group: LoweredGroup, reduction: ReduceNode) -> None:
    """Raises NotFusedError where what follows the sum depends on more than rows."""
    columns = set(group.columns)
    if any(s.offset.loops & columns for s in group.stores):
        raise NotFusedError("a product that is repeated")
    stack: list[ExpressionNode] = [s.node for s in group.stores]
    seen: set[ExpressionNode] = {reduction}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(parts_of(node))
        match node:
            case ElementNode(offset=index) | PositionNode(index=index):
                if index.loops & columns:
                    raise NotFusedError("an epilogue along what is summed")
            case _:
                pass


class _Loops:
    """Which loop is what."""

    def __init__(
        self, group: LoweredGroup, reduction: ReduceNode, precision: str
    ) -> None:
        self.group, self.reduction, self.precision = group, reduction, precision
        self.sizes = group.sizes
        terms: list[tuple[ElementNode, ElementNode]] = []
        for summand in flattened(reduction.body, "add"):
            match factors_of(summand):
                case (ElementNode() as left, ElementNode() as right):
                    terms.append((left, right))
                case _:
                    raise NotFusedError("a factor that is computed on the way")
        self.terms = terms

    def form(self) -> ProductForm:
        element = self._element()
        left, right = self._loops(0), self._loops(1)
        rows = [n for n in self.group.rows if n in left - right]
        columns = [n for n in self.group.rows if n in right - left]
        along = self._unit(self.group.stores[0].offset)
        if along in rows:
            self.terms = [(b, a) for a, b in self.terms]
            rows, columns = columns, rows
        units = (self._along(0), self._along(1))
        inner = self._inner(units)
        row = self._axis(units[0], rows, inner)
        column = self._axis(units[1], columns, inner)
        turned = (units[0] != inner, units[1] != inner)
        if element == f32 and any(turned) and self.precision == "tf32":
            raise NotFusedError("tf32 of a factor that does not lie along K")
        self._addressed()
        batch = tuple(n for n in self.group.rows if n not in (row, column))
        outer = tuple(n for n in self.group.columns if n != inner)
        sizes = self.sizes
        tile = chosen_tile(
            sizes[row],
            sizes[column],
            sizes[inner],
            prod(sizes[n] for n in batch),
            prod(sizes[n] for n in outer),
            element=element,
            factors=(len({a for a, _ in self.terms}), len({b for _, b in self.terms})),
            turned=turned,
            split=self.precision == "split",
            followed=followed_long(self.group),
        )
        return ProductForm(
            self.reduction, tuple(self.terms), row, column, inner, batch, outer,
            turned, tile,
        )  # fmt: skip

    def _element(self) -> DType:
        types = {e.dtype for pair in self.terms for e in pair}
        if len(types) > 1:
            raise NotFusedError("factors of different types")
        (element,) = types
        if element in (bf16, f16):
            return element
        if element != f32:
            raise NotFusedError(f"no form of a product of {element} is written")
        if self.precision not in ("tf32", "split"):
            raise NotFusedError("tensor cores multiply f32 in parts")
        return element

    def _loops(self, side: int) -> frozenset[str]:
        return frozenset[str]().union(*(pair[side].offset.loops for pair in self.terms))

    def _unit(self, offset: Affine) -> str | None:
        units = [n for n, c in offset.terms if c == 1]
        return units[0] if len(units) == 1 else None

    def _along(self, side: int) -> str:
        """The loop along which a factor lies."""
        units = {self._unit(pair[side].offset) for pair in self.terms}
        (unit,) = units if len(units) == 1 else (None,)
        if unit is None:
            raise NotFusedError("a factor whose elements do not lie side by side")
        return unit

    def _inner(self, units: tuple[str, str]) -> str:
        both = self._loops(0) & self._loops(1)
        able = [n for n in self.group.columns if n in both]
        wanted = {u for u in units if u in self.group.columns}
        if len(wanted) > 1 or not wanted <= set(able) or not able:
            raise NotFusedError("factors that lie along different sums")
        return wanted.pop() if wanted else max(able, key=self.sizes.__getitem__)

    def _axis(self, unit: str, own: Sequence[str], inner: str) -> str:
        """The loop of a factor's own rows that is tiled."""
        if unit == inner:
            along = self._unit(self.group.stores[0].offset)
            if along is not None and along in own and self.sizes[along] >= _LEAST_ALONG:
                return along
            return max(reversed(own), key=self.sizes.__getitem__)
        if unit not in own:
            raise NotFusedError("a factor that lies along the batch")
        return unit

    def _addressed(self) -> None:
        """Raises NotFusedError for a factor that TMA cannot address.

        Of the strides of all tensors that lie along a loop, a kernel knows what divides
        them together.
        """
        steps = {n.dtype.bytes for pair in self.terms for n in pair}
        for pair in self.terms:
            for node in pair:
                if not addressed(node.offset, node.dtype):
                    raise NotFusedError("a factor that TMA cannot address")
        units = {self._unit(n.offset) for pair in self.terms for n in pair}
        offsets = [n.offset for n in self.group.elements]
        offsets += [s.offset for s in self.group.stores]
        for offset in offsets:
            if self._unit(offset) not in units:
                continue
            if any(c % (TMA_BYTES // min(steps)) for _, c in offset.terms if c != 1):
                raise NotFusedError("a factor beside rows that TMA cannot address")


def addressed(offset: Affine, dtype: DType) -> bool:
    """Whether TMA can address what lies at an offset, with one loop of factor 1.

    Starts and strides are multiples of 16 bytes.
    """
    steps = [c for _, c in offset.terms if c != 1] + [offset.constant]
    fits = all(c >= 0 and c * dtype.bytes % TMA_BYTES == 0 for c in steps)
    units = sum(c == 1 for _, c in offset.terms)
    return fits and units == 1


# ------------------------------------------------------------------------------ tiles

_PARTS = (
    (ProductTile(128, 128, 32, 4, 2, apart=True), 1.0),
    (ProductTile(64, 128, 32, 5, 1, apart=True), 1.25),
    (ProductTile(64, 64, 64, 4, 1, apart=True), 1.5),
)
"""Tiles for products of parts, and what an element of one costs beside the first."""
_BESIDE_SPLIT = 168
"""Registers of a thread that multiplies, beside a warpgroup that splits."""
_BESIDE_OTHERS = 96
"""Registers of a thread of one of two warpgroups, beside another such block."""
_SPLIT = ProductTile(128, 128, 32, 2, 2, apart=True, split=120)
"""The tile of a product whose kernel splits its factors."""
_WIDE = (
    (ProductTile(128, 256, 32, 4, 2), 1.0),
    (ProductTile(128, 128, 32, 6, 2), 1.13),
    (ProductTile(64, 256, 32, 5, 1), 1.22),
    (ProductTile(64, 128, 32, 8, 1), 1.25),
    (ProductTile(128, 64, 32, 8, 2), 1.38),
    (ProductTile(32, 256, 32, 5, 2, swap=True), 2.0),
    (ProductTile(64, 64, 32, 8, 1), 2.2),
    (ProductTile(16, 256, 32, 6, 2, swap=True), 3.0),
    (ProductTile(64, 32, 32, 4, 1, persistent=False), 2.6),
    (ProductTile(64, 16, 32, 4, 1, persistent=False), 3.0),
)
"""The same for tf32. The first seven were measured on an H200; what the others cost is
an estimate.
"""
_FOLLOWED = (
    (ProductTile(128, 128, 32, 4, 2), 1.0),
    (ProductTile(64, 128, 32, 3, 1, resident=2), 1.0),
    (ProductTile(128, 64, 32, 3, 2, resident=2), 1.1),
    (ProductTile(64, 64, 32, 3, 1, resident=4), 1.7),
)
"""The same where functions follow that take long: while some warps compute these,
others multiply. Measured with GELU and Mish behind convolutions on an H200."""
_LONG = frozenset({"tanh", "erf", "log1p"})
"""Functions of which each element takes 15 instructions and more."""
_MANY_RESULTS = 2**24
"""Results for which a further launch counts for nothing."""
_MOST_BEHIND = 64
"""Instructions for an element that tiles of `_FOLLOWED` hide: one Mish has 55."""

_FORMS = ("persistent", "small")
"""The library's forms that load by TMA, for 16 bits."""


def chosen_tile(
    m: int,
    n: int,
    k: int,
    batch: int,
    outer: int,
    *,
    element: DType,
    factors: tuple[int, int] = (1, 1),
    turned: tuple[bool, bool] = (False, False),
    split: bool = False,
    followed: bool = False,
) -> ProductTile:
    """The tile with the least predicted time.

    ``factors``: how many tensors are left and right factors. ``split``: the kernel
    splits factors of f32. ``followed``: see `followed_long`.
    """
    if split:
        return _SPLIT
    if element != f32 and factors == (1, 1):
        return _of_library(_measured(m, n, k, batch * outer, batch, turned)[0])
    tile, _ = _of_table(m, n, batch, _tiles(element, followed))
    shared = tile.bm == 128 and m > tile.bm and batch == 1
    each = tile.bm * factors[0] + tile.bn * factors[1]
    staged = 2 * tile.bm * _STAGED if tile.persistent and not tile.swap else 0
    fitting = (_SHARED // tile.resident - staged) // (each * tile.bk * element.bytes)
    return replace(tile, cluster=2 if shared else 1, stages=min(tile.stages, fitting))


def predicted_time(
    m: int, n: int, k: int, batch: int, outer: int, element: DType
) -> float:
    """The time of such a product of TF32 or 16 bits, to be compared with others."""
    if element != f32:
        return _measured(m, n, k, batch * outer, batch, (False, False))[1]
    tile, cost = _of_table(m, n, batch, _tiles(element))
    return cost * ceil(k / tile.bk) * outer


def followed_long(group: LoweredGroup) -> bool:
    """Whether functions follow a product that take longer than reading it again.

    Few warps multiply: in the largest tiles they took 4 to 8 ps for an element, storing
    and reading it 2 ps. In those of `_FOLLOWED`, 0.1 to 1.7 ps (measured on an H200).
    """
    results = prod(group.sizes[n] for n in group.rows)
    functions = {n.function for n in group.nodes if isinstance(n, ApplyNode)}
    return results >= _MANY_RESULTS and bool(functions & _LONG)


def hides_what_follows(group: LoweredGroup, form: ProductForm) -> bool:
    """Whether its tiles are those of `_FOLLOWED`, and do so for these functions."""
    behind = (
        FUNCTIONS.get(n.function) for n in group.nodes if isinstance(n, ApplyNode)
    )
    issued = sum(f.among(f32).issue for f in behind if f is not None)
    return form.element == f32 and not form.tile.split and issued <= _MOST_BEHIND


_STEP_COST = {True: 0.69 / (128 * 256 * 32), False: 0.455 / (128 * 128 * 64)}
"""Microseconds of an element of K of an element of the first tile of `_WIDE` (True) and
of `_PARTS`, on an H200."""
_MOST_PARTS = 64
_LEAST_PART = 256
_PART = 64
"""Into how many parts a sum is cut at most; elements of a sum below which no part is
worth a block; and what parts of K are multiples of."""


def parts_of_sum(
    m: int, n: int, k: int, batch: int, outer: int, *, element: DType, terms: int = 1,
    repeats: int = 1,
) -> tuple[int, int]:  # fmt: skip
    """Into how many equal parts a sum is cut, which are results first.

    Those of ``repeats``, a divisor of ``outer`` that may be cut, and those of K: what
    is predicted to take least, by the library's table. ``element``: of the factors that
    are multiplied, ``terms`` times each.
    """
    found = table()

    def time(parts: tuple[int, int]) -> float:
        count, rest, inner = prod(parts), outer // parts[0], k // parts[1]
        groups = batch * count
        if element == f32 or terms > 1:
            _, waves = _of_table(m, n, groups, _tiles(element))
            us = waves * _STEP_COST[element == f32] * inner * rest * terms
        else:
            us = _measured(m, n, inner, groups * rest, groups, (False, False))[1]
        return us + (found.sum(count, batch * m, n) if count > 1 else 0.0)

    able = [
        (a, b)
        for a in range(1, repeats + 1)
        for b in range(1, k // _PART + 1)
        if 1 < a * b <= min(_MOST_PARTS, k * outer // _LEAST_PART)
        and repeats % a == 0
        and (b == 1 or k % (b * _PART) == 0)
    ]
    return min([(1, 1), *able], key=time)


_Costs = tuple[tuple[ProductTile, float], ...]


def _tiles(element: DType, followed: bool = False) -> _Costs:
    if element != f32:
        return _PARTS
    return _FOLLOWED if followed else _WIDE


def _of_table(m: int, n: int, batch: int, tiles: _Costs) -> tuple[ProductTile, float]:
    count = table().multiprocessors

    def time(entry: tuple[ProductTile, float]) -> float:
        tile, cost = entry
        blocks = batch * ceil(m / tile.bm) * ceil(n / tile.bn)
        waves = ceil(blocks / (count * tile.resident))
        return waves * tile.resident * tile.bm * tile.bn * cost

    best = min(tiles, key=time)
    return best[0], time(best)


def _measured(
    m: int, n: int, k: int, repeats: int, batch: int, turned: tuple[bool, bool]
) -> tuple[MeasuredTile, float]:
    """Of 16 bits, by the library's table; a batch is as many parts of a longer K."""
    found = table()
    wide = _SWIZZLE // bf16.bytes

    def able(tile: MeasuredTile) -> bool:
        sizes = tile.statics
        if tile.form not in _FORMS or not tile.fits(m, n):
            return False
        if sizes.get("ACROSS") or sizes["BK"] < wide:
            return False
        if batch > 1 and sizes.get("CLUSTER", 1) > 1:
            return False
        return not (turned[0] and sizes["BM"] % wide) and not (
            turned[1] and sizes["BN"] % wide
        )

    step = LINE if any(turned) else gcd(k * bf16.bytes, LINE)

    def time(tile: MeasuredTile) -> float:
        return tile.predicted(m, n, k * repeats, step, found.multiprocessors, batch)

    best = min((t for t in found.tiles if able(t)), key=time)
    return best, time(best)


def _of_library(best: MeasuredTile) -> ProductTile:
    sizes = best.statics
    return ProductTile(
        sizes["BM"],
        sizes["BN"],
        sizes["BK"],
        sizes["STAGES"],
        sizes["WARPGROUPS"],
        sizes.get("CLUSTER", 1),
        swap=bool(sizes.get("SWAP", False)),
        persistent=best.form == "persistent",
    )
