"""Operators that walk the memory of a tensor by strides: not what its elements are.

A program's values lie where the program has them, so such an operator cannot stay in
torch: it is a view of the tensor's elements in the order of their memory, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from argus.diagnostics import fail
from argus.programs.operators.joining_operators import with_slice
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import LinearView, permuted

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
WALKING = frozenset({"aten.as_strided.default", "aten.as_strided_copy.default"})
"""Those that read elements."""
WRITING = frozenset(
    {"aten.as_strided_scatter.default", "prims.as_strided_scatter.default"}
)
"""Those that replace elements."""


def walked_by_strides(
    x: TensorArray, said: Any, size: Sequence[int], stride: Sequence[int],
    offset: int | None = None,
) -> TensorArray:  # fmt: skip
    """``size`` elements with ``stride``, from ``offset`` on in the storage of ``x``.

    ``said`` is what torch says of ``x``. Raises ArgusError AG1041 where that is not
    dense, or elements around it are read.
    """
    line, _ = _line(x, said)
    steps = [int(s) for s in stride]
    start = _start(line, said, size, steps, offset)
    shape = tuple(int(n) for n in size)
    factors = tuple((d, s) for d, s in enumerate(steps) if s)
    return line.seen(LinearView(shape, (factors,), (start,)))


def written_by_strides(
    x: TensorArray, said: Any, source: TensorArray, size: Sequence[int],
    stride: Sequence[int], offset: int | None = None,
) -> TensorArray:  # fmt: skip
    """A copy of ``x`` in which such elements are those of ``source``.

    Raises ArgusError AG1041 as `walked_by_strides` does, and where elements are written
    more than once.
    """
    line, order = _line(x, said)
    steps = [int(s) for s in stride]
    start = _start(line, said, size, steps, offset)
    if 0 in size:
        return x
    walked = sorted(range(len(steps)), key=lambda d: (-steps[d], d))
    ordered = source.seen(permuted(source.shape, walked)).cast(x.element)
    kept = [d for d in walked if size[d] != 1]
    part = ordered.reshape(*(int(size[d]) for d in kept))
    new = _placed(line, start, part, [steps[d] for d in kept])
    shape = tuple(x.shape[d] for d in order)
    back = [order.index(d) for d in range(x.ndim)]
    return new.reshape(*shape).seen(permuted(shape, back))


def _placed(rows: Any, start: int, new: Any, steps: Sequence[int]) -> Any:
    """Rows (..., L) with (..., *sizes) at ``steps``, outermost first, from ``start``.

    Raises ArgusError AG1041 where elements are written more than once.
    """
    batch, sizes = rows.shape[:-1], new.shape[rows.ndim - 1 :]
    last = [(n - 1) * s for n, s in zip(sizes, steps, strict=True)]
    spans = [1 + sum(last[d:]) for d in range(len(sizes) + 1)]
    end = start + spans[0]
    if spans[0] == prod(sizes):  # side by side
        return with_slice(rows, new.reshape(*batch, spans[0]), -1, start, end)
    n, step = sizes[0], steps[0]
    if spans[1] > step:
        raise fail("AG1041", None, "elements are written more than once by strides")
    whole = np.pad(rows[..., start:end], [(0, 0)] * len(batch) + [(0, step - spans[1])])
    changed = _placed(whole.reshape(*batch, n, step), 0, new, steps[1:])
    changed = changed.reshape(*batch, n * step)[..., : spans[0]]
    if spans[0] == rows.shape[-1]:
        return changed
    return with_slice(rows, changed, -1, start, end)


def _line(x: TensorArray, said: Any) -> tuple[TensorArray, list[int]]:
    """The elements in the order of torch's memory, and dimensions, outermost first."""
    strides = tuple(int(n) for n in said.stride())
    order = sorted(range(x.ndim), key=lambda d: (-strides[d], d))
    extent = 1
    for d in reversed(order):
        if x.shape[d] != 1 and strides[d] != extent:
            raise fail("AG1041", None, "strides of a tensor that has gaps are walked")
        extent *= x.shape[d]
    return x.seen(permuted(x.shape, order)).reshape(-1), order


def _start(
    line: TensorArray, said: Any, size: Sequence[int], steps: Sequence[int],
    offset: int | None,
) -> int:  # fmt: skip
    """The first element that is walked, as a position in the line."""
    own = int(said.storage_offset())
    start = (own if offset is None else int(offset)) - own
    last = start + sum((n - 1) * s for n, s in zip(size, steps, strict=True))
    if 0 not in size and (start < 0 or last >= line.size):
        raise fail("AG1041", None, "elements around a tensor are walked by strides")
    return start
