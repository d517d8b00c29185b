"""Complex tensors in a tensor program: their real and their imaginary parts.

A complex number is stored as torch stores it: a pair of floats, real part first. So a
value in memory is real, with one more dimension of size 2 at its end, and kernels
know nothing of complex numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argus.ir.dtypes import DType, f32, f64
from argus.programs.tensors.memory_order import MemoryOrder, in_order
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import ViewedValue
from argus.programs.tensors.views import LinearView, ReshapedView

PARTS = {"complex64": f32, "complex128": f64}
"""The type of the parts, by the name of the complex type."""


@dataclass(frozen=True, eq=False)
class ComplexTensor:
    """Parts of one shape and type; ``pairs``: both, where they lie side by side."""

    real: TensorArray
    imag: TensorArray
    pairs: TensorArray | None = None

    @staticmethod
    def of_pairs(pairs: TensorArray) -> ComplexTensor:
        """From (..., 2) floats."""
        return ComplexTensor(pairs[..., 0], pairs[..., 1], pairs)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes."""
        return self.real.shape

    def cast(self, dtype: DType) -> ComplexTensor:
        """Parts of another type."""
        if self.real.element == dtype:
            return self
        return ComplexTensor(self.real.cast(dtype), self.imag.cast(dtype))

    def paired(self) -> ComplexTensor:
        """The same with its ``pairs``, side by side, in the order of the parts."""
        if self.pairs is not None:
            return self
        seen = _side_by_side(self.real.operand, self.imag.operand)
        if seen is not None:
            return replace(self, pairs=TensorArray(self.real.recorder, seen))
        recorder, rank = self.real.recorder, len(self.shape)
        parts = self.real.operand, self.imag.operand
        order = recorder.order_of(parts) or in_order(self.shape, range(rank))
        both: Any = [TensorArray(recorder, order.laid(part)) for part in parts]
        stacked: Any = np.stack(both, -1)
        last = rank, 0, 2
        paired = MemoryOrder((*self.shape, 2), (*order.digits, last))
        return replace(self, pairs=TensorArray(recorder, paired.shown(stacked.operand)))


def _side_by_side(real: ViewedValue, imag: ViewedValue) -> ViewedValue | None:
    """Both, where they are parts of one value that lie so."""
    if real.value is not imag.value:
        return None
    one, other = offsets_through(real), offsets_through(imag)
    if one is None or other is None or other != (one[0], one[1] + 1):
        return None
    line = ViewedValue(real.value, (ReshapedView((real.value.size,)),))
    steps = tuple((d, s) for d, s in enumerate((*one[0], 1)) if s)
    return line.through(LinearView((*real.shape, 2), (steps,), (one[1],)))


def part_type(said: Any) -> DType | None:
    """The type of the parts of what torch says is a complex tensor; else None."""
    return PARTS.get(str(getattr(said, "dtype", "")).removeprefix("torch."))


def stored_shape(said: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of a tensor as it is stored: of a complex one, of its pairs."""
    shape, strides = (tuple(map(int, x)) for x in (said.shape, said.stride()))
    if part_type(said) is None:
        return shape, strides
    return (*shape, 2), (*(2 * s for s in strides), 1)
