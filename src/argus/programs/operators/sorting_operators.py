"""Order of elements: sort, topk, medians, and where numbers belong in a sorted row.

The rank of an element is the number of those that come before it: smaller ones, and
equal ones at smaller positions. It is a sum for each element, and the element of a rank
is the only one that has it, so that nothing is moved. That takes the square of a
row of elements, and longer rows stay in torch. NaN is larger than all numbers, as in
torch.
"""

from __future__ import annotations

from typing import Any

import numpy

from argus.ir.dtypes import boolean, f32, i32, i64
from argus.ir.numerics import arithmetic
from argus.programs.operators.table_operators import gather
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_LONGEST, _SHORT = 2048, 512
"""Elements of a row that is ordered by ranks, and where there are many rows."""
_WORK, _LITTLE = 1 << 30, 1 << 28
"""Comparisons, at most, and of rows that are not short: torch sorts those faster. (An
H200 takes 0.7 us for a million of them; 2**32 took seven times what torch takes.)"""
_MOST_FOUND, _FOUND_OF = 16, 1 << 15
"""Elements that are found one after the other, at most; times those of their row."""
_LAUNCH, _READ = 5.0, 5e5
_OF_RANKS, _COMPARED = 20.0, 1.4e6
"""Microseconds of a launch, and elements that are read in one; the same of all launches
that find ranks, and comparisons."""
_LONG = 64
"""Elements of a row that is put in order in memory before they are compared."""


def _is_short(x: Any) -> bool:
    n = x.shape[-1]
    return n <= _LONGEST and x.size * n <= (_LITTLE if n > _SHORT else _WORK)


def _require_short(x: Any) -> None:
    if not _is_short(x):
        raise UntranslatedError(f"rows of {x.shape[-1]} elements in order")


def _few(rows: Any, count: int) -> bool:
    """Whether so few of the first elements are sooner found one after the other."""
    n, size = rows.shape[-1], rows.size
    if not rows.element.is_float or count > _MOST_FOUND or count * n > _FOUND_OF:
        return False
    walks = count * (_LAUNCH + size / _READ)
    return walks < _OF_RANKS + size * n / _COMPARED or not _is_short(rows)


def _ranks(x: Any, descending: bool) -> Any:
    """How many elements of its row come before each.

    Every pair is compared: by numbers, then by positions. NaN is an infinity whose
    position is behind (or ahead of) all of those that are none.
    """
    _require_short(x)
    n, recorder = x.shape[-1], x.recorder
    key: Any = x
    at: Any = TensorArray(recorder, recorder.positions(x.shape, x.ndim - 1)).cast(f32)
    if x.element.is_float:
        number = np.equal(x, x)
        key = np.where(number, x, np.inf)
        ends = (float(n), 0.0) if descending else (0.0, float(n))
        at = at + np.where(number, *ends).cast(f32)
    one, other = key[..., :, None], key[..., None, :]
    ahead: Any = np.greater(other, one) if descending else np.less(other, one)
    first = np.less(at[..., None, :], at[..., :, None])
    counted: Any = np.logical_or(ahead, np.logical_and(np.equal(other, one), first))
    found: Any = np.sum(counted.cast(i32), -1)
    return TensorArray(recorder, recorder.copied(found.operand))


def _of_ranks(ranks: Any, wanted: Any) -> Any:
    """The positions (..., count) whose ranks are ``wanted`` (..., count)."""
    recorder = ranks.recorder
    n = ranks.shape[-1]
    at = TensorArray(recorder, recorder.positions((*[1] * ranks.ndim, n), ranks.ndim))
    # Positions in a row of this length are f32, whose extremes need no border.
    hit = np.equal(ranks[..., None, :], wanted[..., :, None])
    found: Any = np.max(np.where(hit, at.cast(f32), 0.0), -1).cast(i64)
    return TensorArray(recorder, recorder.copied(found.operand))


