"""Layer norm: reference, baseline, statics. The kernel is in ``kernel.py``."""

from typing import Any

from argus.kernels.entry import Arrays
from argus.kernels.layernorm.forms.layernorm_passes import layernorm_passes
from argus.kernels.layernorm.kernel import layernorm, layernorm_apply, layernorm_parts
from argus.kernels.norms.choice import RowForms
from argus.kernels.norms.rows import row_entry

EPS = 1e-5


FORMS = RowForms(layernorm, layernorm_passes, layernorm_parts, layernorm_apply)


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
