"""Which bytes of shared memory a wgmma matrix descriptor names.

An operand is `rows` (64 of A, N of B) by 32 bytes along K. The canonical layouts of
the PTX ISA ("Shared Memory Matrix Layout", "Strides"), in bytes, said for 16-bit
elements, with S the swizzle and row r, column k of the operand:

    K-major,  S = 0     r%8*16 + r/8*stride + k%8*2 + k/8*leading
    K-major,  S > 0     r%8*S  + r/8*stride + k*2
    MN-major, S = 0     r%8*2  + r/8*stride + k%8*16 + k/8*leading
    MN-major, S > 0     r%(S/2)*2 + r/(S/2)*leading + k%8*S + k/8*stride

The swizzle is then applied to the absolute address, start included, so a start address
may lie inside the pattern (the next 16 columns of K), as long as the pattern itself
begins at a multiple of 8*S: the descriptor's base offset is 0.

This file evaluates addresses; it encodes no descriptor (`argus_desc` does).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.isa.boxes import SWIZZLES, swizzles_text
from argus.layout.shared import swizzled

__all__ = ["CHUNK", "ROWS", "linear_offset", "operand_addresses", "violations"]

CHUNK = 16
"""Bytes: start, leading and stride are multiples of it."""
ROWS = 8
"""Rows of a group; groups are a stride apart."""

MAX_OFFSET = 1 << 18
"""Descriptor fields hold 18 bits without the lowest 4 (matrix-descriptor-encode)."""


def linear_offset(
    row: Any,
    k: Any,
    *,
    leading: int,
    stride: int,
    swizzle: int,
    mn_major: bool,
    itemsize: int,
) -> Any:
    """Byte offset of element (row, k) from the start, before the swizzle.

    `row` and `k` are ints, numpy arrays or symbolic expressions.
    """
    chunk = 16 // itemsize
    if not mn_major and swizzle == 0:
        core = row % 8 * 16 + k % chunk * itemsize
        return core + row // 8 * stride + k // chunk * leading
    if not mn_major:
        return row % 8 * swizzle + row // 8 * stride + k * itemsize
    if swizzle == 0:
        core = row % chunk * itemsize + k % 8 * 16
        return core + row // chunk * stride + k // 8 * leading
    width = swizzle // itemsize
    core = row % width * itemsize + k % 8 * swizzle
    return core + row // width * leading + k // 8 * stride


def operand_addresses(
    start: int,
    leading: int,
    stride: int,
    swizzle: int,
    mn_major: bool,
    rows: int,
    k: int,
    itemsize: int,
) -> NDArray[np.int64]:
    """Byte address of each element of an operand, shape [rows, k].

    `start`, `leading` and `stride` are the descriptor's, in bytes; `swizzle` is 0, 32,
    64 or 128. Raises ValueError when `violations` finds any.
    """
    broken = violations(start, leading, stride, swizzle)
    if broken:
        raise ValueError("; ".join(broken))
    row, column = np.meshgrid(
        np.arange(rows, dtype=np.int64), np.arange(k, dtype=np.int64), indexing="ij"
    )
    linear: NDArray[np.int64] = linear_offset(
        row,
        column,
        leading=leading,
        stride=stride,
        swizzle=swizzle,
        mn_major=mn_major,
        itemsize=itemsize,
    )
    result: NDArray[np.int64] = swizzled(linear + start, swizzle)
    return result


def violations(start: int, leading: int, stride: int, swizzle: int) -> list[str]:
    """Rules of the matrix descriptor that do not hold, in words; empty if all do."""
    broken: list[str] = []
    if swizzle not in SWIZZLES:
        broken.append(f"swizzle of {swizzle} bytes; there are {swizzles_text()}")
    for name, value in (("start", start), ("leading", leading), ("stride", stride)):
        if value % CHUNK != 0:
            broken.append(f"{name} {value} is not a multiple of {CHUNK} bytes")
        if not 0 <= value < MAX_OFFSET:
            broken.append(f"{name} {value} does not fit in 18 bits")
    return broken
