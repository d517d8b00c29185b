"""Elements chosen by tables of positions: rows of a dimension, or single elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np

from argus.ir.dtypes import i64
from argus.layout import WARP_LANES
from argus.programs.lowering.known_tables import (
    DigitTable,
    digit_table,
    quotient_table,
)
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    GatherPrimitive,
    MapPrimitive,
    PositionPrimitive,
    UntranslatedError,
    ViewedValue,
)
from argus.programs.tensors.views import BorderedView, LinearView, permuted, sliced


def _chosen(x: TensorArray, view: LinearView, table: TensorArray) -> TensorArray:
    """What a table of the result's shape chooses along the last dimension of a view."""
    if not x.size:
        raise UntranslatedError("elements chosen from an empty tensor")
    recorder = x.recorder
    narrow = table.element.kind == "bool" or table.element.bits < 32
    at = table.cast(i64) if narrow else table
    made = GatherPrimitive(x.operand.through(view), at.operand)
    return TensorArray(recorder, recorder.made("gather", at.shape, x.element, made))


def rows_of(x: TensorArray, dim: int, table: TensorArray) -> TensorArray:
    """Positions of a dimension, in whose place those of the table stand.

    A view, where the table is known and moves elements by rule.
    """
    known = digit_table(table.operand)
    if known is not None and known.inside(x.shape[dim]):
        return _moved(x, dim, table, known)
    even = _without_floats(table, x.shape[dim])
    table = table if even is None else even
    shape = (*x.shape[:dim], *table.shape, *x.shape[dim + 1 :])
    after, last = dim + table.ndim, len(shape)
    factors = tuple(
        ((d if d < dim else last if d == dim else after + d - dim - 1, 1),)
        for d in range(x.ndim)
    )
    view = LinearView((*shape, x.shape[dim]), factors, (0,) * x.ndim)
    along = LinearView(
        shape, tuple(((dim + d, 1),) for d in range(table.ndim)), (0,) * table.ndim
    )
    return _chosen(x, view, table.seen(along))


def _moved(
    x: TensorArray, dim: int, table: TensorArray, known: DigitTable
) -> TensorArray:
    """The same through a view."""
    after = dim + len(known.sizes)
    factors = tuple(
        tuple((dim + i, f) for i, f in enumerate(known.factors))
        if d == dim
        else ((d if d < dim else after + d - dim - 1, 1),)
        for d in range(x.ndim)
    )
    starts = tuple(known.start if d == dim else 0 for d in range(x.ndim))
    shape = (*x.shape[:dim], *known.sizes, *x.shape[dim + 1 :])
    seen = x.seen(LinearView(shape, factors, starts))
    return seen.reshape(*x.shape[:dim], *table.shape, *x.shape[dim + 1 :])


@own("embedding")
def embedding(weight: TensorArray, table: TensorArray, *_: Any) -> TensorArray:
    """Rows of a matrix."""
    return rows_of(weight, 0, table)


@own("index_select")
def index_select(x: TensorArray, dim: int, table: TensorArray) -> TensorArray:
    """Positions of a dimension."""
    if not x.ndim:  # torch says one number, of a line of positions, too
        return x
    return rows_of(x, dim % x.ndim, table)


