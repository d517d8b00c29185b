"""Swizzles: offsets permuted by xor, so that columns of a tile spread over the banks.

    Swizzle(bits=3, base=4, shift=3)     the 128-byte mode of TMA and wgmma

    offset bit   ...  9  8  7   6  5  4   3  2  1  0
                     [source]  [target]  [untouched]
    result       target ^= source: the 16-byte chunk index is xored with the row index

`bits` bits at `base + shift` are xored into the `bits` bits at `base`. The source is
unchanged and lies above the target, so a swizzle undoes itself. It permutes the offsets
within each `period`, keeps runs of `unit` offsets together, and commutes with adding
multiples of the period.

Evaluated with `// % * ^` only (see `operand.py`). Which tile shapes TMA accepts for
which mode is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.layout.algebra import composition, left_inverse
from argus.layout.layout import Coordinate, Layout
from argus.layout.operand import T, add, scaled

__all__ = [
    "SWIZZLE_32B",
    "SWIZZLE_64B",
    "SWIZZLE_128B",
    "SWIZZLE_NONE",
    "Swizzle",
    "Swizzled",
    "swizzle_mode",
]


@dataclass(frozen=True)
class Swizzle:
    """The permutation x -> x ^ (x / 2^(base+shift) % 2^bits * 2^base) of offsets >= 0.

    Raises ValueError unless bits >= 0, base >= 0 and shift >= bits (with less, source
    and target would overlap and the map would not undo itself).
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or self.shift < self.bits:
            raise ValueError(f"{self} is not a swizzle: bits, base >= 0, shift >= bits")

    def __call__(self, offset: T) -> T:
        """The swizzled offset."""
        if self.bits == 0:
            return offset
        source = offset // (1 << (self.base + self.shift)) % (1 << self.bits)
        result: T = offset ^ scaled(source, 1 << self.base)
        return result

    @property
    def unit(self) -> int:
        """Offsets that stay together: s(a + i) == s(a) + i for i < unit, unit | a."""
        return 1 << self.base

    @property
    def period(self) -> int:
        """swizzle(x + period) == swizzle(x) + period; also the alignment it needs."""
        return 1 if self.bits == 0 else 1 << (self.base + self.shift + self.bits)

    def inverse(self) -> Swizzle:
        """The swizzle that undoes this one: itself."""
        return self


SWIZZLE_NONE = Swizzle(0, 4, 3)
"""No swizzle (CU_TENSOR_MAP_SWIZZLE_NONE; wgmma layout type 0)."""
SWIZZLE_32B = Swizzle(1, 4, 3)
"""32-byte mode, on byte offsets: rows of 2 chunks, repeats every 256 bytes."""
SWIZZLE_64B = Swizzle(2, 4, 3)
"""64-byte mode, on byte offsets: rows of 4 chunks, repeats every 512 bytes."""
SWIZZLE_128B = Swizzle(3, 4, 3)
"""128-byte mode, on byte offsets: rows of 8 chunks, repeats every 1024 bytes.

Source of the three: PTX ISA, "Tensor Swizzling Modes" and "Shared Memory Matrix Layout"
of wgmma; CUDA driver API, CUtensorMapSwizzle.
"""


def swizzle_mode(row_bytes: int) -> Swizzle:
    """The TMA/wgmma mode for 0 (none), 32, 64 or 128 bytes; ValueError otherwise."""
    modes = {0: SWIZZLE_NONE, 32: SWIZZLE_32B, 64: SWIZZLE_64B, 128: SWIZZLE_128B}
    if row_bytes not in modes:
        raise ValueError(f"no swizzle of {row_bytes} bytes; there are 0, 32, 64, 128")
    return modes[row_bytes]


@dataclass(frozen=True)
class Swizzled:
    """The function c -> swizzle(offset + layout(c)).

    Raises ValueError for a negative offset.
    """

    swizzle: Swizzle
    offset: int
    layout: Layout

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise ValueError(f"a swizzled layout has no negative offset: {self.offset}")

    def __call__(self, *coordinate: Coordinate[T]) -> T | int:
        """Offset at an index or a coordinate, as for `Layout`."""
        plain = add([self.layout(*coordinate), self.offset])
        return self.swizzle(plain)

    @property
    def size(self) -> int:
        """Number of indices."""
        return self.layout.size

    def table(self) -> NDArray[np.int64]:
        """All offsets, shape [size]."""
        return self.swizzle(self.layout.table() + self.offset)

    def compose(self, inner: Layout) -> Swizzled:
        """The function c -> self(inner(c)); raises as `composition` does."""
        return Swizzled(self.swizzle, self.offset, composition(self.layout, inner))

    def locate(self, offset: T) -> T | int:
        """The index whose image is `offset`, one that this layout reaches.

        Raises ValueError when the layout repeats an offset or has no complement.
        """
        unswizzled = self.swizzle(offset)
        return _inverse(self.layout)(add([unswizzled, -self.offset]))


@lru_cache(maxsize=256)
def _inverse(layout: Layout) -> Layout:
    return left_inverse(layout)
