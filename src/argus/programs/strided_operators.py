"""Operators that walk the memory of a tensor by strides: not what its elements are.

A program's values lie where the program has them, so such an operator cannot stay in
torch: it is a view of the tensor's elements in the order of their memory, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argus.diagnostics import fail
from argus.programs.tensor_array import TensorArray
from argus.programs.views import LinearView, permuted

WALKING = frozenset({"aten.as_strided.default", "aten.as_strided_copy.default"})
"""Those that have a translation."""
REFUSED = frozenset(
    {"aten.as_strided_scatter.default", "prims.as_strided_scatter.default"}
)
"""Those that have none."""


def walked_by_strides(
    x: TensorArray, said: Any, size: Sequence[int], stride: Sequence[int],
    offset: int | None = None,
) -> TensorArray:  # fmt: skip
    """``size`` elements with ``stride``, from ``offset`` on in the storage of ``x``.

    ``said`` is what torch says of ``x``. Raises ArgusError AG1041 where that is not
    dense, or elements around it are read.
    """
    strides = tuple(int(n) for n in said.stride())
    order = sorted(range(x.ndim), key=lambda d: (-strides[d], d))
    own, extent = int(said.storage_offset()), 1
    for d in reversed(order):
        if x.shape[d] != 1 and strides[d] != extent:
            raise fail("AG1041", None, "strides of a tensor that has gaps are walked")
        extent *= x.shape[d]
    start = (own if offset is None else int(offset)) - own
    steps = [int(s) for s in stride]
    last = start + sum((n - 1) * s for n, s in zip(size, steps, strict=True))
    if 0 not in size and (start < 0 or last >= extent):
        raise fail("AG1041", None, "elements around a tensor are read by strides")
    line = x.seen(permuted(x.shape, order)).reshape(-1)
    shape = tuple(int(n) for n in size)
    factors = tuple((d, s) for d, s in enumerate(steps) if s)
    return line.seen(LinearView(shape, (factors,), (start,)))
