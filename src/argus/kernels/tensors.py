"""What a choice of a kernel asks of torch tensors."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


_TMA_BYTES = 16
"""Between which TMA addresses tensors and their rows."""


def aligned_rows(t: Tensor) -> int:
    """Elements that divide the address and all steps but the innermost, up to 16 bytes.

    Steps along one element mean nothing.
    """
    size = t.element_size()
    steps = (
        n for n, extent in zip(t.stride()[:-1], t.shape, strict=False) if extent > 1
    )
    return gcd(_TMA_BYTES // size, t.data_ptr() // size, *steps)


def tma_rows(t: Tensor) -> bool:
    """Whether TMA can address the rows of a tensor: 16-byte steps and address."""
    return aligned_rows(t) * t.element_size() == _TMA_BYTES
