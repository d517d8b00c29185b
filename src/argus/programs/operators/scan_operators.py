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

    A scan by one shift for the whole row would lose what lies far below it, so that
    each place sums up all before it, and long rows stay in torch.
    """
    if not x.ndim:
        return x
    rows: Any = np.moveaxis(x, dim, -1)
    n, r = rows.shape[-1], x.recorder
    if rows.size * n > _WORK:
        raise UntranslatedError(f"rows of {n} exponentials")
    wide = rows.cast(f32)[..., None, :]
    place = TensorArray(r, r.positions((n, 1), 0))
    before: Any = TensorArray(r, r.positions((1, n), 1)) <= place
    held: Any = np.where(before, wide, -np.inf)
    most: Any = np.max(held, -1, keepdims=True)
    none = np.equal(np.abs(most), np.inf)
    shift: Any = np.where(none, 0.0, most)
    total: Any = np.sum(np.exp(held - shift), -1, keepdims=True)
    found: Any = np.where(none, most, np.log(total) + shift)
    return np.moveaxis(np.squeeze(found, -1), -1, dim)
