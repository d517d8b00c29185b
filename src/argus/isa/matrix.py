"""What the tensor cores multiply: one record per element type.

The frontend's errors, placing, the device functions of `mma.py` and `wgmma.py`, and the
printer read the types from here, so a type is added by adding its record. Sums are kept
in `ACCUMULATOR` whatever the type.

Shapes are with the instructions; which thread holds what is in `argus.layout`.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.dtypes import DType, bf16, f16, f32

__all__ = ["ACCUMULATOR", "ELEMENTS", "MatrixElement", "element", "element_names"]

_ROW_BYTES = 32
"""Bytes of K in one instruction, whatever the type (PTX ISA, "Matrix Shape")."""


@dataclass(frozen=True, slots=True)
class MatrixElement:
    """An element type of A and B; ``ptx`` is its spelling in opcodes."""

    dtype: DType
    ptx: str

    @property
    def depth(self) -> int:
        """K of one instruction, in elements."""
        return _ROW_BYTES // self.dtype.bytes


ELEMENTS = (MatrixElement(bf16, "bf16"), MatrixElement(f16, "f16"))

ACCUMULATOR = f32
"""Element type of the sums, and of the result."""


def element(dtype: DType) -> MatrixElement | None:
    """The record of an element type; None where no instruction multiplies it."""
    return next((e for e in ELEMENTS if e.dtype == dtype), None)


def element_names() -> str:
    """The types in words, for messages: "bf16 or f16"."""
    return " or ".join(e.dtype.name for e in ELEMENTS)
