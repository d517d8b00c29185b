"""Where the elements of a shared-memory tile lie: coordinate -> byte offset.

Each axis coordinate is split into digits, fastest first; every digit has a byte stride.
A two-dimensional tile that is wider than its swizzle atom is stored as panels::

    (128, 128) bf16, 128-byte swizzle: two panels of 64 columns, 16 KiB apart
    axis 0: ((128, 128),)            row r        -> r * 128
    axis 1: ((64, 2), (2, 16384))    column c     -> c % 64 * 2 + c // 64 * 16384

and then the 16-byte chunks of each 128-byte row are permuted by the swizzle. This is
what TMA writes for a box of 64 columns and what wgmma descriptors read. The buffer must
start at a multiple of 1024 bytes (8 rows of 128), since hardware swizzles addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from argus.layout.swizzle import swizzle_mode

Digit = tuple[int, int]
"""(size, stride in bytes)."""


@dataclass(frozen=True)
class SharedLayout:
    """``digits[axis]``: that axis's digits; ``swizzle``: 0, 32, 64 or 128 bytes."""

    shape: tuple[int, ...]
    digits: tuple[tuple[Digit, ...], ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        if self.swizzle not in (0, 32, 64, 128):
            raise ValueError(f"swizzle must be 0, 32, 64 or 128 bytes: {self.swizzle}")
        for axis, (extent, digits) in enumerate(
            zip(self.shape, self.digits, strict=True)
        ):
            if prod(size for size, _ in digits) != extent:
                raise ValueError(f"digits of axis {axis} do not cover {extent}")

    def linear(self, coord: Sequence[Any]) -> Any:
        """Byte offset before the swizzle; ints, numpy arrays or expressions."""
        total: Any = 0
        for c, digits in zip(coord, self.digits, strict=True):
            rest: Any = c
            for i, (size, stride) in enumerate(digits):
                last = i == len(digits) - 1
                total = total + (rest if last else rest % size) * stride
                rest = rest if last else rest // size
        return total

    def offset(self, coord: Sequence[Any]) -> Any:
        """Byte offset of the element at ``coord``; operands as for ``linear``."""
        return swizzled(self.linear(coord), self.swizzle)

    @property
    def alignment(self) -> int:
        """Bytes the buffer must be aligned to for the swizzle to be address-true."""
        return max(8 * self.swizzle, 128 if self.swizzle else 16)


def swizzled(offset: Any, swizzle: int) -> Any:
    """Apply the TMA/wgmma swizzle to a byte offset (or address).

    16-byte chunk index bits [4, 4+b) are xored with bits [7, 7+b), where b is 1, 2, 3
    for 32, 64, 128 bytes (PTX ISA, "Tensor swizzling modes").
    """
    return swizzle_mode(swizzle)(offset)


def panels(shape: tuple[int, ...], itemsize: int, swizzle: int) -> SharedLayout:
    """Row-major tile cut into column panels as wide as the swizzle atom.

    Leading axes are slower. Without a swizzle the tile is plain row-major. Raises
    ValueError when the innermost extent is not a multiple of the panel width.
    """
    columns = shape[-1]
    width = swizzle // itemsize if swizzle else columns
    if columns % width:
        raise ValueError(f"{columns} columns do not fill panels of {width}")
    digits: list[tuple[Digit, ...]] = []
    stride = width * itemsize
    for extent in reversed(shape[:-1]):
        digits.insert(0, ((extent, stride),))
        stride *= extent
    inner: tuple[Digit, ...] = ((width, itemsize),)
    if columns > width:
        inner += ((columns // width, stride),)
    return SharedLayout(shape, (*digits, inner), swizzle)
