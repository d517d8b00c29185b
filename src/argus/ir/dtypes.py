"""Element types: names, sizes, CUDA spellings.

Their numeric behaviour is the readers' business.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. ``bits`` is its storage size; ``kind`` is float, int or bool."""

    name: str
    bits: int
    kind: str
    cuda: str
    tma: str | None = None
    """Suffix of ``CU_TENSOR_MAP_DATA_TYPE_*`` or None where TMA has no such type."""

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


bf16 = DType("bf16", 16, "float", "__nv_bfloat16", "BFLOAT16")
f16 = DType("f16", 16, "float", "__half", "FLOAT16")
f32 = DType("f32", 32, "float", "float", "FLOAT32")
i8 = DType("i8", 8, "int", "signed char")
u8 = DType("u8", 8, "int", "unsigned char", "UINT8")
i32 = DType("i32", 32, "int", "int", "INT32")
i64 = DType("i64", 64, "int", "long long", "INT64")
boolean = DType("bool", 8, "bool", "bool")

DTYPES: dict[str, DType] = {
    d.name: d for d in (bf16, f16, f32, i8, u8, i32, i64, boolean)
}
