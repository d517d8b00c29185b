"""Tensors put together: concatenated, rolled, with a border of their own elements.

An element is a choice between elements of several tensors, each of which has a border:
so nothing is copied before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argus.ir.dtypes import f32, i64
from argus.programs.operators.table_operators import index_select
from argus.programs.tensors.joining import choice, grows, may_lie_in_one
from argus.programs.tensors.memory_order import in_order
from argus.programs.tensors.numpy_functions import expand_dims, flip, records
from argus.programs.tensors.operator_table import each, own
from argus.programs.tensors.recorder import promoted
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    JoinPrimitive,
    UntranslatedError,
    constant_of,
)
from argus.programs.tensors.views import bordered, repeated


@own("cat")
def joined(arrays: Sequence[TensorArray], axis: int = 0) -> TensorArray:
    """One after the other along a dimension, perhaps as parts of one value."""
    parts, dim = _parts(arrays, axis)
    recorder = parts[0].recorder
    operands = tuple(p.operand for p in parts)
    shape = [*parts[0].shape]
    shape[dim] = sum(p.shape[dim] for p in parts)
    order = recorder.order_of(operands)
    order = in_order(shape, order.dims if order and order.whole else range(len(shape)))
    laid = tuple(in_order(o.shape, order.dims).laid(o) for o in operands)
    growing = len(parts) > 1 and recorder.open_sizes and grows(laid)
    if len(parts) < 2 or not (growing or may_lie_in_one(laid)):
        return concatenated(arrays, axis)
    made = JoinPrimitive(laid, order.dims.index(dim), growing)
    value = recorder.made("join", order.stored, parts[0].element, made)
    return TensorArray(recorder, value if order.natural else order.shown(value))


@own("stack")
def stacked_values(arrays: Sequence[TensorArray], axis: int = 0) -> TensorArray:
    """Side by side along a new dimension, perhaps as parts of one value."""
    return joined([expand_dims(a, axis) for a in arrays], axis)


@records(np.concatenate)
def concatenated(arrays: Sequence[TensorArray], axis: int = 0) -> TensorArray:
    """One after the other along a dimension."""
    parts, dim = _parts(arrays, axis)
    if len(parts) < 2:
        return parts[0] if parts else arrays[0]
    recorder = parts[0].recorder
    made = choice(recorder, [p.operand for p in parts], dim)
    return TensorArray(recorder, made)


def _parts(arrays: Sequence[TensorArray], axis: int) -> tuple[list[TensorArray], int]:
    """Tensors of one type that are not empty, and the dimension."""
    given = [a for a in arrays if a.shape != (0,)] or list(arrays[:1])
    dim = axis % given[0].ndim
    kind = promoted([a.element for a in given])
    return [a.cast(kind) for a in given if a.shape[dim]], dim


@records(np.stack)
def stacked(arrays: Sequence[TensorArray], axis: int = 0) -> TensorArray:
    """One after the other along a new dimension."""
    return concatenated([expand_dims(a, axis) for a in arrays], axis)


def _part(x: TensorArray, dim: int, start: int, stop: int) -> TensorArray:
    return x[(slice(None),) * dim + (slice(start, stop),)]


@own("roll")
def rolled(x: TensorArray, shifts: Any, dims: Any = ()) -> TensorArray:
    """What leaves a dimension at its end comes back at its begin."""
    if not dims:
        if len(shifts) != 1:
            raise UntranslatedError("a roll without dimensions")
        return rolled(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, d in zip(shifts, dims, strict=True):
        dim = int(d) % x.ndim
        n = x.shape[dim]
        at = -shift % n if n else 0
        if at:
            x = concatenated([_part(x, dim, at, n), _part(x, dim, 0, at)], dim)
    return x


def _widths(x: TensorArray, padding: Sequence[int]) -> list[tuple[int, int, int]]:
    """Dimension, elements before and after; the last dimension is the first pair."""
    pairs = zip(padding[::2], padding[1::2], strict=True)
    return [(x.ndim - 1 - i, a, b) for i, (a, b) in enumerate(pairs)]


@own("constant_pad_nd")
def padded(x: TensorArray, padding: Sequence[int], value: Any = 0) -> TensorArray:
    """A border of one number."""
    widths = {d: (a, b) for d, a, b in _widths(x, padding)}
    every = [widths.get(d, (0, 0)) for d in range(x.ndim)]
    made: Any = np.pad(x, every, constant_values=value)  # type: ignore[call-overload]
    return made


@own("slice_scatter")
def with_slice(
    x: TensorArray, source: TensorArray, dim: int = 0, start: int | None = None,
    end: int | None = None, step: int = 1,
) -> TensorArray:  # fmt: skip
    """A copy in which a part of a dimension is another tensor."""
    axis = dim % x.ndim
    n, count = x.shape[axis], source.shape[axis]
    first = slice(start, end).indices(n)[0]
    recorder, part = x.recorder, source.cast(x.element)
    if not count:
        return x
    if step == 1 and recorder.open_sizes:  # as parts, if x is given and larger
        around = [_part(x, axis, a, b) for a, b in ((0, first), (first + count, n))]
        around.insert(1, part)
        if grows([p.operand for p in around]):
            return joined(around, axis)
    if step != 1 and count > 1:
        return _with_steps(x, part, axis, first, step)
    number = constant_of(x.operand)
    around = recorder.cast(0, x.element) if number is None else number
    assert isinstance(around, bool | int | float)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (first, n - first - count)
    seen = part.seen(bordered(part.shape, widths, around))
    if number is not None:
        return seen
    at: Any = TensorArray(recorder, recorder.positions(x.shape, axis))
    inside = (at >= first) & (at < first + count)
    replaced: Any = np.where(inside, seen, x)
    return replaced


def _with_steps(
    x: TensorArray, part: TensorArray, axis: int, first: int, step: int
) -> TensorArray:
    """A copy in which every so many positions have one of another tensor.

    Where each of all ``step`` positions has one, the dimension is two: which of them is
    another tensor's is known without a division.
    """
    n, count = x.shape[axis], part.shape[axis]
    if count * step == n and first < step:
        shape = (*x.shape[:axis], count, step, *x.shape[axis + 1 :])
        each: Any = np.broadcast_to(expand_dims(part, axis + 1), shape)
        which: Any = TensorArray(x.recorder, x.recorder.positions(shape, axis + 1))
        put: Any = np.where(np.equal(which, first), each, x.reshape(*shape))
        return put.reshape(*x.shape)
    wide = _times(expand_dims(part, axis + 1), axis + 1, step)
    line = wide.reshape(*part.shape[:axis], count * step, *part.shape[axis + 1 :])
    widths = [(0, 0)] * x.ndim
    widths[axis] = (first, n - first - count * step)
    seen: Any = np.pad(line, widths)  # type: ignore[call-overload]
    at: Any = TensorArray(x.recorder, x.recorder.positions(x.shape, axis)) - first
    inside = (at >= 0) & (at < count * step) & np.equal(at % step, 0)
    found: Any = np.where(inside, seen, x)
    return found


@own("diagonal_scatter")
def with_diagonal(
    x: TensorArray, source: TensorArray, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> TensorArray:
    """A copy in which a diagonal of two dimensions is another tensor's last one."""
    a, b = dim1 % x.ndim, dim2 % x.ndim
    r = x.recorder
    rows: Any = TensorArray(r, r.positions(x.shape, a))
    columns: Any = TensorArray(r, r.positions(x.shape, b))
    along, other = (a, b) if offset >= 0 else (b, a)
    part = source.cast(x.element)
    widths = [(0, 0)] * (x.ndim - 2) + [(0, x.shape[along] - part.shape[-1])]
    line: Any = np.pad(part, widths)  # type: ignore[call-overload]
    line = np.moveaxis(line, -1, along - (other < along))
    seen = _times(expand_dims(line, other), other, x.shape[other])
    found: Any = np.where(np.equal(rows + offset, columns), seen, x)
    return found