def _one_by_one(rows: Any, count: int, descending: bool) -> Any:
    """Positions (..., count) of the first floats of each row in order.

    Each is the extreme of those behind the one before it: by numbers, then by
    positions. NaN has the number of an infinity, and a position ahead of all others in
    descending order, behind them else.
    """
    n, r = rows.shape[-1], rows.recorder
    aside = float(-n if descending else n)
    number = np.equal(rows, rows)
    key: Any = np.where(number, rows, np.inf)
    place: Any = TensorArray(r, r.positions(rows.shape, rows.ndim - 1)).cast(f32)
    place = place + np.where(number, 0.0, aside).cast(f32)
    extreme, none = (np.max, -np.inf) if descending else (np.min, np.inf)
    found: list[Any] = []
    last: Any = None
    for _ in range(count):
        held, left = key, None
        if found:
            ahead: Any = np.less(key, last) if descending else np.greater(key, last)
            left = ahead | (np.equal(key, last) & np.greater(place, found[-1]))
            held = np.where(left, key, none)
        most: Any = extreme(held, -1, keepdims=True)
        last = TensorArray(r, r.copied(most.operand)).cast(rows.element)
        hit: Any = np.equal(key, last)
        hit = hit if left is None else hit & left
        first: Any = np.min(np.where(hit, place, float(2 * n)), -1, keepdims=True)
        found.append(TensorArray(r, r.copied(first.operand)))
    at: Any = np.concatenate(found, -1) if count > 1 else found[0]
    missing: Any = np.less(at, 0.0) if descending else np.greater_equal(at, float(n))
    at = np.where(missing, at - aside, at).cast(i64)
    return TensorArray(r, r.copied(at.operand))


def _rows(x: Any, dim: int) -> Any:
    """A dimension as the last one; long rows that are compared lie in order."""
    rows: Any = np.moveaxis(x, dim, -1)
    if dim % x.ndim == x.ndim - 1 or x.shape[dim] < _LONG:
        return rows
    return TensorArray(x.recorder, x.recorder.copied(rows.operand))


def _ordered(x: Any, dim: int, descending: bool, count: int | None = None) -> list[Any]:
    """The first elements in order along a dimension, and where they were."""
    if not x.ndim:
        zero = x.recorder.filled((), 0, i64)
        return [x, TensorArray(x.recorder, zero)]
    if x.element == boolean:
        values, at = _ordered(x.cast(i64), dim, descending, count)
        return [values.cast(boolean), at]
    rows = _rows(x, dim)
    number: int = rows.shape[-1] if count is None else count
    recorder = x.recorder
    if _few(rows, number):
        at: Any = _one_by_one(rows, number, descending)
    else:
        wanted = recorder.positions((*[1] * (x.ndim - 1), number), x.ndim - 1)
        ranks: Any = _ranks(rows, descending)
        at = _of_ranks(ranks, TensorArray(recorder, wanted))
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
    if not x.ndim:
        return _ordered(x, dim, False)
    rows = _rows(x, dim)
    return _element(rows, k - 1, dim, keepdim)


def _element(rows: Any, rank: Any, dim: int, keepdim: bool) -> list[Any]:
    """Of each row the element of a rank, and where it was, along ``dim``."""
    recorder = rows.recorder
    at = TensorArray(recorder, recorder.positions(rows.shape, rows.ndim - 1))
    chosen: Any = np.where(np.equal(_ranks(rows, False), rank), at.cast(f32), 0.0)
    place: Any = np.max(chosen, -1, keepdims=True).cast(i64)
    place = TensorArray(recorder, recorder.copied(place.operand))
    found: list[Any] = [gather(rows, -1, place), place]
    axis = dim % rows.ndim
    if keepdim:
        return [np.moveaxis(p, -1, axis) for p in found]
    return [np.squeeze(p, -1) for p in found]


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
    rows = _rows(x, dim)
    missing: Any = np.sum(np.not_equal(rows, rows).cast(f32), -1, keepdims=True)
    if numbers:
        wanted = np.floor(np.maximum(float(n - 1) - missing, 0.0) * 0.5)
    else:
        wanted = np.where(missing > 0.0, float(n) - missing, float((n - 1) // 2))
    return _element(rows, wanted.cast(i64), dim, keepdim)


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
