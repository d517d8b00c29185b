"""Windows that are added up where they overlap: `fold`, and gradients of `unfold`.

Element ``q * stride + r`` of a line has tap ``r + padding - v * stride`` of window
``q + v``, for few v that are the same everywhere: nothing is compared with a table.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from argus.ir.numerics import arithmetic
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.programs.tensors.views import LinearView

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_WRITTEN_OUT = 8
"""Terms of a sum that are added one by one; more are a reduction."""
_MOST_TAPS = 64
"""Taps that are put between zeros, at most."""


@own("unfold_backward")
def unfold_backward(
    given: TensorArray, sizes: Any, dim: int, size: int, step: int
) -> TensorArray:
    """The gradient of ``x.unfold(dim, size, step)``, of the shape ``sizes`` of x."""
    if not sizes:
        return given.reshape(())
    axis = int(dim) % len(sizes)
    wide: Any = np.moveaxis(given.cast(arithmetic(given.element)), axis, -2)
    found = _added_up(wide, int(sizes[axis]), int(step), 1, 0)
    return np.moveaxis(found, -1, axis).cast(given.element)


@own("col2im")
def fold(
    x: TensorArray, output: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> TensorArray:
    """Images (N, C, H, W) of columns (N, C * taps, windows), or without N."""
    heights, widths = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(output, kernel, dilation, padding, stride, strict=True)
    )
    channels = x.shape[-2] // prod(kernel)
    shape = (*x.shape[:-2], channels, *kernel, heights, widths)
    found: Any = x.cast(arithmetic(x.element)).reshape(shape)
    # (..., kh, kw, lh, lw), then (..., kh, lh, W), then (..., H, W)
    lines: Any = _added_up(
        np.moveaxis(found, -3, -1), output[1], stride[1], dilation[1], padding[1]
    )
    images: Any = _added_up(
        np.swapaxes(lines, -2, -3), output[0], stride[0], dilation[0], padding[0], 1
    )
    return images.cast(x.element)


def _added_up(
    x: Any, n: int, stride: int, dilation: int, padding: int, behind: int = 0
) -> Any:
    """Lines (..., n) to which windows (..., windows, taps) are added.

    So many dimensions ``behind`` are each a line's own. Tap j of window t is added to
    element ``t * stride + j * dilation - padding``, if there is one. Raises
    UntranslatedError for many taps with zeros between.
    """
    at = x.ndim - 2 - behind
    taps, lines = x.shape[at + 1], -(-n // stride)
    if dilation > 1 and stride > 1:
        found = _by_tap(x, at, lines, stride, dilation, padding)
    elif dilation > 1:
        found = _terms(x, at, (lines, 1), (padding, -dilation), (0, 1), taps)
    else:
        low = -((taps - 1 - padding) // stride)
        count = (stride - 1 + padding) // stride - low + 1
        tap = (padding - low * stride, -stride)
        found = _terms(x, at, (lines, stride), (low, 1), tap, count)
    whole = found.reshape(*x.shape[:at], lines * stride, *x.shape[at + 2 :])
    if n % stride == 0:
        return whole
    return whole[(..., slice(0, n), *[slice(None)] * behind)]


def _terms(
    x: Any,
    at: int,
    shape: tuple[int, int],
    window: tuple[int, int],
    tap: tuple[int, int],
    count: int,
) -> Any:
    """Sums (..., *shape, ...) of ``count`` terms; what lies outside of ``x`` is 0.

    Of term i, element (q, r) is that of window ``q + window[0] + i * window[1]`` and
    of tap ``r + tap[0] + i * tap[1]``; these are dimensions ``at`` and the next one.
    """
    behind = x.ndim - at - 2
    widths, starts = [(0, 0)] * at, [0] * at
    for extent, size, (start, step) in zip(
        x.shape[at : at + 2], shape, (window, tap), strict=True
    ):
        ends = (start, start + (count - 1) * step)
        before = max(0, -min(ends))
        widths.append((before, max(0, max(ends) + size - extent)))
        starts.append(start + before)
    if any(w != (0, 0) for w in widths):
        x = np.pad(x, [*widths, *[(0, 0)] * behind])
    if count > _WRITTEN_OUT:
        factors = (
            *(((d, 1),) for d in range(at)),
            ((at, 1), (x.ndim, window[1])),
            ((at + 1, 1), (x.ndim, tap[1])),
            *(((d, 1),) for d in range(at + 2, x.ndim)),
        )
        whole = (*x.shape[:at], *shape, *x.shape[at + 2 :], count)
        view = LinearView(whole, factors, (*starts, *[0] * behind))
        return np.sum(x.seen(view), -1)
    found: Any = None
    for i in range(count):
        begins = (starts[at] + i * window[1], starts[at + 1] + i * tap[1])
        parts = (slice(b, b + size) for b, size in zip(begins, shape, strict=True))
        one = x[(..., *parts, *[slice(None)] * behind)]
        found = one if found is None else found + one
    return found


def _by_tap(
    x: Any, at: int, lines: int, stride: int, dilation: int, padding: int
) -> Any:
    """The same tap by tap: each of one of ``stride`` neighbours."""
    taps = x.shape[at + 1]
    if taps > _MOST_TAPS:
        raise UntranslatedError(f"{taps} taps with zeros between")
    recorder = x.recorder
    sizes = (stride, *[1] * (x.ndim - at - 2))
    place = TensorArray(recorder, recorder.positions(sizes, 0))
    found: Any = None
    for j in range(taps):
        moved, r = divmod(j * dilation - padding, stride)
        one = _terms(x, at, (lines, 1), (-moved, 0), (j, 0), 1)
        kept = np.where(np.equal(place, r), one, 0.0)
        found = kept if found is None else found + kept
    return found
