"""Sums of products that tensor cores compute: which loops are what, and which tile.

    form = product_form(group)      # None: each factor is read once; other forms do

A group has such a form where its one reduction sums products of elements, of which each
has rows that the other lacks: M those of the left factor, N those of the right one, and
K is summed. Rows that both have, and further ones, are a batch; further columns are
summed one after the other. What follows the sum is the epilogue: any expression over
rows. `product_operands.py` has brought operands into elements that tensor cores take
(`terms` are products of parts), `product_text.py` writes the kernel of a form
(`product_forms.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, prod

from argus.ir.dtypes import DType, bf16, f16, f32
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    PositionNode,
    ReduceNode,
    parts_of,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.lowering.sums_between import summands, summed_between
from argus.programs.lowering.tables import scalar_index
from argus.programs.products.box_tiles import (
    BoxTile,
    box_rows,
    box_sides,
    boxes_fill_tiles,
    pixel_steps,
    provable,
    walked_pixels,
)
from argus.programs.products.pixel_tiles import pixel_tile
from argus.programs.products.product_forms import (
    TMA_BYTES,
    TMA_DIMENSIONS,
    ProductForm,
    addressed,
)
from argus.programs.products.product_tiles import (
    ProductTile,
    Rows,
    chosen_tile,
    followed_long,
)
from argus.programs.tensors.affine import Affine

_SHORT_SUM = 16
_STAGES_BETWEEN = 4
"""Stages of a ring, at most, where tables say how long sums are: such sums are short,
and each stage more is more orders in which roles may wait for each other."""
_LEAST_STEP, _MOST_STAGES = 32, 12
"""Bytes of a step, at least, and stages of a ring with short steps."""
_LEAST_ALONG = 16
"""Elements that lie side by side in the result, below which other rows are tiled."""


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
    (reduction,) = found
    _epilogue_fits(group, reduction)
    _tables_fit(group, reduction)
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
    pairs = [factors_of(s) for s in summands(reduction)]
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
    pairs = [factors_of(s) for r in found for s in summands(r)]
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


def _tables_fit(group: LoweredGroup, reduction: ReduceNode) -> None:
    """Raises NotFusedError where tables choose anything but factors.

    What chooses a factor is one number of the program for each of a batch.
    """
    factors = [f for s in summands(reduction) for f in factors_of(s) or ()]
    for element in group.elements:
        if element.tables and element not in factors:
            raise NotFusedError("a product beside what tables choose")
        if not all(scalar_index(t.index) for t in element.tables):
            raise NotFusedError("a factor that is chosen by what is computed")


class _Loops:
    """Which loop is what."""

    def __init__(
        self, group: LoweredGroup, reduction: ReduceNode, precision: str
    ) -> None:
        self.group, self.reduction, self.precision = group, reduction, precision
        self.sizes = group.sizes
        terms: list[tuple[ElementNode, ElementNode]] = []
        self.between = summed_between(reduction.body)[1]
        for summand in summands(reduction):
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
        rounded = self.precision == "nearest"
        if self._along(1) in columns if rounded else along in rows:
            self.terms = [(b, a) for a, b in self.terms]
            rows, columns = columns, rows
        units = (self._along(0), self._along(1))
        inner = self._inner(units)
        turned = (units[0] != inner, units[1] != inner)
        chosen = self._chosen()
        found = None
        if not chosen and not any(turned):
            found = self._pixels(rows, columns, inner) or self._boxes(
                rows, columns, inner
            )
        if found is not None:
            return found
        if any(e.borders or e.fill is not None for e in self.group.elements):
            raise NotFusedError("a product of what has a border")
        row = self._axis(units[0], rows, inner)
        column = self._axis(units[1], columns, inner)
        along_sum = not turned[1] and (rounded or not turned[0])
        if element == f32 and not along_sum and self.precision != "split":
            raise NotFusedError("tf32 of a factor that does not lie along K")
        self._addressed()
        if chosen & {row, column, inner}:
            raise NotFusedError("what tables choose lies along a tile")
        batch = tuple(n for n in self.group.rows if n not in (row, column))
        outer = tuple(n for n in self.group.columns if n != inner)
        sizes = self.sizes
        tile = self._tile(
            sizes[row], sizes[column], inner, batch, turned, straight=rounded
        )
        if self.between is not None:
            tile = replace(tile, stages=min(tile.stages, _STAGES_BETWEEN))
        return ProductForm(
            self.reduction, tuple(self.terms), row, column, inner, batch, outer,
            turned, tile, between=self.between, rounded=rounded,
        )  # fmt: skip

    def _pixels(
        self, rows: Sequence[str], columns: Sequence[str], inner: str
    ) -> ProductForm | None:
        """The form in which columns are phases, too; None where they are not."""
        stored, sizes = self.group.stores[0].offset, self.sizes
        found = pixel_tile(stored, self.terms, rows, columns, sizes)
        if found is None or self.precision == "split":
            return None
        row, column, pixels = found
        walked = {row, column, pixels.phase, pixels.above}
        batch = tuple(n for n in self.group.rows if n not in walked)
        outer = tuple(n for n in self.group.columns if n != inner)
        channels = sizes[column] * pixels.phases
        tile = self._tile(
            pixels.length, channels, inner, batch, (False, False), straight=True
        )
        self._addressed()
        return ProductForm(
            self.reduction, tuple(self.terms), row, column, inner, batch, outer,
            (False, False), tile, pixels,
        )  # fmt: skip

    def _boxes(
        self, rows: Sequence[str], columns: Sequence[str], inner: str
    ) -> ProductForm | None:
        """The form in which rows are pixels of several dimensions; None: as any others.

        That is where their tiles are fuller than those of one line, and for factors
        that are read outside of the image.
        """
        sizes, ((left, right), *more) = self.sizes, self.terms
        around = {e for e in self.group.elements if e.borders or e.fill is not None}
        along = self._unit(self.group.stores[0].offset)
        if along is None or along not in columns:
            return None
        if not around and self._axis(inner, columns, inner) != along:
            return None  # tiles with other columns are fuller
        if more or around - {left} or right.borders:
            return None
        taps = self.group.columns
        found = walked_pixels(left, rows, taps, inner, sizes)
        if found is None or self.precision == "split" or self.between:
            return None
        loops, rest, borders = found
        stored = [self.group.stores[0].offset.factor(n) for n in loops]
        if stored != sorted(stored, reverse=True):
            return None  # a tile is stored as it is read
        batch = tuple(n for n in self.group.rows if n not in (*rows, along))
        if len(rest.terms) + len(borders) > TMA_DIMENSIONS:
            return None
        space, steps = tuple(sizes[n] for n in loops), pixel_steps(loops, borders)
        if steps is None or not boxes_fill_tiles(space, steps):
            return None
        outer = tuple(n for n in taps if n != inner)
        line = prod(sizes[n] for n in loops[:-1])
        tile = self._tile(
            prod(space), sizes[along], inner, batch, (False, False), straight=True,
            rows=lambda count: box_rows(space, steps, count),
        )  # fmt: skip
        tile = _with_steps_of(sizes[inner], tile, left.dtype)
        straight = line * ceil(space[-1] / tile.bm) * tile.bm
        if not around and box_rows(space, steps, tile.bm) >= straight:
            return None
        known = {n for b in borders for n in b.index.loops if n in loops}
        if not provable([sizes[n] for n in known], [sizes[n] for n in outer]):
            return None
        self._addressed()
        return ProductForm(
            self.reduction, tuple(self.terms), loops[-1], along, inner, batch, outer,
            (False, False), tile, box=BoxTile(loops, box_sides(space, steps, tile.bm)),
            rounded=self.precision == "nearest",
        )  # fmt: skip

    def _tile(
        self, m: int, n: int, inner: str, batch: Sequence[str],
        turned: tuple[bool, bool], *, straight: bool = False, rows: Rows | None = None,
    ) -> ProductTile:  # fmt: skip
        sizes, outer = self.sizes, [s for s in self.group.columns if s != inner]
        return chosen_tile(
            m,
            n,
            sizes[inner],
            prod(sizes[s] for s in batch),
            prod(sizes[s] for s in outer),
            element=self.terms[0][0].dtype,
            factors=(len({a for a, _ in self.terms}), len({b for _, b in self.terms})),
            turned=turned,
            split=self.precision == "split",
            followed=followed_long(self.group),
            straight=straight,
            rows=rows,
        )

    def _element(self) -> DType:
        types = {e.dtype for pair in self.terms for e in pair}
        if len(types) > 1:
            raise NotFusedError("factors of different types")
        (element,) = types
        if element in (bf16, f16):
            return element
        if element != f32:
            raise NotFusedError(f"no form of a product of {element} is written")
        if self.precision not in ("tf32", "nearest", "split"):
            raise NotFusedError("tensor cores multiply f32 in parts")
        return element

    def _loops(self, side: int) -> frozenset[str]:
        """Loops of a factor, with those of the tables that choose it."""
        free = self.group.pool.free
        return frozenset[str]().union(*(free(pair[side]) for pair in self.terms))

    def _chosen(self) -> frozenset[str]:
        """Loops of tables that choose factors, or what is summed."""
        tables = [t.index for pair in self.terms for f in pair for t in f.tables]
        if self.between is not None:
            tables += [self.between.low, self.between.high]
        return frozenset[str]().union(*map(self.group.pool.free, tables))

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
        apart = None if self.between is None else self.between.loop
        able = [n for n in self.group.columns if n in both and n != apart]
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
                apart = [b.stride * node.dtype.bytes for b in node.borders]
                if not addressed(node.offset, node.dtype) or any(
                    n % TMA_BYTES for n in apart
                ):
                    raise NotFusedError("a factor that TMA cannot address")
        units = {self._unit(n.offset) for pair in self.terms for n in pair}
        offsets = [n.offset for n in self.group.elements]
        offsets += [s.offset for s in self.group.stores]
        for offset in offsets:
            if self._unit(offset) not in units:
                continue
            if any(c % (TMA_BYTES // min(steps)) for _, c in offset.terms if c != 1):
                raise NotFusedError("a factor beside rows that TMA cannot address")


def _with_steps_of(length: int, tile: ProductTile, dtype: DType) -> ProductTile:
    """The tile with shorter steps, and more stages, where a sum has no whole step."""
    step = tile.bk
    while step // 2 >= length and step * dtype.bytes > _LEAST_STEP:
        step //= 2
    return replace(
        tile, bk=step, stages=min(_MOST_STAGES, tile.stages * tile.bk // step)
    )
