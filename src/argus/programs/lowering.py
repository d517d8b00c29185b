"""A group of values over loops: what one kernel computes.

    group = lowered(stored, inside)

Row loops are those of blocks: each reduction of the group has one result for each of
their indices. Column loops are those that reductions run over, and along which what
depends on them is stored. Adjacent loops that every access walks as one are one loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from argus.programs.affine import Affine
from argus.programs.expressions import (
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    PositionNode,
    ReduceNode,
    walked,
)
from argus.programs.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.recorder import Part, type_of
from argus.programs.tensor_program import (
    ContractPrimitive,
    FilledPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ReducePrimitive,
    ViewedValue,
)
from argus.programs.views import ReshapedView

_MOST_SPLITS = 64


class NotFusedError(Exception):
    """Why some values cannot be computed by one kernel."""


@dataclass(frozen=True)
class KernelStore:
    """``node`` is stored at ``offset`` elements after the first of ``buffer``."""

    buffer: ProgramValue
    offset: Affine
    node: ExpressionNode


@dataclass(frozen=True)
class LoweredGroup:
    """What a kernel computes. ``rows`` and ``columns`` are loops, outermost first."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sizes: dict[str, int]
    stores: tuple[KernelStore, ...]
    pool: ExpressionPool

    @property
    def nodes(self) -> tuple[ExpressionNode, ...]:
        """All nodes, parts first."""
        return tuple(walked([s.node for s in self.stores]))

    @property
    def elements(self) -> tuple[ElementNode, ...]:
        """All elements that are read."""
        return tuple(n for n in self.nodes if isinstance(n, ElementNode))

    @property
    def reductions(self) -> tuple[ReduceNode, ...]:
        """All reductions, inner ones first."""
        return tuple(n for n in self.nodes if isinstance(n, ReduceNode))


def lowered(stored: ProgramValue, inside: Collection[ProgramValue]) -> LoweredGroup:
    """One kernel that stores a value, and computes those ``inside`` on the way.

    Raises NotFusedError where that is not one kernel.
    """
    space = LoopSpace()
    for _ in range(_MOST_SPLITS):
        try:
            return _collapsed(_Lowering(space, inside).group(stored))
        except NeedsSplitError as need:
            space.split(need)
        except NotAffineError as error:
            raise NotFusedError(str(error)) from error
    raise NotFusedError("loops are split again and again")


def offset_of(value: ProgramValue, coordinates: Sequence[Affine]) -> Affine:
    """Where an element is, in elements after the first."""
    total = Affine()
    for index, stride in zip(coordinates, value.strides, strict=True):
        total = total + index * stride
    return total


