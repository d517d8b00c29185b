"""Element types: names, sizes, CUDA spellings.

Their numeric behaviour is the readers' business; which instructions take which type
stands in `argus.isa` (`matrix.ELEMENTS`, `boxes.MAP_TYPES`, `memory.REDUCTIONS`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. ``bits`` is its storage size; ``kind`` is float, int or bool."""

    name: str
    bits: int
    kind: str
    cuda: str

    @property
    def bytes(self) -> int:
        """Storage size in bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """True for floating point element types."""
        return self.kind == "float"

    def __repr__(self) -> str:
        return self.name


bf16 = DType("bf16", 16, "float", "__nv_bfloat16")
f16 = DType("f16", 16, "float", "__half")
f32 = DType("f32", 32, "float", "float")
i8 = DType("i8", 8, "int", "signed char")
u8 = DType("u8", 8, "int", "unsigned char")
i32 = DType("i32", 32, "int", "int")
i64 = DType("i64", 64, "int", "long long")
boolean = DType("bool", 8, "bool", "bool")

DTYPES: dict[str, DType] = {
    d.name: d for d in (bf16, f16, f32, i8, u8, i32, i64, boolean)
}
