"""Running sums, extremes with their places, and running sums of exponentials."""

from __future__ import annotations

from typing import Any

import numpy

from argus.ir.dtypes import boolean, f32, i64
from argus.programs.lowering.known_tables import digit_table
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.specification.aten.reducing import cumsum_dim

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_EXACT_FLOATS = 1 << 24
"""Whole numbers up to it are f32."""
_PART = 32
"""Places of a row that are compared with each other."""
_FEW = 1 << 24
"""Exponentials that take less than the launches for parts."""
_WORK = 1 << 32
"""Exponentials, at most."""


@own("cumsum")
def running_sum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sums up to each element; of numbers that are known, what positions give.

    Transformers number documents that are packed in one row so, of which they see
    that it is one.
    """
    found: Any = cumsum_dim(x, dim, dtype=dtype)
    known = digit_table(found.operand)
    if known is None or known.sizes != found.shape:
        return found
    r = found.recorder
    rising = [d for d, factor in enumerate(known.factors) if factor]
    made = r.filled(found.shape, known.start, found.element)
    for dim in rising:
        made = r.map("add", made, r.positions(found.shape, dim, 0, known.factors[dim]))
    return TensorArray(r, made)


@own("cummax")
def running_maximum(x: Any, dim: int) -> list[Any]:
    """The largest so far, and where it was last."""
    return _running("max", x, dim)


@own("cummin")
def running_minimum(x: Any, dim: int) -> list[Any]:
    """The least so far, and where it was last."""
    return _running("min", x, dim)


def _running(function: str, x: Any, dim: int) -> list[Any]:
    r = x.recorder
    if not x.ndim:
        return [x, TensorArray(r, r.filled((), 0, i64))]
    axis = dim % x.ndim
    if x.shape[axis] > _EXACT_FLOATS:
        raise UntranslatedError("a position among more elements than f32 counts")
    whole = x.cast(i64) if x.element == boolean else x
    extreme: Any = TensorArray(r, r.scan(function, whole.operand, axis))
    # The extreme so far is taken where an element is equal to it.
    hit: Any = np.equal(whole, extreme)
    if x.element.is_float:
        hit = np.logical_or(hit, np.not_equal(whole, whole))
    at = TensorArray(r, r.positions(x.shape, axis))
    taken: Any = np.where(hit, at.cast(f32), 0.0)
    last = TensorArray(r, r.scan("max", taken.operand, axis))
    return [extreme.cast(x.element), last.cast(i64)]


@own("logcumsumexp")
def running_logsumexp(x: Any, dim: int) -> Any:
    """``log(cumsum(exp(x)))``; each by the largest of its own terms.

    A scan by one shift for the whole row would lose what lies far below it. Each place
    of a part of a row sums up all before it, and what the parts before come to.
    """
    if not x.ndim:
        return x
    rows: Any = np.moveaxis(x, dim, -1)
    if rows.size * min(_PART, rows.shape[-1]) > _WORK:
        raise UntranslatedError(f"{rows.size} sums of exponentials")
    few = rows.size * rows.shape[-1] <= _FEW
    most, total, none = (_compared if few else _by_parts)(rows.cast(f32), None)
    found: Any = np.where(none, most, np.log(total) + most)
    return np.moveaxis(found, -1, dim)


_Sums = tuple[Any, Any, Any]
"""The largest of some terms, the sum of their exponentials, each divided by that of
the largest, and where the largest is infinite: there the sum is nothing to go by."""


def _by_parts(largest: Any, sums: Any) -> _Sums:
    """Running sums of the last dimension: those of its parts, and of what these are.

    An element is ``largest`` with ``sums``; None: with 1, a term alone.
    """
    *others, n = largest.shape
    if n <= _PART:
        return _compared(largest, sums)
    parts = -(-n // _PART)
    whole = [(0, 0)] * len(others)

    def split(x: Any, fill: float) -> Any:
        last = [*whole, (0, parts * _PART - n)]
        padded = np.pad(x, last, constant_values=fill) if n % _PART else x
        return np.reshape(padded, (*others, parts, _PART))

    def shifted(x: Any, fill: float) -> Any:
        return np.pad(x[..., :-1], [*whole, (1, 0)], constant_values=fill)[..., None]

    inside, own, _ = _compared(
        split(largest, -np.inf), None if sums is None else split(sums, 0.0)
    )
    ends, totals, _ = _by_parts(inside[..., -1], own[..., -1])
    before, others_sum = shifted(ends, -np.inf), shifted(totals, 0.0)
    most: Any = np.maximum(inside, before)
    none = np.equal(np.abs(most), np.inf)
    shift: Any = np.where(none, 0.0, most)
    total = own * np.exp(inside - shift) + others_sum * np.exp(before - shift)
    joined = (np.reshape(x, (*others, parts * _PART)) for x in (most, total, none))
    most, total, none = (x[..., :n] for x in joined)
    return most, total, none


def _compared(largest: Any, sums: Any) -> _Sums:
    """Running sums of the last dimension, of which each takes all before it."""
    n, r = largest.shape[-1], largest.recorder
    place = TensorArray(r, r.positions((n, 1), 0))
    before: Any = TensorArray(r, r.positions((1, n), 1)) <= place
    held: Any = np.where(before, largest[..., None, :], -np.inf)
    most: Any = np.max(held, -1, keepdims=True)
    none = np.equal(np.abs(most), np.inf)
    shift: Any = np.where(none, 0.0, most)
    terms: Any = np.exp(held - shift)
    if sums is not None:
        terms = terms * np.where(before, sums[..., None, :], 0.0)
    total: Any = np.sum(terms, -1, keepdims=True)
    return np.squeeze(most, -1), np.squeeze(total, -1), np.squeeze(none, -1)