class _Lowering:
    def __init__(self, space: LoopSpace, inside: Collection[ProgramValue]) -> None:
        self.space, self.inside = space, inside
        self.pool = ExpressionPool()
        self._done: dict[tuple[ProgramValue, tuple[Affine, ...]], ExpressionNode] = {}

    def group(self, stored: ProgramValue) -> LoweredGroup:
        at: list[Affine] = []
        loops: list[str] = []
        for d, n in enumerate(stored.shape):
            index, own = self.space.index(f"o{d}", n)
            at.append(index)
            loops += own
        node = self._value(stored, tuple(at), top=True)
        node, rows, columns = self._matched(node, loops)
        store = KernelStore(stored, offset_of(stored, at), node)
        sizes = {loop: self.space.sizes[loop] for loop in (*rows, *columns)}
        return LoweredGroup(tuple(rows), tuple(columns), sizes, (store,), self.pool)

    # -- expressions

    def _read(self, operand: ViewedValue, at: tuple[Affine, ...]) -> ExpressionNode:
        value = operand.value
        if value not in self.inside:
            return self.pool.element(value, source_offset(operand, at, self.space))
        return self._value(value, source_coordinates(operand, at, self.space))

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
            self._done[key] = self._made(value, at, top)
        return self._done[key]

    def _made(
        self, value: ProgramValue, at: tuple[Affine, ...], top: bool
    ) -> ExpressionNode:
        if value not in self.inside and not top:
            return self.pool.element(value, offset_of(value, at))
        match value.made:
            case MapPrimitive(function=function, operands=operands):
                beside = operands[1:] if function == "where" else operands
                parts = [self._part(p, at, beside) for p in operands]
                return self.pool.apply(function, parts, value.dtype)
            case FilledPrimitive(value=number):
                return self.pool.number(number, value.dtype)
            case PositionPrimitive(dim=dim, start=start, step=step):
                return self.pool.position(at[dim] * step + start, value.dtype)
            case ReducePrimitive(function=function, operand=operand, dims=dims):
                return self._reduced(value, function, operand, dims, at)
            case ContractPrimitive():
                raise NotFusedError("a product is a kernel of its own")
            case _:
                raise NotFusedError(f"{value.name} is no primitive of a kernel")

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
        kept = iter(at)
        for d, n in enumerate(operand.shape):
            if d in dims:
                index, own = self.space.index(f"{value.name}/{d}", n)
                inner.append(index)
                loops += own
            else:
                inner.append(next(kept))
        body = self._read(operand, tuple(inner))
        if not loops:  # over one element
            if function.startswith("arg"):
                return self.pool.number(0, value.dtype)
            return body
        if set(loops) - self.pool.free(body):
            raise NotFusedError("a reduction of what is the same along a dimension")
        return self.pool.reduce(function, body, loops, value.dtype)

    # -- rows and columns

    def _matched(
        self, node: ExpressionNode, loops: list[str]
    ) -> tuple[ExpressionNode, list[str], list[str]]:
        """Rows and columns, with the loops of all reductions renamed to the columns."""
        found = [n for n in walked([node]) if isinstance(n, ReduceNode)]
        if not found:
            return node, loops, []
        frees = {self.pool.free(n) for n in found}
        if len(frees) != 1:
            raise NotFusedError("reductions with results of different shapes")
        (free,) = frees
        if not free <= set(loops):
            raise NotFusedError("a reduction over results of another one")
        rows = [n for n in loops if n in free]
        columns = [n for n in loops if n not in free] or list(found[0].loops)
        names: dict[str, str] = {}
        for reduction in found:
            names.update(self._paired(reduction.loops, columns))

        def rename(n: ExpressionNode) -> ExpressionNode:
            match n:
                case ElementNode(buffer=buffer, offset=offset):
                    return self.pool.element(buffer, offset.renamed(names))
                case PositionNode(index=index, dtype=dtype):
                    return self.pool.position(index.renamed(names), dtype)
                case ReduceNode(function=f, body=body, dtype=dtype):
                    return self.pool.reduce(f, body, columns, dtype)
                case _:
                    return n

        return self.pool.rewritten(node, rename, {}), rows, columns

    def _paired(self, loops: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
        """Loops of a reduction by those of the columns, of the same sizes.

        Raises NotFusedError where they have another number of indices, and
        NeedsSplitError.
        """
        sizes = self.space.sizes
        if prod(sizes[n] for n in loops) != prod(sizes[n] for n in columns):
            raise NotFusedError("reductions over different numbers of elements")
        for mine, other in zip(reversed(loops), reversed(columns), strict=False):
            small, large = sorted((mine, other), key=sizes.__getitem__)
            if sizes[small] == sizes[large]:
                continue
            if sizes[large] % sizes[small]:
                raise NotFusedError("reductions over dimensions of different sizes")
            raise NeedsSplitError(large, sizes[small])
        return dict(zip(loops, columns, strict=True))


def _collapsed(group: LoweredGroup) -> LoweredGroup:
    """Adjacent loops that every access walks as one become one."""
    indices = [s.offset for s in group.stores]
    for node in group.nodes:
        match node:
            case ElementNode(offset=index) | PositionNode(index=index):
                indices.append(index)
            case _:
                pass
    sizes = dict(group.sizes)
    gone: set[str] = set()

    def joined(loops: Sequence[str]) -> tuple[str, ...]:
        kept: list[str] = []
        for loop in reversed(loops):
            inner = kept[0] if kept else None
            if inner is not None and all(
                i.factor(loop) == i.factor(inner) * sizes[inner] for i in indices
            ):
                # The outer index is what the inner one counts beyond its size.
                sizes[inner] *= sizes.pop(loop)
                gone.add(loop)
            else:
                kept.insert(0, loop)
        return tuple(kept)

    rows, columns = joined(group.rows), joined(group.columns)
    if not gone:
        return group
    pool = group.pool

    def without(index: Affine) -> Affine:
        left = {n: c for n, c in index.terms if n not in gone}
        return Affine.of(left, index.constant)

    def change(n: ExpressionNode) -> ExpressionNode:
        match n:
            case ElementNode(buffer=buffer, offset=offset):
                return pool.element(buffer, without(offset))
            case PositionNode(index=index, dtype=dtype):
                return pool.position(without(index), dtype)
            case ReduceNode(function=f, body=body, dtype=dtype):
                return pool.reduce(f, body, columns, dtype)
            case _:
                return n

    done: dict[ExpressionNode, ExpressionNode] = {}
    stores = tuple(
        KernelStore(s.buffer, without(s.offset), pool.rewritten(s.node, change, done))
        for s in group.stores
    )
    return LoweredGroup(rows, columns, sizes, stores, pool)


def offsets_through(operand: ViewedValue) -> tuple[tuple[int, ...], int] | None:
    """Strides and start of an operand in elements of its value; None if it has none."""
    space = LoopSpace()
    for _ in range(_MOST_SPLITS):
        at: list[Affine] = []
        digits: list[tuple[str, ...]] = []
        for d, n in enumerate(operand.shape):
            index, loops = space.index(f"o{d}", n)
            at.append(index)
            digits.append(loops)
        try:
            offset = source_offset(operand, at, space)
        except NeedsSplitError as need:
            space.split(need)
            continue
        except NotAffineError:
            return None
        strides: list[int] = []
        for loops in digits:
            for outer, inner in pairwise(loops):
                if offset.factor(outer) != offset.factor(inner) * space.sizes[inner]:
                    return None
            strides.append(offset.factor(loops[-1]) if loops else 1)
        return tuple(strides), offset.constant
    return None


def source_offset(
    operand: ViewedValue, at: Sequence[Affine], space: LoopSpace
) -> Affine:
    """Where an operand's element is in its value, which is dense.

    A reshape of a dense tensor moves nothing, and splits no loop. Raises like
    `source_coordinates`.
    """
    if operand.views and isinstance(operand.views[0], ReshapedView):
        shape = operand.views[0].shape
        seen = replace(operand.value, shape=shape)
        operand = ViewedValue(seen, operand.views[1:])
    return offset_of(operand.value, source_coordinates(operand, at, space))


def source_coordinates(
    operand: ViewedValue, at: Sequence[Affine], space: LoopSpace
) -> tuple[Affine, ...]:
    """Coordinates of an operand's value at coordinates of the operand.

    Raises NeedsSplitError and NotAffineError, see `ReshapedView.coordinates`.
    """
    shapes = [operand.value.shape, *(v.shape for v in operand.views)]
    found = tuple(at)
    for view, source in zip(reversed(operand.views), shapes[-2::-1], strict=True):
        found = view.coordinates(found, source, space)
    return found
