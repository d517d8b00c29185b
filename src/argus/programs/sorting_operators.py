"""Order of elements: sort, topk, medians, and where numbers belong in a sorted row.

The rank of an element is the number of those that come before it: smaller ones, and
equal ones at smaller positions. It is a sum for each element, and the element of a rank
is the only one that has it, so that nothing is moved. That takes the square of a
row of elements, and
longer rows stay in torch. NaN is larger than all numbers, as in torch.
"""

from __future__ import annotations

from typing import Any

import numpy

from argus.ir.dtypes import boolean, f32, i64
from argus.ir.numerics import arithmetic
from argus.programs.operator_table import own
from argus.programs.table_operators import gather
from argus.programs.tensor_array import TensorArray
from argus.programs.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_LONGEST = 2048
"""Elements of a row that is ordered by ranks."""
_WORK = 1 << 34
"""Comparisons, at most."""


def _before(a: Any, b: Any, descending: bool) -> Any:
    """Whether elements come before others, and are not equal."""
    if not a.element.is_float:
        return np.greater(a, b) if descending else np.less(a, b)
    number, other = np.equal(a, a), np.equal(b, b)
    if descending:
        return np.greater(a, b) | (np.logical_not(number) & other)
    return np.less(a, b) | (number & np.logical_not(other))


def _require_short(x: Any) -> None:
    n = x.shape[-1]
    if n > _LONGEST or x.size * n > _WORK:
        raise UntranslatedError(f"rows of {n} elements in order")


def _ranks(x: Any, descending: bool) -> Any:
    """How many elements of its row come before each."""
    _require_short(x)
    n, recorder = x.shape[-1], x.recorder
    one, other = x[..., :, None], x[..., None, :]
    shape = (*x.shape, n)
    at, of = (
        TensorArray(recorder, recorder.positions(shape, x.ndim + d)) for d in (-1, 0)
    )
    ahead = _before(other, one, descending)
    behind = _before(one, other, descending)
    equal = np.logical_not(np.logical_or(ahead, behind))
    counted: Any = np.logical_or(ahead, np.logical_and(equal, np.less(of, at)))
    found: Any = np.sum(counted.cast(i64), -1)
    return TensorArray(recorder, recorder.copied(found.operand))


def _of_ranks(ranks: Any, count: int) -> Any:
    """The position whose rank is 0, 1 and so on."""
    recorder = ranks.recorder
    shape = (*ranks.shape[:-1], count, ranks.shape[-1])
    wanted = TensorArray(recorder, recorder.positions(shape, ranks.ndim - 1))
    at = TensorArray(recorder, recorder.positions(shape, ranks.ndim))
    # Positions in a row of this length are f32, whose extremes need no border.
    chosen: Any = np.where(np.equal(ranks[..., None, :], wanted), at.cast(f32), 0.0)
    found: Any = np.max(chosen, -1).cast(i64)
    return TensorArray(recorder, recorder.copied(found.operand))


def _ordered(x: Any, dim: int, descending: bool, count: int | None = None) -> list[Any]:
    """The first elements in order along a dimension, and where they were."""
    if not x.ndim:
        zero = x.recorder.filled((), 0, i64)
        return [x, TensorArray(x.recorder, zero)]
    if x.element == boolean:
        values, at = _ordered(x.cast(i64), dim, descending, count)
        return [values.cast(boolean), at]
    rows: Any = np.moveaxis(x, dim, -1)
    number: int = rows.shape[-1] if count is None else count
    at: Any = _of_ranks(_ranks(rows, descending), number)
    values: Any = gather(rows, -1, at)
    return [np.moveaxis(values, -1, dim), np.moveaxis(at, -1, dim)]


@own("topk")
def topk(
    x: Any, k: int, dim: int = -1, largest: bool = True, ordered: bool = True
) -> list[Any]:
    """The largest or smallest elements in order, and where they were."""
    if not k:
        raise UntranslatedError("no elements")
    return _ordered(x, dim, largest, k)


@own("sort")
def ordered(x: Any, dim: int = -1, descending: bool = False) -> list[Any]:
    """All elements in order, equal ones as they were, and where they were."""
    return _ordered(x, dim, descending)