@own("index.Tensor", "_unsafe_index.Tensor")
def index(x: TensorArray, indices: Sequence[Any]) -> TensorArray:
    """``x[indices]``; None is a whole dimension, positions below 0 count from the end.

    Tables side by side choose from their dimensions as from one. Raises
    UntranslatedError for truth values, whose number nobody knows.
    """
    tables = {d: t for d, t in enumerate(indices) if t is not None}
    if any(t.element.kind == "bool" for t in tables.values()):
        raise UntranslatedError("elements chosen by truth values")
    dims = list(tables)
    if dims != list(range(dims[0], dims[-1] + 1)):
        order = [*dims, *(d for d in range(x.ndim) if d not in dims)]
        x, dims = x.seen(permuted(x.shape, order)), list(range(len(dims)))
    chosen = dict(zip(dims, tables.values(), strict=True))
    even = _rising(x, chosen)
    loose = [d for d in dims if d not in even]
    flat: Any = None
    for d in loose:
        at = _positions_of(chosen[d], x.shape[d])
        flat = at if flat is None else flat * x.shape[d] + at
    count = len(loose)
    if x.operand.views and len(dims) > 1:  # it chooses from what is in order
        x = TensorArray(x.recorder, x.recorder.copied(x.operand))
    if count > 1:
        x = x.reshape(*x.shape[: loose[0]], -1, *x.shape[loose[0] + count :])
    if not even:
        return rows_of(x, dims[0], flat)
    last = loose[0]
    moved = {d if d < last else d - count + 1: t for d, t in even.items()}
    shape = np.broadcast_shapes(*(t.shape for t in chosen.values()))
    return _beside(x, dims[0], last, flat, moved, shape)


def _rising(x: TensorArray, tables: dict[int, Any]) -> dict[int, DigitTable]:
    """Tables whose digits are their coordinates, and rise, by what they index.

    What they choose is a view: a table of all images beside one of pixels. None, where
    the others are not side by side, or have few positions along dimensions of their own
    (``x[arange(n), chosen]``): no tile has an axis of both.
    """
    found: dict[int, DigitTable] = {}
    for d, table in tables.items():
        known = digit_table(table.operand)
        if known is None or known.sizes != table.shape or not known.inside(x.shape[d]):
            continue
        if all(f >= 0 for f in known.factors):  # else it is seen with a border
            found[d] = known
    loose = [d for d in tables if d not in found]
    if not loose or loose != list(range(loose[0], loose[-1] + 1)):
        return {}
    own = _walked([tables[d].shape for d in loose])
    shared = _walked([t.sizes for t in found.values()])
    able = prod(n for d, n in own.items() if d not in shared) >= WARP_LANES
    return found if able else {}


def _walked(shapes: Sequence[Sequence[int]]) -> dict[int, int]:
    """The dimensions along which tables have several positions, from the last one."""
    met = np.broadcast_shapes(*map(tuple, shapes))[::-1]
    return {d: n for d, n in enumerate(met) if n > 1}


def _beside(
    x: TensorArray,
    first: int,
    dim: int,
    table: TensorArray,
    even: dict[int, DigitTable],
    shape: Sequence[int],
) -> TensorArray:
    """Positions of ``dim`` by a table, and of those beside it by tables that rise.

    The dimensions of all tables, which meet in ``shape``, stand from ``first`` on.
    """
    tabled = {dim, *even}
    rest = [d for d in range(x.ndim) if d not in tabled]
    before, after = rest[:first], rest[first:]
    result = (
        *(x.shape[d] for d in before),
        *shape,
        *(x.shape[d] for d in after),
    )
    places = {d: i for i, d in enumerate(before)}
    places |= {d: first + len(shape) + i for i, d in enumerate(after)}
    places[dim] = len(result)

    def met(sizes: Sequence[int], factors: Sequence[int]) -> list[tuple[int, int]]:
        ahead = first + len(shape) - len(sizes)
        pairs = zip(sizes, factors, strict=True)
        return [(ahead + i, f) for i, (n, f) in enumerate(pairs) if n > 1]

    factors = tuple(
        tuple(met(even[d].sizes, even[d].factors)) if d in even else ((places[d], 1),)
        for d in range(x.ndim)
    )
    starts = tuple(even[d].start if d in even else 0 for d in range(x.ndim))
    view = LinearView((*result, x.shape[dim]), factors, starts)
    ones = met(table.shape, [1] * table.ndim)
    ahead = first + len(shape) - table.ndim
    along = tuple(
        tuple(p for p in ones if p[0] == ahead + i) for i in range(table.ndim)
    )
    spread = LinearView(result, along, (0,) * table.ndim)
    return _chosen(x, view, table.seen(spread))


