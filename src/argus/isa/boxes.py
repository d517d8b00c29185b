"""TMA boxes: where each element goes in shared memory, and what the hardware accepts.

A box is written densely, innermost dimension contiguous, and the 16-byte chunks of
its rows are then permuted by the swizzle (PTX ISA, "Tensor swizzling modes"; CUDA
driver API, cuTensorMapEncodeTiled). Offsets are from the box's address, which must
therefore be a multiple of 8 * swizzle: the hardware swizzles addresses.

Shapes are outermost first here, as in `argus.ir.TensorMap`; the hardware counts the
other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from argus.layout.shared import swizzled

__all__ = [
    "CHUNK",
    "MAX_BOX_DIM",
    "MAX_RANK",
    "MAX_STEP",
    "MAX_STRIDE",
    "SWIZZLES",
    "SWIZZLE_ROWS",
    "Rule",
    "Violation",
    "box_alignment",
    "box_bytes",
    "box_offsets",
    "broken",
    "swizzles_text",
    "traversed",
    "violations",
]

CHUNK = 16
"""Bytes: addresses, strides, rows of a box and where it begins are multiples of it."""
MAX_RANK = 5
MAX_BOX_DIM = 256
MAX_DIM = 2**32
MAX_STRIDE = 2**40
MAX_STEP = 8
SWIZZLES = (0, 32, 64, 128)
"""Bytes of a row of each swizzle; 0: none (CU_TENSOR_MAP_SWIZZLE_*)."""
SWIZZLE_ROWS = 8
"""Rows after which a swizzle repeats."""

Rule = Literal[
    "rank", "stride", "row", "swizzle", "start", "box", "extent", "address",
    "step", "store row", "store start",
]  # fmt: skip
"""What a copy may break: see `broken`, in this order."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, in words, and the dimension it is about if of one."""

    rule: Rule
    text: str
    dim: int | None = None


def box_alignment(swizzle: int) -> int:
    """Bytes that the shared address of a box is a multiple of.

    128, and with a swizzle its period, since the hardware swizzles addresses (PTX ISA,
    "Tensor swizzling modes").
    """
    return max(SWIZZLE_ROWS * swizzle, 128)


def traversed(box: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """Elements of the tensor that a box goes over, as the driver is told a box.

    Of ``steps`` 1 each, and of (), the box itself.
    """
    return tuple(n * s for n, s in zip(box, steps or (1,) * len(box), strict=True))


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


def broken(
    box: Sequence[int],
    itemsize: int,
    swizzle: int,
    *,
    dims: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    address: int | None = None,
    start: Sequence[int] | None = None,
    steps: Sequence[int] = (),
    store: bool = False,
) -> list[Violation]:
    """Rules of tensor maps and of copies that do not hold; empty if all do.

    `box` and `dims` are in elements, `strides` in bytes, outermost first, the innermost
    stride (the item size) included; what is None is not looked at. Source: CUDA driver
    API, cuTensorMapEncodeTiled, for interleave NONE. `steps` between elements of the
    box, its element strides; (): all are 1. `start`
    are a copy's coordinates: that the innermost one begins a 16-byte chunk was seen on
    an H200 (a copy from elsewhere is an illegal instruction), inside and outside; so
    was that a store may begin beyond the tensor but not below 0, while a load may, and
    that a store over the end of a row writes up to the next 16-byte boundary.

    A number that is not known is given as one that divides it; a coordinate that may be
    negative, as a negative one.
    """
    found: list[Violation] = []

    def add(rule: Rule, text: str, dim: int | None = None) -> None:
        found.append(Violation(rule, text, dim))

    row = box[-1] * itemsize if box else 0
    if not 1 <= len(box) <= MAX_RANK:
        add("rank", f"{len(box)} dimensions; a tensor map has 1 to {MAX_RANK}")
    if strides is not None:
        _check_strides(strides, itemsize, add)
    if row % CHUNK:
        add("row", f"box rows of {row} bytes are not a multiple of {CHUNK}")
    if swizzle not in SWIZZLES:
        add("swizzle", f"swizzle of {swizzle} bytes; there are {swizzles_text()}")
    elif swizzle and row > swizzle:
        add("swizzle", f"box rows of {row} bytes exceed the swizzle of {swizzle}")
    elif swizzle and row < swizzle:
        # Accepted by the driver; the documents do not say where such rows go.
        add("swizzle", f"box rows of {row} bytes do not fill the swizzle of {swizzle}")
    if start is not None and start[-1] * itemsize % CHUNK:
        text = f"the box begins {start[-1] * itemsize} bytes into a row"
        add("start", text, len(box) - 1)
    across = traversed(box, steps)
    long = [d for d, extent in enumerate(across) if not 1 <= extent <= MAX_BOX_DIM]
    if long:
        add("box", f"box {across}: extents are 1 to {MAX_BOX_DIM}", long[0])
    far = [d for d, step in enumerate(steps) if not 1 <= step <= MAX_STEP]
    if far:
        text = f"elements {tuple(steps)} apart; steps are 1 to {MAX_STEP}"
        add("step", text, far[0])
    elif steps and steps[-1] != 1:
        add("step", "elements of a row are neighbours", len(steps) - 1)
    elif store and any(step != 1 for step in steps):
        add("step", "a store writes neighbours")
    if dims is not None:
        wrong = [d for d, extent in enumerate(dims) if not 1 <= extent <= MAX_DIM]
        if wrong:
            add("extent", f"tensor {tuple(dims)}: extents are 1 to 2**32", wrong[0])
    if address is not None and address % CHUNK:
        add("address", f"address {address:#x} is not a multiple of {CHUNK} bytes")
    if store and dims is not None and dims[-1] * itemsize % CHUNK:
        text = f"rows of {dims[-1] * itemsize} bytes: a store writes behind their end"
        add("store row", text, len(dims) - 1)
    if store and start is not None:
        below = [d for d, first in enumerate(start) if first < 0]
        if below:
            add("store start", f"a store begins at {tuple(start)}, below 0", below[0])
    return found


def _check_strides(
    strides: Sequence[int], itemsize: int, add: Callable[[Rule, str, int], None]
) -> None:
    last = len(strides) - 1
    if strides[-1] != itemsize:
        text = f"innermost stride of {strides[-1]} bytes, not {itemsize}"
        add("stride", text, last)
    uneven = [d for d, stride in enumerate(strides[:-1]) if stride % CHUNK]
    if uneven:
        text = f"strides {tuple(strides[:-1])} are not multiples of {CHUNK} bytes"
        add("stride", text, uneven[0])
    wrong = [d for d, stride in enumerate(strides) if not 0 < stride < MAX_STRIDE]
    if wrong:
        text = f"strides {tuple(strides)} are not within 1 to 2**40 - 1"
        add("stride", text, wrong[0])


def violations(
    box: Sequence[int],
    itemsize: int,
    swizzle: int,
    *,
    dims: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    address: int | None = None,
    start: Sequence[int] | None = None,
    steps: Sequence[int] = (),
) -> list[str]:
    """The texts of `broken`."""
    found = broken(
        box,
        itemsize,
        swizzle,
        dims=dims,
        strides=strides,
        address=address,
        start=start,
        steps=steps,
    )
    return [violation.text for violation in found]


def swizzles_text(last: str = "and") -> str:
    """`SWIZZLES` in words; ``last`` is said before the last one."""
    return ", ".join(map(str, SWIZZLES[:-1])) + f" {last} {SWIZZLES[-1]}"
