"""Element types and annotations as authors write them: `bf16`, `bf16["M K"]`.

They carry no behaviour at run time: the frontend reads the annotations from source. The
objects exist so that a module with kernels can be imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.ir import dtypes as ir
from argus.ir.dtypes import DType
from argus.lang.names.outside import outside

if TYPE_CHECKING:
    from argus.lang.names.values import Tile

__all__ = [
    "ElementType",
    "Inline",
    "bf16",
    "boolean",
    "e4m3",
    "e5m2",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
]


@dataclass(frozen=True, slots=True)
class TensorType:
    """The annotation `bf16["M K"]`: admitted element types and dimension names."""

    dtypes: tuple[DType, ...]
    dims: str
    optional: bool = False

    def __or__(self, other: None) -> TensorType:
        return TensorType(self.dtypes, self.dims, True)

    __ror__ = __or__


@dataclass(frozen=True, slots=True)
class TileSpec:
    """A tile that is described and not yet anywhere: `bf16.tile(128, 64)`."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type. `bf16["M K"]` annotates a tensor, `f32` a run-time scalar."""

    dtype: DType

    @property
    def bits(self) -> int:
        """Storage size in bits."""
        return self.dtype.bits

    @property
    def bytes(self) -> int:
        """Storage size in bytes."""
        return self.dtype.bytes

    def __getitem__(self, dims: str) -> TensorType:
        return TensorType((self.dtype,), dims)

    def __or__(self, other: None) -> ElementType:
        return self

    def tile(
        self, *shape: int, swizzle: int | None = None, dims: str | None = None
    ) -> TileSpec:
        """Describe a field of `ag.ring`: sizes, swizzle in bytes (0, 32, 64, 128)."""
        raise outside("tile")

    def __repr__(self) -> str:
        return self.dtype.name


@dataclass(frozen=True, slots=True)
class TypeGroup:
    """Several element types; the argument's decides: `A: ag.float["M K"]`."""

    name: str
    dtypes: tuple[DType, ...]

    def __getitem__(self, dims: str) -> TensorType:
        return TensorType(self.dtypes, dims)


class AnyType(TypeGroup):
    """Any element type, `ag.any["M N"]`; called, whether a mask holds somewhere.

    `ag.any(x > 0)` is a scalar, the same for all threads of the role.
    """

    def __call__(self, x: Tile) -> bool:
        raise outside("any")


class Inline:
    """Annotation of a static parameter that takes an `@ag.inline` function."""


bf16 = ElementType(ir.bf16)
f16 = ElementType(ir.f16)
e4m3 = ElementType(ir.e4m3)
e5m2 = ElementType(ir.e5m2)
f32 = ElementType(ir.f32)
f64 = ElementType(ir.f64)
i8 = ElementType(ir.i8)
u8 = ElementType(ir.u8)
i16 = ElementType(ir.i16)
u16 = ElementType(ir.u16)
i32 = ElementType(ir.i32)
u32 = ElementType(ir.u32)
i64 = ElementType(ir.i64)
u64 = ElementType(ir.u64)
boolean = ElementType(ir.boolean)
half_type = TypeGroup("half", (ir.bf16, ir.f16))
float_type = TypeGroup("float", (ir.bf16, ir.f16, ir.f32))
eight_type = TypeGroup("eight", (ir.e4m3, ir.e5m2, ir.i8, ir.u8))
any_type = AnyType("any", (ir.bf16, ir.f16, ir.f32, ir.i8, ir.u8, ir.i32, ir.i64))


def as_dtype(value: DType | ElementType) -> DType:
    """The element type that an author's `bf16` or the compiler's own stands for."""
    return value.dtype if isinstance(value, ElementType) else value