@own("sort.stable")
def ordered_stable(
    x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[Any]:
    """The same."""
    return _ordered(x, dim, descending)


@own("kthvalue")
def kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> list[Any]:
    """The element of a rank, counted from 1, and where it was."""
    values, at = _ordered(x, dim, False, k)
    if not x.ndim:
        return [values, at]
    axis = dim % x.ndim
    parts = [np.moveaxis(v, axis, -1)[..., k - 1 :] for v in (values, at)]
    back: list[Any] = [np.moveaxis(p, -1, axis) for p in parts]
    return back if keepdim else [np.squeeze(p, axis) for p in back]


@own("median.dim")
def median(x: Any, dim: int = -1, keepdim: bool = False) -> list[Any]:
    """The element in the middle, of two the smaller one; NaN where there is any."""
    return _middle(x, dim, keepdim, numbers=False)


@own("nanmedian.dim")
def median_of_numbers(x: Any, dim: int = -1, keepdim: bool = False) -> list[Any]:
    """The same of what is not NaN; NaN where nothing is."""
    return _middle(x, dim, keepdim, numbers=True)


@own("median")
def whole_median(x: Any) -> Any:
    """The element in the middle of all."""
    return _middle(x.reshape(-1), 0, False, numbers=False)[0]


@own("nanmedian")
def whole_median_of_numbers(x: Any) -> Any:
    """The same of what is not NaN."""
    return _middle(x.reshape(-1), 0, False, numbers=True)[0]


def _middle(x: Any, dim: int, keepdim: bool, *, numbers: bool) -> list[Any]:
    """The element of the middle rank, and where it was."""
    n = x.shape[dim] if x.ndim else 1
    if not x.ndim or not x.element.is_float:
        return kth(x, (n + 1) // 2, dim, keepdim)
    rows: Any = np.moveaxis(x, dim, -1)
    missing: Any = np.sum(np.not_equal(rows, rows).cast(i64), -1, keepdims=True)
    if numbers:
        wanted = np.floor_divide(np.maximum(n - missing - 1, 0), 2)
    else:
        wanted = np.where(missing > 0, n - missing, (n - 1) // 2)
    ranks: Any = _ranks(rows, False)
    recorder = x.recorder
    at = TensorArray(recorder, recorder.positions(rows.shape, rows.ndim - 1))
    chosen: Any = np.where(np.equal(ranks, wanted), at.cast(f32), 0.0)
    found: Any = np.max(chosen, -1, keepdims=True).cast(i64)
    found = TensorArray(recorder, recorder.copied(found.operand))
    parts = [np.moveaxis(p, -1, dim) for p in (gather(rows, -1, found), found)]
    return parts if keepdim else [np.squeeze(p, dim % x.ndim) for p in parts]


@own("searchsorted.Tensor")
def searchsorted(
    edges: Any, x: Any, *, out_int32: bool = False,
    right: bool = False, side: str | None = None, sorter: Any | None = None,
) -> Any:  # fmt: skip
    """How many edges of the row are below each number, or not above it.

    Raises UntranslatedError for an order that is given beside.
    """
    if sorter is not None:
        raise UntranslatedError("edges in another order")
    _require_short(edges)
    after = right or side == "right"
    if edges.ndim == 1:
        low: Any = np.reshape(edges, (*[1] * x.ndim, edges.shape[0]))
    else:
        low = edges[..., None, :]
    number: Any = x[..., None]
    below = np.less_equal(low, number) if after else np.less(low, number)
    if x.element.is_float:  # NaN is above all
        below = np.logical_or(below, np.not_equal(number, number))
    found: Any = np.sum(below.cast(i64), -1)
    return found


@own("bucketize.Tensor")
def bucketize(x: Any, edges: Any, **named: Any) -> Any:
    """The same, with the numbers first."""
    return searchsorted(edges, x, **named)


@own("histc")
def histogram(x: Any, bins: int = 100, low: Any = 0, high: Any = 0) -> Any:
    """How many numbers lie in each of equal parts from ``low`` to ``high``.

    The last part has its upper end. Raises UntranslatedError where the ends are those
    of the elements.
    """
    if low == high:
        raise UntranslatedError("a histogram between the least and the largest element")
    whole = x.element.kind == "int"
    wide = i64 if whole else arithmetic(x.element)
    line: Any = x.reshape(1, -1).cast(wide)
    if line.size * bins > _WORK:
        raise UntranslatedError(f"{line.size} elements in {bins} parts")
    number = int if whole else float
    low, high = number(low), number(high)
    part: Any = (line - low) * bins
    part = part // (high - low) if whole else np.floor(part / (high - low))
    part = np.where(np.equal(part, number(bins)), number(bins - 1), part)
    inside = (line >= low) & (line <= high)
    at: Any = TensorArray(x.recorder, x.recorder.positions((bins, 1), 0)).cast(wide)
    hits = np.logical_and(np.equal(part, at), inside)
    return np.sum(hits.cast(i64), -1).cast(x.element)
