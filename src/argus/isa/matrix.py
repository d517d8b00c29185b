"""What the tensor cores multiply: one record per element type.

The frontend's errors, placing, the device functions of `mma.py` and `wgmma.py`, the
interpreter, the proofs and the printer read the types from here, so a type is added by
adding its record.

Shapes are with the instructions; which thread holds what is in `argus.layout`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.codec import computing
from argus.ir.dtypes import DType, bf16, e4m3, e5m2, f16, f32, f64, i8, i32, u8
from argus.isa.record import ALL_TARGETS, HOPPER

__all__ = ["ELEMENTS", "WORD", "MatrixElement", "element", "element_names"]

WORD = 4
"""Bytes of a register of an operand; an f64 is in two."""
_ROW_BYTES = 8 * WORD
"""Registers of K in one instruction, whatever the type, where an f64 is in one of its
own kind (PTX ISA, "Matrix Shape")."""


@dataclass(frozen=True, slots=True)
class MatrixElement:
    """An element type of A and B; ``ptx`` is its spelling in opcodes.

    ``accumulator``: the type of the sums, and of the result. ``mn_major``: wgmma also
    reads operands of which M or N runs along the rows. ``ignored``: low bits of an
    element that the tensor cores do not read. ``targets``: those whose mma.sync has it.
    ``asynchronous``: wgmma has it.
    (PTX ISA, "Asynchronous Warpgroup Level Matrix", "Matrix Shape" and "Shared Memory
    Matrix Layout"; mma, "Target ISA Notes".)
    """

    dtype: DType
    ptx: str
    accumulator: DType = f32
    mn_major: bool = False
    ignored: int = 0
    targets: tuple[str, ...] = ALL_TARGETS
    asynchronous: bool = True

    @property
    def depth(self) -> int:
        """K of one instruction of 16 or 64 rows, in elements."""
        return _ROW_BYTES // min(self.dtype.bytes, WORD)

    def multiplied(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers of operands as they are multiplied: without the bits ignored."""
        if not self.ignored:
            return values
        whole = np.ascontiguousarray(values, np.float32).view(np.uint32)
        kept = whole >> np.uint32(self.ignored) << np.uint32(self.ignored)
        # A NaN may have all its bits among those ignored.
        return np.where(np.isnan(values), values, kept.view(np.float32))

    def product(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """``a @ b.T`` of numbers [..., m, k] and [..., n, k], as the accumulator has.

        Sums of floats are rounded in numpy's order; whole numbers wrap.
        """
        right = self.multiplied(b).swapaxes(-1, -2)
        if self.accumulator.is_float:
            kind = computing(self.accumulator)
            return np.matmul(self.multiplied(a), right, dtype=kind)
        return np.matmul(a.astype(np.int32), right.astype(np.int32))


ELEMENTS = (
    MatrixElement(bf16, "bf16", mn_major=True),
    MatrixElement(f16, "f16", mn_major=True),
    MatrixElement(e4m3, "e4m3", targets=HOPPER),
    MatrixElement(e5m2, "e5m2", targets=HOPPER),
    MatrixElement(f32, "tf32", ignored=13),
    MatrixElement(i8, "s8", i32),
    MatrixElement(u8, "u8", i32),
    MatrixElement(f64, "f64", f64, asynchronous=False),
)


def element(dtype: DType) -> MatrixElement | None:
    """The record of an element type; None where no instruction multiplies it."""
    return next((e for e in ELEMENTS if e.dtype == dtype), None)


def element_names() -> str:
    """The types in words, for messages: "bf16, f16 or i8"."""
    *first, last = (e.dtype.name for e in ELEMENTS)
    return f"{', '.join(first)} or {last}"
