"""Element types: one record each, which every reader asks.

What arithmetic and conversions mean stands in `argus.ir.numerics`; which instructions
multiply or add a type, in `argus.isa` (`matrix.ELEMENTS`, `memory.REDUCTIONS`).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    ``name`` is what authors and programs call it, ``foreign`` what torch, numpy and
    `ml_dtypes` do. ``bits``: storage size. ``precision``: bits of the significand of a
    float, the leading one included (IEEE 754, table 3.5; OCP OFP8, table 1).
    ``dlpack``: type code (`dlpack.h`, ``DLDataTypeCode``).
    ``tensor_map``: suffix of ``CU_TENSOR_MAP_DATA_TYPE_``, None where TMA has no such
    elements. ``memory`` and ``register``: C++ types of an element in memory, and of
    what holds it in registers: a ``u32`` packs two elements of 16 bits.
    ``bits_of``: the numpy type of its bit patterns where numpy has no such numbers.
    ``kind`` "other" is of types that no kernel has (`argus.programs`).
    ``finite``: conversions make no infinities; what is too large becomes the largest
    number (PTX ISA, cvt, ".satfinite").
    """

    name: str
    foreign: str
    bits: int
    kind: Literal["float", "int", "bool", "other"]
    memory: str
    register: str
    dlpack: int
    tensor_map: str | None
    precision: int = 0
    bits_of: str | None = None
    finite: bool = False

    @property
    def bytes(self) -> int:
        """Storage size in bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """True for floating point element types."""
        return self.kind == "float"

    @property
    def packed(self) -> bool:
        """Whether a 32-bit register holds two elements."""
        return self.register == "u32"

    @property
    def encoded(self) -> bool:
        """Whether memory and registers hold bits that C++ does not compute with."""
        return self.is_float and self.bits < 32

    @property
    def numpy(self) -> str:
        """Name of the numpy type that holds elements, or their bits."""
        return self.bits_of or self.foreign

    @property
    def signed(self) -> bool:
        """False for types of whole numbers that are none below 0."""
        return not self.foreign.startswith("u")

    def holds(self, other: "DType") -> bool:
        """Whether it has all whole numbers that another type of them has."""
        (low, high), (least, greatest) = self.integers, other.integers
        return low <= least and greatest <= high

    @property
    def integers(self) -> tuple[int, int]:
        """Least and greatest of the whole numbers that it holds without a gap.

        Of a type of whole numbers, and of truth values, these are all its values.
        """
        if self.kind == "bool":
            return 0, 1
        if self.is_float:
            return -(2**self.precision), 2**self.precision
        if not self.signed:
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    @property
    def roundoff(self) -> float:
        """Unit round-off of a float: half the distance from 1 to the next number."""
        return 2.0**-self.precision

    def __repr__(self) -> str:
        return self.name


_INT, _UINT, _FLOAT, _BFLOAT, _BOOL, _E4M3, _E5M2 = 0, 1, 2, 4, 6, 10, 12

bf16 = DType(
    "bf16", "bfloat16", 16, "float", "u16", "u32", _BFLOAT, "BFLOAT16", 8, "uint16"
)
f16 = DType("f16", "float16", 16, "float", "u16", "u32", _FLOAT, "FLOAT16", 11)
e4m3 = DType(
    *("e4m3", "float8_e4m3fn", 8, "float", "unsigned char", "unsigned char"),
    *(_E4M3, "UINT8", 4, "uint8"),
    finite=True,
)
e5m2 = DType(
    *("e5m2", "float8_e5m2", 8, "float", "unsigned char", "unsigned char"),
    *(_E5M2, "UINT8", 3, "uint8"),
    finite=True,
)
f32 = DType("f32", "float32", 32, "float", "float", "float", _FLOAT, "FLOAT32", 24)
f64 = DType("f64", "float64", 64, "float", "double", "double", _FLOAT, "FLOAT64", 53)
i8 = DType("i8", "int8", 8, "int", "signed char", "signed char", _INT, "UINT8")
u8 = DType("u8", "uint8", 8, "int", "unsigned char", "unsigned char", _UINT, "UINT8")
i16 = DType("i16", "int16", 16, "int", "short", "u32", _INT, "UINT16")
u16 = DType("u16", "uint16", 16, "int", "u16", "u32", _UINT, "UINT16")
i32 = DType("i32", "int32", 32, "int", "int", "int", _INT, "INT32")
u32 = DType(
    *("u32", "uint32", 32, "int", "unsigned int", "unsigned int", _UINT, "UINT32")
)
i64 = DType("i64", "int64", 64, "int", "long long", "long long", _INT, "INT64")
u64 = DType(
    *("u64", "uint64", 64, "int", "unsigned long long", "unsigned long long"),
    *(_UINT, "UINT64"),
)
boolean = DType("bool", "bool", 8, "bool", "bool", "bool", _BOOL, None)

DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        *(bf16, f16, e4m3, e5m2, f32, f64),
        *(i8, u8, i16, u16, i32, u32, i64, u64, boolean),
    )
}
"""All element types by name."""

FOREIGN: dict[str, DType] = {d.foreign: d for d in DTYPES.values()}
"""All element types by the name that they have in torch and numpy."""
