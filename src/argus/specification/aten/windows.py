"""Convolutions and pools: sums and extremes over windows.

A window is a view of the padded input: position ``o`` of the result and ``r`` of the
kernel read ``o * stride + r * dilation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray, size_of
from argus.specification.aten.table import aten, in_reals
from argus.specification.broadcasting import axis_of
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
    *,
    ceil: bool = False,
) -> SymbolicArray:
    """Windows over the last dimensions; positions inside them come last.

    With ``ceil`` those that begin inside, or in the border before, end anywhere.
    """
    count = len(kernel)
    ahead = x.ndim - count
    after = [p + s - 1 if ceil else p for p, s in zip(padding, stride, strict=True)]
    border = [(0, 0)] * ahead + list(zip(padding, after, strict=True))
    pads = any(padding) or any(after)
    wide = pad(x, border, constant_values=fill) if pads else x
    world = x.tracing.world
    sizes = list(wide.sizes[:ahead])
    for size, k, s, p, d in zip(
        x.sizes[ahead:], kernel, stride, padding, dilation, strict=True
    ):
        last = size + 2 * p - (k - 1) * d - 1
        fits = world.compare(last, ">=", 0)
        x.tracing.need(fits, f"{size + 2 * p} holds a window of {k}", shape=True)
        if ceil:
            last = size + p - 1 + _least(0, Integer.of(p + s - 1) - (k - 1) * d)
        sizes.append(world.quotient(last, Integer.of(s)) + 1)
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


def _least(bound: int, number: Integer) -> int:
    """The less of a bound and a number that is known."""
    if number.constant is None:
        raise Unknown("the graph has a pool with ceil_mode over windows of any size")
    return min(bound, number.constant)


@aten("convolution")
def convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: Any,
) -> Any:  # fmt: skip
    """Sums of products over windows and the channels of a group."""
    count = weight.ndim - 2
    steps = tuple(_each(v, count) for v in (stride, padding, dilation))
    if transposed:
        more = _each(output_padding, count)
        x, weight = _as_usual(x, weight, steps, more, groups)
        steps = ([1] * count, [0] * count, steps[2])
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


def _as_usual(
    x: Any, weight: Any, steps: Sequence[Sequence[int]], more: Sequence[int],
    groups: int,
) -> tuple[Any, Any]:  # fmt: skip
    """What a transposed convolution is a usual one of, of stride 1 and no border.

    Between elements are as many zeros as the stride leaves out, around them as many
    that each element meets each tap once; taps come in the other order, and channels
    change places.
    """
    count = weight.ndim - 2
    taps = tuple(range(-count, 0))
    wide = x
    for dim, (s, p, d, m) in enumerate(zip(*steps, more, strict=True)):
        axis = dim + x.ndim - count
        if s > 1:
            border = [(0, 0)] * (axis + 1) + [(0, s - 1)] + [(0, 0)] * (count - dim - 1)
            apart = np.pad(np.expand_dims(wide, axis + 1), border)
            wide = apart.reshape(*wide.shape[:axis], -1, *wide.shape[axis + 1 :])
        around = (integer_of(x.tracing, weight.shape[2 + dim]) - 1) * d - p
        if around.constant is None:
            raise Unknown("the graph has a transposed convolution of any size")
        ends = (around.constant, around.constant + m - (s - 1))
        border = [(0, 0)] * axis + [tuple(max(e, 0) for e in ends)]
        wide = np.pad(wide, border + [(0, 0)] * (count - dim - 1))
        first, last = (max(-e, 0) for e in ends)
        part = slice(first, -last if last else None)
        wide = wide[(*[slice(None)] * axis, part)]
    parts = weight.reshape(groups, -1, *weight.shape[1:]) if groups != 1 else weight
    turned = np.swapaxes(np.flip(parts, taps), -count - 2, -count - 1)
    if groups != 1:
        turned = turned.reshape(-1, *turned.shape[2:])
    return wide, turned


def _pooled(
    x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any,
    count: int, fill: float,
) -> Any:  # fmt: skip
    sizes = _each(kernel, count)
    steps = _each(stride, count) if stride else sizes
    return windows(
        x,
        [Integer.of(n) for n in sizes],
        steps,
        _each(padding, count),
        _each(dilation, count),
        fill,
        ceil=ceil,
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
    wide = _pooled(x, kernel, stride, padding, 1, ceil, count, 0.0)
    inner = tuple(range(-count, 0))
    pads = _each(padding, count)
    if divisor is None and not ceil and (include_padding or not any(pads)):
        return mean(wide, inner)
    total = np.sum(wide, inner)
    if divisor is not None:
        return total / divisor
    for dim, (k, s, p) in enumerate(
        zip(_each(kernel, count), _each(stride or kernel, count), pads, strict=True)
    ):
        first = arange(x.tracing, wide.shape[dim - 2 * count]) * s - p
        around = p if include_padding else 0
        inside = np.minimum(first + k, x.shape[dim - count] + around)
        inside = inside - np.maximum(first, -around)
        total = total / inside.reshape(-1, *[1] * (count - 1 - dim))
    return total


@in_reals("unfold")
def unfold(x: Any, dim: int, size: int, step: int) -> Any:
    """Windows along a dimension, whose elements come last."""
    axis = axis_of(dim, x.ndim)
    last = call(np.moveaxis, x, axis, -1)
    made = windows(last, [Integer.of(size)], [step], [0], [1], 0.0)
    return call(np.moveaxis, made, -2, axis)


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_pool(x: Any, sizes: Sequence[Any]) -> Any:
    """The mean of each of so many parts."""
    if all(isinstance(n, int) and n == 1 for n in sizes):
        return mean(x, tuple(range(-len(sizes), 0)), keepdims=True)
    return mean(_parts(x, sizes), tuple(range(-len(sizes), 0)))
