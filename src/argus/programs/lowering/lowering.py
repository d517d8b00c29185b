"""A group of values over loops: what one kernel computes.

    group = lowered(stored, inside)

Row loops are those of blocks: each reduction of the group has one result for each of
their indices. Column loops are those that reductions run over, and along which what
depends on them is stored. Adjacent loops that every access walks as one are one loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from argus.ir.dtypes import boolean, i32, i64
from argus.ir.numerics import arithmetic
from argus.programs.lowering import rows_and_columns
from argus.programs.lowering.collapsing import collapsed
from argus.programs.lowering.expressions import (
    Border,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    NumberNode,
    PositionNode,
    TableIndex,
)
from argus.programs.lowering.lowered_group import (
    KernelStore,
    LoweredGroup,
    NotFusedError,
    over_windows,
)
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.tensors.numbers import neutral
from argus.programs.tensors.offsets import (
    MOST_SPLITS,
    FoundBorders,
    offset_of,
    source_coordinates,
    source_offset,
)
from argus.programs.tensors.recorder import Part, type_of
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    FilledPrimitive,
    GatherPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    ViewedValue,
)

__all__ = [
    "KernelStore", "LoweredGroup", "NotFusedError", "lowered", "over_windows",
]  # fmt: skip

_MOST_NESTED = 96
"""Values of a kernel that are made of each other, one in the other: expressions are
walked by functions that call themselves, some frames for each, and Python has 1000 of
these with those of the caller."""


def lowered(
    stored: Sequence[ProgramValue],
    inside: Collection[ProgramValue],
    dims: Sequence[Sequence[int]] = (),
    *,
    chained: bool = False,
    padded: bool = False,
) -> LoweredGroup:
    """One kernel that stores values, and computes those ``inside`` on the way.

    The loops of the results are the dimensions of the last value; ``dims`` has for each
    of the others which of them its own are (-1: none, of size 1). ``chained``: sums of
    products may be of results of other reductions, and what is stored may have some of
    the rows. ``padded``: stores may have `borders`. Raises NotFusedError where that is
    not one kernel, or where a value would be computed several times.
    """
    space = LoopSpace(padded=padded)
    try:
        for _ in range(MOST_SPLITS):
            try:
                found = _Lowering(space, inside).group(stored, dims, chained)
                return collapsed(found)
            except NeedsSplitError as need:
                space.split(need)
    except NotAffineError as error:
        raise NotFusedError(str(error)) from error
    raise NotFusedError("loops are split again and again")


class _Lowering:
    def __init__(self, space: LoopSpace, inside: Collection[ProgramValue]) -> None:
        self.space, self.inside = space, inside
        self.pool = ExpressionPool()
        self.products: list[str] = []
        self._tables: dict[str, ExpressionNode] = {}
        self.windows = False
        self._done: dict[tuple[ProgramValue, tuple[Affine, ...]], ExpressionNode] = {}
        self._nested = 0
        """Values that are being made, each of them for the one before."""

    def group(
        self,
        stored: Sequence[ProgramValue],
        dims: Sequence[Sequence[int]],
        chained: bool,
    ) -> LoweredGroup:
        at: list[Affine] = []
        loops: list[str] = []
        for d, n in enumerate(stored[-1].shape):
            index, own = self.space.index(f"o{d}", n)
            at.append(index)
            loops += own
        places = [
            *(tuple(at[d] if d >= 0 else Affine() for d in own) for own in dims),
            tuple(at),
        ]
        nodes = [
            self._value(v, p, top=True) for v, p in zip(stored, places, strict=True)
        ]
        if chained:
            found = rows_and_columns.chained(self.space, self.pool, nodes, loops)
        else:
            alone = not self.inside
            found = rows_and_columns.matched(self.space, self.pool, nodes, loops, alone)
        nodes, rows, columns, names = found
        for value in stored[:-1]:
            seen = {
                tuple(i.renamed(names) for i in at)
                for made, at in self._done
                if made is value
            }
            if len(seen) > 1:
                raise NotFusedError("what is stored is read in another order")
        stores = tuple(
            KernelStore(
                v.home or v, offset_of(v, p) + v.begin, node, self._outside(v, p)
            )
            for v, p, node in zip(stored, places, nodes, strict=True)
        )
        if not chained and any(not set(rows) <= s.offset.loops for s in stores):
            raise NotFusedError("results of different rows")
        sizes = {loop: self.space.sizes[loop] for loop in (*rows, *columns)}
        return LoweredGroup(
            tuple(rows),
            tuple(columns),
            sizes,
            stores,
            self.pool,
            products=tuple(self.products),
            windows=self.windows,
            chained=chained,
        )

    def _outside(self, value: ProgramValue, at: Sequence[Affine]) -> tuple[Border, ...]:
        """Coordinates of a stored value that may lie outside."""
        found: list[Border] = []
        for index, n, stride in zip(at, value.shape, value.strides, strict=True):
            low, high = index.range(self.space.sizes)
            if low < 0 or high >= n:
                found.append(Border(index, n, stride))
        return tuple(found)

    # -- expressions

    def _read(self, operand: ViewedValue, at: tuple[Affine, ...]) -> ExpressionNode:
        value = operand.value
        borders: FoundBorders = []
        if value in self.inside:
            found = source_coordinates(operand, at, self.space, borders)
            node = self._value(value, found)
        else:
            node = self._element(value, source_offset(operand, at, self.space, borders))
        for coordinates, fill in reversed(borders):
            node = self._inside(coordinates, fill, node)
        return node

    def _element(self, value: ProgramValue, offset: Affine) -> ExpressionNode:
        """The element at an offset.

        Borders, tables and loops that run backwards are apart.
        """
        space = self.space
        value, offset = value.home or value, offset + value.begin
        rest, borders = Affine((), offset.constant), list[Border]()
        tables: list[TableIndex] = []
        for name, factor in offset.terms:
            extent = space.sizes[name]
            if name in self._tables:
                rest = rest + min(0, factor * (extent - 1))
                tables.append(self._table(self._tables[name], extent, factor))
                continue
            index = space.borders.get(name)
            if factor < 0:
                index = (Affine.loop(name) if index is None else index) * -1 + (
                    extent - 1
                )
                rest = rest + factor * (extent - 1)
            if index is None:
                rest = rest + Affine.loop(name) * factor
            else:
                borders.append(Border(index, extent, abs(factor)))
        if tables and borders:
            raise NotFusedError("a border beside what a table chooses")
        return self.pool.element(value, rest, tuple(borders), None, tuple(tables))

    def _chosen(
        self, operand: ViewedValue, table: ViewedValue, at: tuple[Affine, ...]
    ) -> Affine:
        """The last coordinate of an operand, which a table has.

        Raises NotFusedError where the operand is not stored.
        """
        extent = operand.shape[-1]
        if extent == 1:
            return Affine()
        found = self._read(table, at)
        if isinstance(found, NumberNode) and 0 <= found.value < extent:
            return Affine((), int(found.value))
        if isinstance(found, PositionNode):
            low, high = found.index.range(self.space.sizes)
            if low >= 0 and high < extent:
                return found.index
        stored = operand.value not in self.inside
        if not stored and not isinstance(operand.value.made, GatherPrimitive):
            raise NotFusedError("a table chooses among what is stored")
        chosen = self.space.table(extent)
        for name in chosen.loops:
            self._tables[name] = found
        return chosen

    def _table(self, index: ExpressionNode, extent: int, factor: int) -> TableIndex:
        """A coordinate from a table, in steps that are not negative."""
        if factor < 0:
            last = self.pool.number(extent - 1, index.dtype)
            index = self.pool.apply("sub", (last, index), index.dtype)
        return TableIndex(index, extent, abs(factor))

    def _inside(
        self,
        coordinates: tuple[Affine, ...],
        fill: float | int | bool,
        node: ExpressionNode,
    ) -> ExpressionNode:
        """A node where all coordinates are inside of their borders, else ``fill``."""
        pool, space = self.pool, self.space
        names = [n for c in coordinates for n in sorted(c.loops) if n in space.borders]
        if not names:
            return node
        known = {(space.borders[n], space.sizes[n]) for n in names}
        if (
            isinstance(node, ElementNode)
            and node.fill is None
            and {(b.index, b.extent) for b in node.borders} == known
        ):
            return pool.element(node.buffer, node.offset, node.borders, fill)
        kept: ExpressionNode | None = None
        for name in names:
            index, extent = space.borders[name], space.sizes[name]
            low, high = index.range(space.sizes)
            plain = [abs(f) for _, f in index.terms] == [1]
            kind = i32 if plain else i64  # 32 bits hold no sum for all sizes
            at = pool.position(index, kind)
            for function, limit in (("ge", 0), ("lt", extent)):
                if (low >= 0) if function == "ge" else (high < extent):
                    continue
                one = pool.apply(function, (at, pool.number(limit, kind)), boolean)
                kept = one if kept is None else pool.apply("and", (kept, one), boolean)
        if kept is None:  # of the positions that are read all are inside
            return node
        outside = pool.number(fill, node.dtype)
        return pool.apply("where", (kept, node, outside), node.dtype)

    def _part(
        self, part: Part, at: tuple[Affine, ...], beside: Sequence[Part]
    ) -> ExpressionNode:
        if isinstance(part, ViewedValue):
            return self._read(part, at)
        types = [p.value.dtype for p in beside if isinstance(p, ViewedValue)]
        return self.pool.number(part, type_of(part, types))

    def _value(
        self, value: ProgramValue, at: tuple[Affine, ...], *, top: bool = False
    ) -> ExpressionNode:
        key = (value, at)
        if key not in self._done:
            if self._nested >= _MOST_NESTED:
                raise NotFusedError("more than a kernel should compute")
            self._nested += 1
            self._done[key] = self._made(value, at, top)
            self._nested -= 1
        return self._done[key]

    def _made(
        self, value: ProgramValue, at: tuple[Affine, ...], top: bool
    ) -> ExpressionNode:
        if value not in self.inside and not top:
            return self._element(value, offset_of(value, at))
        match value.made:
            case MapPrimitive(function=function, operands=operands):
                beside = operands[1:] if function == "where" else operands
                parts = [self._part(p, at, beside) for p in operands]
                if function == "cast" and parts[0].dtype == value.dtype:
                    return parts[0]  # a copy
                return self.pool.apply(function, parts, value.dtype)
            case FilledPrimitive(value=number):
                return self.pool.number(number, value.dtype)
            case PositionPrimitive(dim=dim, start=start, step=step):
                index = at[dim].replaced(self.space.borders)
                return self.pool.position(index * step + start, value.dtype)
            case ReducePrimitive(function=function, operand=operand, dims=dims):
                return self._reduced(value, function, operand, dims, at)
            case ScanPrimitive():
                return self._scanned(value, value.made, at)
            case ContractPrimitive():
                return self._contracted(value, value.made, at)
            case GatherPrimitive(operand=operand, table=table):
                return self._read(operand, (*at, self._chosen(operand, table, at)))
            case _:
                raise NotFusedError("what is read is no primitive of a kernel")

    def _reduced(
        self,
        value: ProgramValue,
        function: str,
        operand: ViewedValue,
        dims: tuple[int, ...],
        at: tuple[Affine, ...],
    ) -> ExpressionNode:
        inner: list[Affine] = []
        loops: list[str] = []
        name = self.space.named(value)
        kept = iter(at)
        for d, n in enumerate(operand.shape):
            if d in dims:
                index, own = self.space.index(f"{name}/{d}", n)
                inner.append(index)
                loops += own
            else:
                inner.append(next(kept))
        body = self._read(operand, tuple(inner))
        free = self.pool.free(body)
        same = [n for n in loops if n not in free]
        if function.startswith("arg") and same == loops:  # the first of equals, or one
            return self.pool.number(0, value.dtype)
        if not loops:  # over one element
            return body
        if not same:
            return self.pool.reduce(function, body, loops, value.dtype)
        if function not in ("sum", "max", "min"):
            raise NotFusedError("a reduction of what is the same along a dimension")
        loops = [n for n in loops if n in free]
        found = self.pool.reduce(function, body, loops, value.dtype) if loops else body
        times = prod(self.space.sizes[n] for n in same)
        if function != "sum":
            return found
        number = self.pool.number(times, value.dtype)
        return self.pool.apply("mul", (found, number), value.dtype)

    def _scanned(
        self, value: ProgramValue, made: ScanPrimitive, at: tuple[Affine, ...]
    ) -> ExpressionNode:
        """A scan along the loop that reads it, from either end.

        What is read so many elements before is a scan of what is read there: outside
        of the row is what changes nothing. Rows that are read without their first
        elements have none of these in what is read there.
        """
        space, index, extent = self.space, at[made.dim], value.shape[made.dim]
        moved = index.replaced(space.borders)
        if len(moved.terms) != 1:
            raise NotFusedError("a scan that is read in another order")
        ((loop, factor),) = moved.terms
        whole = moved.range(space.sizes) == (0, extent - 1)
        late = factor == 1 and moved.constant <= 0
        begins = index.range(space.sizes)[0] == 0
        if not begins or (not (whole and factor == -1) and not late):
            raise NotFusedError("a scan that is read in another order")
        body = self._read(made.operand, at)
        if moved != index:
            outside = neutral(made.function, value.dtype)
            body = self._inside((index,), outside, body)
        return self.pool.scan(made.function, body, loop, factor < 0, value.dtype)

    def _between(
        self,
        made: ContractPrimitive,
        places: Mapping[str, Affine],
        body: ExpressionNode,
    ) -> ExpressionNode:
        """A product where its position is one of those that are summed, else 0."""
        pool = self.pool
        low, high = (self._read(t, (places[made.result[0]],)) for t in made.between)
        tile = made.left_letters[bool(made.terms)]  # behind the part of a factor
        at = pool.position(places[tile], low.dtype)
        inside = pool.apply(
            "and",
            (
                pool.apply("ge", (at, low), boolean),
                pool.apply("lt", (at, high), boolean),
            ),
            boolean,
        )
        zero = pool.number(0.0, body.dtype)
        return pool.apply("where", (inside, body, zero), body.dtype)

    def _contracted(
        self, value: ProgramValue, made: ContractPrimitive, at: tuple[Affine, ...]
    ) -> ExpressionNode:
        """A sum of products: of floats as they are computed."""
        pool = self.pool
        places = dict(zip(made.result, at, strict=True))
        numbers = made.left_letters[0] + made.right_letters[0] if made.terms else ""
        loops: list[str] = []
        name = self.space.named(value)
        for letter, n in made.sizes.items():
            if letter not in places and letter not in numbers:
                places[letter], own = self.space.index(f"{name}/{letter}", n)
                loops += own
        wide = arithmetic(value.dtype) if value.dtype.is_float else value.dtype

        def factor(operand: ViewedValue, letters: str, part: int) -> ExpressionNode:
            indices = [Affine((), part)] if made.terms else []
            indices += [places[s] for s in letters[len(indices) :]]
            read = self._read(operand, tuple(indices))
            narrow = read.dtype != wide
            return pool.apply("cast", (read,), wide) if narrow else read

        total: ExpressionNode | None = None
        for i, j in made.terms or ((0, 0),):
            pair = (
                factor(made.left, made.left_letters, i),
                factor(made.right, made.right_letters, j),
            )
            one = pool.apply("mul", pair, wide)
            total = one if total is None else pool.apply("add", (total, one), wide)
        assert total is not None
        if made.between:
            total = self._between(made, places, total)
        self.products.append(made.precision)
        self.windows |= over_windows(made)
        if loops:
            total = pool.reduce("sum", total, loops, wide)
        narrow = value.dtype != wide
        return pool.apply("cast", (total,), value.dtype) if narrow else total
