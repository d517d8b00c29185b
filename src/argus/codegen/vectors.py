"""Vectors in memory: the C++ type that holds ``width`` elements, and its parts.

Knows no address.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.codegen.code import CppExpression, call, name
from argus.codegen.errors import CodegenError
from argus.ir.dtypes import DType

_PARTS = ("x", "y", "z", "w")
BITS = {8: "unsigned char", 16: "u16"}
"""C++ types of the bits of elements that share a word."""


@dataclass(frozen=True)
class Vector:
    """One access: C++ type, its components (none: the value itself), register units.

    ``unit`` is the number of elements in a component: 1, or 2 of 16 bits or 4 of 8 in
    a word.
    """

    ctype: str
    parts: tuple[str, ...]
    unit: int

    def component(self, variable: str, i: int) -> CppExpression:
        """Component ``i`` of a variable of the vector's type."""
        return name(f"{variable}.{self.parts[i]}" if self.parts else variable)

    @property
    def count(self) -> int:
        """Number of components."""
        return max(len(self.parts), 1)

    def make(self, components: list[CppExpression]) -> CppExpression:
        """The vector with the given components."""
        if not self.parts:
            return components[0]
        return call(f"make_{self.ctype}", *components)


def vector_of(dtype: DType, width: int) -> Vector:
    """The access of ``width`` elements, at most 16 bytes.

    Raises CodegenError for a width that the hardware has no vector of.
    """
    size = width * dtype.bytes
    if size > 16 or width & (width - 1):
        raise CodegenError(f"no vector of {width} x {dtype}")
    if dtype.bytes >= 4:
        if width == 1:
            return Vector(dtype.memory, (), 1)
        vector = dtype.memory.replace("unsigned ", "u").replace(" ", "")
        return Vector(f"{vector}{width}", _PARTS[:width], 1)
    if size <= 2:
        return Vector("u16" if size == 2 else "unsigned char", (), width)
    unit = 4 // dtype.bytes
    words = size // 4
    if words == 1:
        return Vector("u32", (), unit)
    return Vector(f"uint{words}", _PARTS[:words], unit)
