"""What a choice of a kernel asks of torch tensors."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch import Tensor

    # Of so many dimensions: `argus.ops` asks for that where a call did not work out.
    Tensor1 = Tensor2 = Tensor3 = Tensor4 = Tensor


_TMA_BYTES = 16
"""Between which TMA addresses tensors and their rows."""
_LINE_BYTES = 128
"""Of L2 and DRAM: rows that begin elsewhere are read with parts of others."""


def aligned_rows(t: Tensor) -> int:
    """Elements that divide the address and all steps but the innermost, up to 16 bytes.

    Steps along one element mean nothing.
    """
    size = t.element_size()
    return gcd(_TMA_BYTES // size, t.data_ptr() // size, *_steps(t))


def row_bytes(t: Tensor) -> int:
    """Bytes that divide all steps but the innermost, up to a line of 128 bytes.

    Where the address is not a multiple of 16 bytes, what divides that, too.
    """
    aligned, size = aligned_rows(t), t.element_size()
    if aligned * size < _TMA_BYTES:
        return aligned * size
    return gcd(_LINE_BYTES, *(step * size for step in _steps(t)))


def _steps(t: Tensor) -> list[int]:
    pairs = zip(t.stride()[:-1], t.shape, strict=False)
    return [step for step, extent in pairs if extent > 1]


def tma_rows(t: Tensor) -> bool:
    """Whether TMA can address the rows of a tensor: 16-byte steps and address."""
    return aligned_rows(t) * t.element_size() == _TMA_BYTES


def tma_store(out: Tensor) -> bool:
    """Whether TMA can store to the rows of a result, which it fills to 16 bytes."""
    return tma_rows(out) and out.shape[-1] * out.element_size() % _TMA_BYTES == 0


def on_hopper(t: Tensor) -> bool:
    """Whether a tensor is on a device with TMA and `wgmma`, or is interpreted.

    What is interpreted is a kernel for the usual target.
    """
    import torch

    if not t.is_cuda:
        return True
    return torch.cuda.get_device_capability(t.device) == (9, 0)


def multiprocessors(t: Tensor) -> int:
    """How many the device of a tensor has; what is interpreted is for an H200."""
    import torch

    if not t.is_cuda:
        from argus.model.hardware import H200

        return H200.multiprocessors
    found = cast("Any", torch.cuda).get_device_properties(t.device)
    return int(found.multi_processor_count)
