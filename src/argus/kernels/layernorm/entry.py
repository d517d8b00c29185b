"""Layer norm: reference, baseline, statics. The kernel is in ``kernel.py``."""

from typing import Any

from argus.kernels.entry import Arrays
from argus.kernels.layernorm.kernel import layernorm
from argus.kernels.norms.rows import RowForms, row_entry, row_statics

EPS = 1e-5


def _held(n: int, bits: int) -> dict[str, object]:
    """Static parameters for rows of ``n`` elements of so many bits.

    Weight and bias are held beside the row, so that fewer blocks share the registers of
    a multiprocessor than of a norm without them.
    """
    statics = row_statics(n, bits)
    blocks = statics["MIN_BLOCKS"]
    assert isinstance(blocks, int)
    return {**statics, "MIN_BLOCKS": max(1, blocks // 2)}


FORMS = RowForms(layernorm, None, _held)


def _reference(xp: Any, arrays: Arrays) -> Any:
    x = arrays["X"]
    centred = x - x.sum(axis=-1, keepdims=True) / x.shape[-1]
    variance = (centred * centred).sum(axis=-1, keepdims=True) / x.shape[-1]
    scaled = centred / xp.sqrt(variance + arrays.get("eps", EPS))
    return scaled * arrays["W"] + arrays["B"]


def _torch(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, EPS)


LAYERNORM = row_entry(
    "layernorm",
    "layer normalisation over rows",
    FORMS,
    reference=_reference,
    flops=8,
    baseline=_torch,
    weights="WB",
    eps=EPS,
)

ENTRIES = (LAYERNORM,)
