"""Convolutions and pools: sums and extremes over windows.

A window is a view of the padded input: position ``o`` of the result and ``r`` of the
kernel read ``o * stride + r * dilation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray, size_of
from argus.specification.aten.table import aten
from argus.specification.contracting import contracted
from argus.specification.creating import arange
from argus.specification.padding import pad
from argus.specification.reducing import max_, mean
from argus.specification.reshaping import integer_of
from argus.specification.storage import Indices
from argus.specification.table import call
from argus.terms import Integer, Unknown


def _each(value: Any, count: int) -> list[int]:
    """One number for each dimension of a window."""
    found = [value] * count if isinstance(value, int) else list(value)
    return found * count if len(found) == 1 else found


def windows(
    x: SymbolicArray,
    kernel: Sequence[Integer],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> SymbolicArray:
    """Windows over the last dimensions; positions inside them come last."""
    count = len(kernel)
    ahead = x.ndim - count
    border = [(0, 0)] * ahead + [(p, p) for p in padding]
    wide = pad(x, border, constant_values=fill) if any(padding) else x
    world = x.tracing.world
    sizes = list(wide.sizes[:ahead])
    for size, k, s, d in zip(wide.sizes[ahead:], kernel, stride, dilation, strict=True):
        span = size - (k - 1) * d - 1
        fits = world.compare(span, ">=", 0)
        x.tracing.need(fits, f"{size} holds a window of {k}", shape=True)
        sizes.append(world.quotient(span, Integer.of(s)) + 1)
    read = wide.now()

    def at(indices: Indices) -> Any:
        places = zip(
            indices[ahead : ahead + count],
            indices[ahead + count :],
            stride,
            dilation,
            strict=True,
        )
        return read((*indices[:ahead], *(o * s + r * d for o, r, s, d in places)))

    return SymbolicArray(x.tracing, (*sizes, *kernel), x.dtype, at)


@aten("convolution")
def convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: Any,
) -> Any:  # fmt: skip
    """Sums of products over windows and the channels of a group."""
    if transposed:
        raise Unknown("the graph has a transposed convolution")
    count = weight.ndim - 2
    steps = (_each(v, count) for v in (stride, padding, dilation))
    wide = windows(x, weight.sizes[2:], *steps, fill=0.0)
    channels, inner = weight.sizes[0], weight.sizes[1]
    parts = integer_of(x.tracing, groups)
    x.tracing.need_equal(x.sizes[1], inner * parts, "convolution")
    space = [f"o{d}" for d in range(count)]
    taps = [f"r{d}" for d in range(count)]
    if parts.constant == 1:
        found = contracted(
            [wide, weight],
            [("n", "c", *space, *taps), ("k", "c", *taps)],
            ("n", "k", *space),
        )
    else:
        each = x.tracing.world.quotient(channels, parts)
        x.tracing.need_equal(each * parts, channels, "convolution")
        sizes = [size_of(x.tracing, n) for n in wide.sizes]
        own = [size_of(x.tracing, n) for n in (each, inner, *weight.sizes[2:])]
        split = wide.reshape(sizes[0], groups, -1, *sizes[2:])
        products = contracted(
            [split, weight.reshape(groups, *own)],
            [("n", "g", "c", *space, *taps), ("g", "k", "c", *taps)],
            ("n", "g", "k", *space),
        )
        found = products.reshape(sizes[0], -1, *products.shape[3:])
    if bias is None:
        return found
    return found + bias.reshape(-1, *[1] * count)


def _pooled(
    x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any,
    count: int, fill: float,
) -> Any:  # fmt: skip
    if ceil:
        raise Unknown("the graph has a pool with ceil_mode")
    sizes = _each(kernel, count)
    steps = _each(stride, count) if stride else sizes
    return windows(
        x,
        [Integer.of(n) for n in sizes],
        steps,
        _each(padding, count),
        _each(dilation, count),
        fill,
    )


@aten("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d")
def max_pool(
    x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window, and its position among all of a plane."""
    count = len(kernel)
    wide = _pooled(x, kernel, stride, padding, dilation, ceil, count, float("-inf"))
    steps, ahead = (_each(v, count) for v in (stride or kernel, padding))
    each = zip(wide.shape[-2 * count : -count], steps, ahead, strict=True)
    first = [arange(x.tracing, n) * s - p for n, s, p in each]
    return _largest(x, wide, first, _each(dilation, count))


def _largest(
    x: SymbolicArray, wide: SymbolicArray, first: list[Any], steps: Sequence[int]
) -> tuple[Any, Any]:
    """The largest elements of windows of ``x``, and their positions in a plane.

    Windows begin at ``first``, along each dimension, and take every so manieth element;
    their elements come last in ``wide``.
    """
    count = len(first)
    inner = wide.shape[-count:]
    place = call(np.argmax, wide.reshape(*wide.shape[:-count], -1), -1)
    inside: list[Any] = []
    for size in reversed(inner):
        inside.insert(0, place % size)
        place = place // size
    found: Any = 0
    for dim, (begin, at, step) in enumerate(zip(first, inside, steps, strict=True)):
        own = begin.reshape(-1, *[1] * (count - 1 - dim)) + at * step
        found = found * x.shape[dim - count] + own
    return max_(wide, tuple(range(-count, 0))), found


def _parts(x: SymbolicArray, sizes: Sequence[Any]) -> SymbolicArray:
    """The parts of one length that a plane has; positions inside them come last.

    Where sizes do not divide, parts overlap: that is a need.
    """
    ahead, tracing = x.ndim - len(sizes), x.tracing
    shape = list(x.shape[:ahead])
    for wanted, size in zip(sizes, x.sizes[ahead:], strict=True):
        number = integer_of(tracing, wanted)
        tracing.need_divides(number, size)
        each = tracing.world.quotient(size, number)
        shape += [wanted, size_of(tracing, each)]
    split = x.reshape(*shape)
    dims = range(ahead, split.ndim)
    return split.transpose(*range(ahead), *dims[::2], *dims[1::2])


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: Any, sizes: Sequence[Any]) -> Any:
    """The largest of each of so many parts, and its position in a plane."""
    wide = _parts(x, sizes)
    each = wide.shape[-len(sizes) :]
    first = [arange(x.tracing, n) * k for n, k in zip(sizes, each, strict=True)]
    return _largest(x, wide, first, [1] * len(sizes))


@aten("avg_pool2d", "avg_pool3d", "avg_pool1d")
def avg_pool(
    x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
    include_padding: bool = True, divisor: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    count = len(kernel)
    if divisor is not None or (any(_each(padding, count)) and not include_padding):
        raise Unknown("the graph has a mean over windows with another divisor")
    wide = _pooled(x, kernel, stride, padding, 1, ceil, count, 0.0)
    return mean(wide, tuple(range(-count, 0)))


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_pool(x: Any, sizes: Sequence[Any]) -> Any:
    """The mean of each of so many parts."""
    if all(isinstance(n, int) and n == 1 for n in sizes):
        return mean(x, tuple(range(-len(sizes), 0)), keepdims=True)
    return mean(_parts(x, sizes), tuple(range(-len(sizes), 0)))
