"""TMA boxes: where each element goes in shared memory, and what the hardware accepts.

A box is written densely, innermost dimension contiguous, and the 16-byte chunks of
its rows are then permuted by the swizzle (PTX ISA, "Tensor swizzling modes"; CUDA
driver API, cuTensorMapEncodeTiled). Offsets are from the box's address, which must
therefore be a multiple of 8 * swizzle: the hardware swizzles addresses.

Shapes are outermost first here, as in `argus.ir.TensorMap`; the hardware counts the
other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from argus.layout.shared import swizzled

__all__ = ["box_bytes", "box_offsets", "violations"]

MAX_BOX_DIM = 256
MAX_DIM = 2**32
MAX_STRIDE = 2**40


def box_bytes(box: Sequence[int], itemsize: int) -> int:
    """Bytes a load of the box counts on its barrier, zeros outside included."""
    return prod(box) * itemsize


@lru_cache(maxsize=256)
def _offsets(box: tuple[int, ...], itemsize: int, swizzle: int) -> NDArray[np.int64]:
    linear = np.arange(prod(box), dtype=np.int64).reshape(box) * itemsize
    offsets: NDArray[np.int64] = swizzled(linear, swizzle)
    offsets.setflags(write=False)
    return offsets


def box_offsets(box: Sequence[int], itemsize: int, swizzle: int) -> NDArray[np.int64]:
    """Byte offset in shared memory of each element of a box, shape `box`; read-only.

    With a swizzle the rows of the box fill it: `box[-1] * itemsize == swizzle`. Raises
    ValueError otherwise.
    """
    if swizzle and box[-1] * itemsize != swizzle:
        raise ValueError(
            f"rows of {box[-1] * itemsize} bytes with a swizzle of {swizzle}"
        )
    return _offsets(tuple(box), itemsize, swizzle)


def violations(
    box: Sequence[int],
    itemsize: int,
    swizzle: int,
    *,
    dims: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    address: int | None = None,
    start: Sequence[int] | None = None,
) -> list[str]:
    """Rules of tensor maps that do not hold, in words; empty if all do.

    `box` and `dims` are in elements, `strides` in bytes, outermost first, the innermost
    stride (the item size) included; what is None is not looked at. Source: CUDA driver
    API, cuTensorMapEncodeTiled, for interleave NONE and element strides of 1. `start`
    are a copy's coordinates: that the innermost one begins a 16-byte chunk was seen on
    an H200 (a copy from elsewhere is an illegal instruction), inside and outside; so
    was that a store may begin beyond the tensor but not below 0, while a load may, and
    that a store over the end of a row writes up to the next 16-byte boundary.
    """
    broken: list[str] = []
    row = box[-1] * itemsize if box else 0
    if not 1 <= len(box) <= 5:
        broken.append(f"{len(box)} dimensions; a tensor map has 1 to 5")
    if any(not 1 <= extent <= MAX_BOX_DIM for extent in box):
        broken.append(f"box {tuple(box)}: extents are 1 to {MAX_BOX_DIM}")
    if row % 16 != 0:
        broken.append(f"box rows of {row} bytes are not a multiple of 16")
    if swizzle not in (0, 32, 64, 128):
        broken.append(f"swizzle of {swizzle} bytes; there are 0, 32, 64 and 128")
    elif swizzle and row > swizzle:
        broken.append(f"box rows of {row} bytes exceed the swizzle of {swizzle}")
    elif swizzle and row < swizzle:
        # Accepted by the driver; the documents do not say where such rows go.
        broken.append(f"box rows of {row} bytes do not fill the swizzle of {swizzle}")
    if start is not None and start[-1] * itemsize % 16 != 0:
        broken.append(f"the box begins {start[-1] * itemsize} bytes into a row")
    if dims is not None and any(not 1 <= extent <= MAX_DIM for extent in dims):
        broken.append(f"tensor {tuple(dims)}: extents are 1 to 2**32")
    if strides is not None:
        if strides[-1] != itemsize:
            broken.append(f"innermost stride of {strides[-1]} bytes, not {itemsize}")
        if any(stride % 16 != 0 for stride in strides[:-1]):
            broken.append(
                f"strides {tuple(strides[:-1])} are not multiples of 16 bytes"
            )
        if any(not 0 < stride < MAX_STRIDE for stride in strides):
            broken.append(f"strides {tuple(strides)} are not within 1 to 2**40 - 1")
    if address is not None and address % 16 != 0:
        broken.append(f"address {address:#x} is not a multiple of 16 bytes")
    return broken
