"""Transposed convolutions as sums over whole indices, a phase for each of a stride."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from argus.ir.dtypes import f32
from argus.programs.convolutions.channels_last import (
    channels_last,
    convolution_precision,
    filters_last,
    products_last,
    worth_channels_last,
)
from argus.programs.convolutions.flat_convolutions import (
    Reading,
    flat_products,
    without_gaps,
    worth_flat,
)
from argus.programs.products.pixel_tiles import PHASES
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.programs.tensors.views import LinearView, permuted

_LEAST_POSITIONS, _LEAST_COLUMNS, _LEAST_SUM = 64, 4, 16
"""Pixels of a plane, and channels with their phases, of a tile; channels of the input
with taps of the last dimension, which are summed at a time."""


def transposed_length(n: int, k: int, s: int, p: int, d: int, more: int) -> int:
    """Elements of a dimension of a transposed convolution; below 1: there are none.

    Of ``n`` inputs and ``k`` taps: stride, padding, dilation, and ``more`` behind.
    """
    return (n - 1) * s - 2 * p + d * (k - 1) + more + 1


def phases_of(
    x: TensorArray, weight: TensorArray, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], more: Sequence[int], groups: int,
) -> list[ConvolutionPhases]:  # fmt: skip
    """The phases of each dimension: those with few taps where cropping costs nothing.

    So it does where it is in the kernel of the product, or where there is some anyway.
    """
    plain = [
        ConvolutionPhases(n, k, s, p, d, m)
        for n, k, s, p, d, m in zip(
            x.shape[2:], weight.shape[2:], stride, padding, dilation, more, strict=True
        )
    ]
    few = [
        f.with_few_taps(n, k, p, d, m)
        for f, n, k, p, d, m in zip(
            plain, x.shape[2:], weight.shape[2:], padding, dilation, more, strict=True
        )
    ]
    if _worth_pixels(x, weight, few, groups):
        return few
    return [b if a.cropped else a for a, b in zip(plain, few, strict=True)]


def phase_products(
    x: TensorArray,
    weight: TensorArray,
    phases: Sequence[ConvolutionPhases],
    groups: int,
) -> TensorArray:
    """Sums over taps of each phase: (N, groups, K / groups, and of each q and t)."""
    count = len(phases)
    inner: Any = np.pad(x, [(0, 0)] * 2 + [f.input_border for f in phases])
    places = [((d, 1),) for d in range(2)]
    # n, c, and of each dimension: q, t and u
    left = LinearView(
        (*x.shape[:2], *(n for f in phases for n in f.sizes)),
        (*places, *(f.input_factors(2 + 3 * i) for i, f in enumerate(phases))),
        (0, 0, *(f.input_start for f in phases)),
    )
    wide: Any = np.pad(weight, [(0, 0)] * 2 + [f.tap_border for f in phases])
    right = LinearView(
        (*weight.shape[:2], *(n for f in phases for n in f.sizes[1:])),
        (*places, *(f.tap_factors(2 + 2 * i) for i, f in enumerate(phases))),
        (0, 0, *(f.tap_start for f in phases)),
    )
    letters = ["qtu", "pso", "eiv"][:count]
    inputs: Any = inner.seen(left).reshape(
        x.shape[0], groups, -1, *left.shape[2:]
    )  # fmt: skip
    filters: Any = wide.seen(right).reshape(groups, -1, *right.shape[1:])
    product = contracted(
        x.recorder, inputs.operand, filters.operand,
        "ngc" + "".join(letters), "gck" + "".join(a[1:] for a in letters),
        "ngk" + "".join(a[:2] for a in letters),
        precision=convolution_precision(
            inputs.shape[2], weight.shape[2:], transposed=True
        ),
    )  # fmt: skip
    return TensorArray(x.recorder, product)


def last_phase_products(
    x: TensorArray,
    weight: TensorArray,
    phases: Sequence[ConvolutionPhases],
    groups: int,
) -> TensorArray | None:
    """The same with channels last, and taps in reverse, as inputs are.

    Filters of each phase lie by themselves. None where that is not worth it.
    """
    count, taps = len(phases), weight.shape[2:]
    split = weight.reshape(groups, -1, *weight.shape[1:])
    likes: Any = np.swapaxes(split, 1, 2)  # type: ignore[call-overload]
    like = likes.reshape(-1, *likes.shape[2:])
    each_t = [f.sizes[1] for f in phases]
    if not worth_channels_last(x, like, groups, flat=True, phases=prod(each_t)):
        return None
    precision = convolution_precision(like.shape[1], taps, transposed=True)
    filters = _phase_filters(split, phases)
    readings = [
        Reading(f.sizes[0], f.sizes[2], f.reach, f.input_border, f.first_input)
        for f in phases
    ]
    columns = prod(each_t)
    rows = groups == 1 and worth_channels_last(
        x, like, groups, flat=False, phases=columns
    )
    if _worth_pixels(x, weight, phases, groups):
        rows = True
    elif worth_flat(
        x, weight.shape[1], columns, readings, precision, groups, rows=rows
    ):
        found = flat_products(x, filters, readings, precision)
        order = [d for i in range(count) for d in (3 + count + i, 3 + i)]
        turned = found.seen(permuted(found.shape, [0, 1, 2, *order]))
        return without_gaps(turned)
    if not rows:
        return None
    filters = filters[0]
    inner = channels_last(x, [f.input_border for f in phases], precision=precision)
    # n, of each dimension q and u, c
    left = LinearView(
        (x.shape[0], *(n for f in phases for n in f.sizes[::2]), inner.shape[-1]),
        (
            ((0, 1),),
            *(((1 + 2 * i, 1), (2 + 2 * i, f.reach)) for i, f in enumerate(phases)),
            ((1 + 2 * count, 1),),
        ),
        (0, *(f.first_input for f in phases), 0),
    )  # fmt: skip
    # Channels lie beside the phases of the last dimension, see `pixel_tiles.py`.
    order = [*range(1, count), 0, *range(count, filters.ndim)]
    filters = filters.seen(permuted(filters.shape, order))
    columns = filters.shape[: 1 + count]
    flat = filters_last(
        filters.reshape(-1, *filters.shape[1 + count :]), precision=precision
    )
    last = flat.reshape(len(flat), *columns, *flat.shape[2:])
    q, t, u = "qpe"[:count], "tsi"[:count], "uov"[:count]
    return products_last(
        inner.seen(left), last,
        "n" + "".join(a + b for a, b in zip(q, u, strict=True)) + "c",
        f"{t[:-1]}k{t[-1]}{u}c",
        "nk" + "".join(a + b for a, b in zip(q, t, strict=True)),
    )  # fmt: skip


def _worth_pixels(
    x: TensorArray, weight: TensorArray, phases: Sequence[ConvolutionPhases],
    groups: int,
) -> bool:  # fmt: skip
    """Whether tiles of pixels and phases would not be mostly empty."""
    *_, last = phases
    taps = weight.shape[2:]
    precision = convolution_precision(weight.shape[0] // groups, taps, transposed=True)
    if groups > 1 or (x.element == f32 and precision == "f32"):
        return False  # more dimensions than fit, or factors in two parts
    positions = prod(f.sizes[0] for f in phases[-2:])
    return (
        last.step in PHASES
        and positions >= _LEAST_POSITIONS
        and weight.shape[1] * last.step >= _LEAST_COLUMNS
        and weight.shape[0] * last.sizes[2] >= _LEAST_SUM
    )


def _phase_filters(
    weight: TensorArray, phases: Sequence[ConvolutionPhases]
) -> TensorArray:
    """Filters (groups, K, all t, C, all u) of (groups, C, K, *taps).

    Of all but the last dimension they are a value of their own first: one kernel would
    walk more dimensions than a tensor has.
    """
    count, (groups, channels, out) = len(phases), weight.shape[:3]
    wide: Any = np.pad(weight, [(0, 0)] * 3 + [f.tap_border for f in phases])
    ahead, last = phases[:-1], phases[-1]
    ts, us = (tuple(f.sizes[i] for f in ahead) for i in (1, 2))
    first = LinearView(  # groups, c, k, t and u of all but one, its taps
        (groups, channels, out, *ts, *us, wide.shape[-1]),
        (
            *(((d, 1),) for d in range(3)),
            *(((3 + i, 1), (2 + count + i, -f.step)) for i, f in enumerate(ahead)),
            ((1 + 2 * count, 1),),
        ),
        (0, 0, 0, *(f.last_tap for f in ahead), 0),
    )
    seen: Any = wide.seen(first)
    if groups > 1 and count > 2:
        seen = TensorArray(weight.recorder, weight.recorder.copied(seen.operand))
    second = LinearView(
        (groups, out, *ts, last.sizes[1], channels, *us, last.sizes[2]),
        (
            ((0, 1),), ((2 + count, 1),), ((1, 1),),
            *(((2 + i, 1),) for i in range(count - 1)),
            *(((3 + count + i, 1),) for i in range(count - 1)),
            ((1 + count, 1), (2 + 2 * count, -last.step)),
        ),
        (0,) * (1 + 2 * count) + (last.last_tap,),
    )  # fmt: skip
    return seen.seen(second)


class ConvolutionPhases:
    """One dimension of a transposed convolution, as sums over whole indices.

    With ``o = q * s + t`` the taps that count are ``r = u * s + t + p`` less a
    multiple of s, for which ``i = (o + p - r * d) / s`` is a whole number, since d is
    one more than a multiple of s.
    """

    front = 0
    """Results before the first one, which belong to its window."""

    def __init__(self, n: int, k: int, s: int, p: int, d: int, more: int) -> None:
        self.length = transposed_length(n, k, s, p, d, more)
        if self.length < 1:
            raise UntranslatedError("a transposed convolution without output")
        phase, ahead = p % s, int(p % s > 0)
        self.sizes = (-(-self.length // s), s, (k - 1 - phase) // s + 1 + ahead)
        self.step, self.again = s, (d - 1) // s
        self._tap = phase - s * ahead
        """The tap at t = u = 0, which may be below 0."""
        self._input = p // s - self.again * self._tap + ahead
        _, _, count = self.sizes
        last = self._tap + s * (count - 1) + s - 1
        self.tap_border = (max(0, -self._tap), max(0, last - k + 1))
        low = self._input - (1 + self.again * s) * (count - 1) - self.again * (s - 1)
        high = self._input + self.sizes[0] - 1
        self.input_border = (max(0, -low), max(0, high - n + 1))

    @property
    def cropped(self) -> bool:
        """Whether more is computed than there are results."""
        return self.front > 0 or self.sizes[0] * self.sizes[1] > self.length

    def with_few_taps(
        self, n: int, k: int, p: int, d: int, more: int
    ) -> ConvolutionPhases:
        """The phases with the fewest taps: windows may begin before the first result.

        Of a padding that is no multiple of s, taps of the phases begin at two inputs,
        so that some have one for nothing. From ``front`` results before they do not.
        """
        front = p % self.step
        if front:
            other = ConvolutionPhases(n, k, self.step, p - front, d, more - front)
            if other.sizes[0] * other.sizes[2] < self.sizes[0] * self.sizes[2]:
                other.front, other.length = front, self.length
                return other
        return self

    @property
    def reach(self) -> int:
        """Inputs between those of two taps that follow each other."""
        return 1 + self.again * self.step

    @property
    def first_input(self) -> int:
        """The first input of the last tap, in the border, at t = 0."""
        return self.input_start - self.reach * (self.sizes[2] - 1)

    @property
    def last_tap(self) -> int:
        """The last tap, in the border, at t = 0."""
        return self.tap_start + self.step * (self.sizes[2] - 1)

    @property
    def tap_start(self) -> int:
        """The first tap, in the border."""
        return self._tap + self.tap_border[0]

    @property
    def input_start(self) -> int:
        """The first input, in the border."""
        return self._input + self.input_border[0]

    def input_factors(self, dim: int) -> tuple[tuple[int, int], ...]:
        """Of q, t and u, which are dimensions from ``dim`` on."""
        both = -1 - self.again * self.step
        return ((dim, 1), (dim + 1, -self.again), (dim + 2, both))

    def tap_factors(self, dim: int) -> tuple[tuple[int, int], ...]:
        """Of t and u, which are dimensions from ``dim`` on."""
        return ((dim, 1), (dim + 1, self.step))
