"""What a choice of a kernel asks of torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def tma_rows(t: Tensor) -> bool:
    """Whether TMA can address the rows of a tensor: 16-byte steps and address."""
    steps = (n * t.element_size() for n in t.stride()[:-1])
    return all(n % 16 == 0 for n in steps) and t.data_ptr() % 16 == 0
