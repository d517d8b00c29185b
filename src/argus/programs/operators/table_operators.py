"""Elements chosen by tables of positions: rows of a dimension, or single elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argus.ir.dtypes import f32, i64
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

_EXTREME = 2
"""The mode of bags of which the largest is taken."""


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


@own("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: TensorArray, table: TensorArray, offsets: TensorArray,
    scale: bool = False, mode: int = 0, sparse: bool = False,
    factors: TensorArray | None = None, last: bool = False, padding: int = -1,
) -> list[Any]:  # fmt: skip
    """Sums, means or extremes of rows of a matrix, of bags of equally many positions.

    Positions ``padding`` do not count; of no others, all three are 0. Raises
    UntranslatedError for bags that begin elsewhere.
    """
    known = digit_table(offsets.operand)
    bags = offsets.shape[0] - last
    if known is None or known.start or len(known.sizes) > 1:
        raise UntranslatedError("bags of rows of different sizes")
    step = known.factors[0] if bags > 1 else table.shape[0]
    if not bags or not step or step * bags != table.shape[0]:
        raise UntranslatedError("bags of rows of different sizes")
    table = table.reshape(bags, step)
    rows: Any = rows_of(weight, 0, table)
    if factors is not None:
        rows = rows * factors.reshape(bags, step, 1)
    if padding < 0:
        if mode == _EXTREME:
            return [np.max(rows, 1)]
        found: Any = np.sum(rows, 1)
        return [found / float(step) if mode else found]
    kept: Any = np.not_equal(table, padding).reshape(bags, step, 1)
    count: Any = np.sum(kept, 1)
    if mode == _EXTREME:
        most: Any = np.max(np.where(kept, rows, -math.inf), 1)
        return [np.where(count > 0, most, 0.0)]
    found = np.sum(np.where(kept, rows, 0.0), 1)
    return [found / np.maximum(count, 1).cast(f32) if mode else found]


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
    parts: list[Any] = []
    for d, table in zip(dims, tables.values(), strict=True):
        n = x.shape[d]
        even = _without_floats(table, n)
        if even is not None:
            parts.append(even)
            continue
        wide: Any = table.cast(i64)
        parts.append(wide if _natural(table) else np.where(wide < 0, wide + n, wide))
    flat = parts[0]
    for d, at in zip(dims[1:], parts[1:], strict=True):
        flat = flat * x.shape[d] + at
    count = len(dims)
    if count > 1:
        if x.operand.views:  # no reshape chooses from what is not in order
            x = TensorArray(x.recorder, x.recorder.copied(x.operand))
        x = x.reshape(*x.shape[: dims[0]], -1, *x.shape[dims[0] + count :])
    return rows_of(x, dims[0], flat)


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