@own("select_scatter")
def with_position(
    x: TensorArray, source: TensorArray, dim: int, index: int
) -> TensorArray:
    """A copy in which one position of a dimension is another tensor."""
    axis = dim % x.ndim
    first = index % x.shape[axis]
    return with_slice(x, expand_dims(source, axis), axis, first, first + 1)


_Ends = Callable[[TensorArray, int, int, int], tuple[TensorArray, TensorArray]]
"""For a dimension, what stands before and after a tensor, of so many elements."""


def _surrounded(x: TensorArray, padding: Sequence[int], ends: _Ends) -> TensorArray:
    """A border of a tensor's own elements; a negative width cuts elements off."""
    for dim, before, after in _widths(x, padding):
        ahead, behind = ends(x, dim, max(before, 0), max(after, 0))
        whole = concatenated([ahead, x, behind], dim)
        x = _part(whole, dim, max(-before, 0), whole.shape[dim] - max(-after, 0))
    return x


@own("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflected(x: TensorArray, padding: Sequence[int]) -> TensorArray:
    """A border of what lies on the other side of the outermost element."""

    def ends(
        x: TensorArray, dim: int, before: int, after: int
    ) -> tuple[TensorArray, TensorArray]:
        n = x.shape[dim]
        ahead = _part(x, dim, 1, before + 1)
        return flip(ahead, dim), flip(_part(x, dim, n - 1 - after, n - 1), dim)

    return _surrounded(x, padding, ends)


@own("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replicated(x: TensorArray, padding: Sequence[int]) -> TensorArray:
    """A border of the outermost elements."""

    def ends(
        x: TensorArray, dim: int, before: int, after: int
    ) -> tuple[TensorArray, TensorArray]:
        n = x.shape[dim]
        first, last = _part(x, dim, 0, 1), _part(x, dim, n - 1, n)
        return _times(first, dim, before), _times(last, dim, after)

    return _surrounded(x, padding, ends)


def _times(x: TensorArray, dim: int, count: int) -> TensorArray:
    """The only element of a dimension, so many times."""
    whole = [*x.shape[:dim], count, *x.shape[dim + 1 :]]
    return x.seen(repeated(x.shape, whole))


@own(
    "upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
)  # fmt: skip
def enlarged(x: TensorArray, sizes: Any, *scales: Any) -> TensorArray:
    """Each element several times along the last dimensions, or the nearest ones."""
    count = x.ndim - 2
    given: list[Any] = [*scales[0]] if scales and isinstance(scales[0], list) else []
    given = given or [*scales]
    given = given if len(given) == count else [None] * count
    if sizes is None:
        wanted = [int(n * s) for n, s in zip(x.shape[2:], given, strict=True)]
    else:
        wanted = each(sizes, count)
    for dim, (size, scale) in enumerate(zip(wanted, given, strict=True), 2):
        n = x.shape[dim]
        if size % n or (scale and scale * n != size):
            x = _nearest(x, dim, size, 1.0 / scale if scale else n / size)
            continue
        seen = _times(expand_dims(x, dim + 1), dim + 1, size // n)
        x = seen.reshape(*x.shape[:dim], size, *x.shape[dim + 1 :])
    return x


def _nearest(x: TensorArray, dim: int, size: int, step: float) -> TensorArray:
    """The element at every so many, rounded down; in f32, as torch does."""
    line: Any = TensorArray(x.recorder, x.recorder.positions((size,), 0)).cast(f32)
    at: Any = np.floor(line * float(np.float32(step))).cast(i64)
    return index_select(x, dim, np.minimum(at, x.shape[dim] - 1))