def _positions_of(table: TensorArray, n: int) -> Any:
    """A table's positions of n; those below 0 count from the end."""
    even = _without_floats(table, n)
    if even is not None:
        return even
    wide: Any = table.cast(i64)
    if _natural(table):
        return wide
    return cast("Any", np.where(wide < 0, wide + n, wide))


def _without_floats(table: TensorArray, n: int) -> Any:
    """A table that is computed as floats, as quotients of positions below n, or None.

    So they are the same numbers for all sizes.
    """
    known = quotient_table(table.operand)
    if known is None:
        return None
    recorder, shape = table.recorder, table.shape
    dim = max(range(len(shape)), key=lambda d: shape[d])
    first = recorder.positions(shape, dim, known.start, known.factor)
    at: Any = TensorArray(recorder, first)
    even = np.floor_divide(at, known.divisor) if known.divisor > 1 else at
    return np.minimum(even, n - 1)


def _natural(table: TensorArray) -> bool:
    """Whether a table counts, from 0 or more."""
    made = table.operand.value.made
    if any(isinstance(v, BorderedView) and v.fill < 0 for v in table.operand.views):
        return False
    return isinstance(made, PositionPrimitive) and made.start >= 0 and made.step >= 0


@own("gather")
def gather(x: TensorArray, dim: int, index: TensorArray, **_: Any) -> TensorArray:
    """Elements along a dimension, by a table for each place.

    One element of each row is a sum with one term, which joins other sums of that row.
    """
    if not x.ndim:
        return x.reshape(*index.shape)
    axis = dim % x.ndim
    if index.shape[axis] == 1:
        return _one_of_each(x, axis, index)
    rank = x.ndim
    factors = tuple(((rank if d == axis else d, 1),) for d in range(rank))
    view = LinearView((*index.shape, x.shape[axis]), factors, (0,) * rank)
    return _chosen(x, view, index)


def _one_of_each(x: TensorArray, axis: int, index: TensorArray) -> TensorArray:
    """The sum of a row in which all elements but one are 0.

    Of maps that is taken of their operands: so that of ``x - max(x)`` it is no sum
    that needs the maximum, but another one of x.
    """
    wanted = tuple(
        n if d == axis else k
        for d, (n, k) in enumerate(zip(x.shape, index.shape, strict=True))
    )
    rows = x if wanted == x.shape else x[tuple(slice(0, n) for n in wanted)]
    recorder = x.recorder
    at = recorder.positions(rows.shape, axis)
    chosen = recorder.map("eq", at, index.operand)
    return TensorArray(recorder, _chosen_of(recorder, rows.operand, axis, chosen, {}))


def _chosen_of(
    recorder: ProgramRecorder,
    operand: ViewedValue,
    axis: int,
    chosen: Any,
    done: dict[ViewedValue, ViewedValue],
) -> ViewedValue:
    """Elements along an axis that are chosen, one of each row."""
    if operand in done:
        return done[operand]
    made, shape = operand.value.made, operand.shape
    if shape[axis] == 1 or _alike_along(operand, axis):
        parts = [(0, 1, 1 if d == axis else n) for d, n in enumerate(shape)]
        found = operand.through(sliced(shape, parts))
    elif isinstance(made, MapPrimitive) and not operand.views:
        each = [
            _chosen_of(recorder, part, axis, chosen, done)
            if isinstance(part, ViewedValue)
            else part
            for part in made.operands
        ]
        narrow = replace(made, operands=tuple(each))
        wanted = tuple(1 if d == axis else n for d, n in enumerate(shape))
        found = recorder.made("chosen", wanted, operand.value.dtype, narrow)
    else:
        dtype = operand.value.dtype
        one = recorder.map("where", chosen, operand, recorder.cast(0, dtype))
        total = recorder.reduce("sum", one, (axis,), True)
        found = TensorArray(recorder, total).cast(dtype).operand
    done[operand] = found
    return found


def _alike_along(operand: ViewedValue, axis: int) -> bool:
    """Whether an operand is repeated along a dimension."""
    last = operand.views[-1] if operand.views else None
    return isinstance(last, LinearView) and all(
        d != axis for pairs in last.factors for d, _ in pairs
    )
