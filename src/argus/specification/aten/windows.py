"""Convolutions and pools: sums and extremes over windows.

A window is a view of the padded input: position ``o`` of the result and ``r`` of the
kernel read ``o * stride + r * dilation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argus.specification.array import SymbolicArray
from argus.specification.aten.table import aten
from argus.specification.contracting import contracted
from argus.specification.padding import pad
from argus.specification.reducing import max_, mean
from argus.specification.reshaping import integer_of
from argus.specification.storage import Indices
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
        from argus.specification.array import size_of

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
    """The largest of each window; its position is not traced."""
    count = len(kernel)
    wide = _pooled(x, kernel, stride, padding, dilation, ceil, count, float("-inf"))
    return max_(wide, tuple(range(-count, 0))), None


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


@aten("_adaptive_avg_pool2d")
def adaptive_pool(x: Any, sizes: Any) -> Any:
    """The mean over all positions; parts of it are not traced."""
    if list(sizes) != [1, 1]:
        raise Unknown("the graph has an adaptive pool to several positions")
    return mean(x, (-2, -1), keepdims=True)
