"""Row norms: references and baselines. The kernels are in ``kernel.py``."""

from typing import Any

from argus.kernels.entry import Arrays
from argus.kernels.norms.choice import RowForms
from argus.kernels.norms.forms.rmsnorm_passes import rmsnorm_passes
from argus.kernels.norms.forms.softmax_passes import softmax_passes
from argus.kernels.norms.kernel import (
    rmsnorm,
    rmsnorm_apply,
    rmsnorm_parts,
    softmax,
    softmax_apply,
    softmax_parts,
)
from argus.kernels.norms.rows import row_entry

EPS = 1e-6
SOFTMAX_FORMS = RowForms(
    softmax,
    softmax_passes,
    softmax_parts,
    softmax_apply,
    fixed={"ONLINE": True, "FOLD": True},
)
RMSNORM_FORMS = RowForms(rmsnorm, rmsnorm_passes, rmsnorm_parts, rmsnorm_apply)


def _softmax_reference(xp: Any, arrays: Arrays) -> Any:
    x = arrays["X"]
    e = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _rmsnorm_reference(xp: Any, arrays: Arrays) -> Any:
    x = arrays["X"]
    mean = (x * x).sum(axis=-1, keepdims=True) / x.shape[-1]
    return x / xp.sqrt(mean + arrays.get("eps", EPS)) * arrays["W"]


def _torch_softmax(x: Any) -> Any:
    import torch

    return torch.softmax(x, -1)


def _torch_rmsnorm(x: Any, w: Any) -> Any:
    import torch

    return torch.nn.functional.rms_norm(x, x.shape[-1:], w, EPS)


SOFTMAX = row_entry(
    "softmax",
    "softmax over rows",
    SOFTMAX_FORMS,
    reference=_softmax_reference,
    flops=5,
    baseline=_torch_softmax,
)

RMSNORM = row_entry(
    "rmsnorm",
    "root-mean-square norm over rows",
    RMSNORM_FORMS,
    reference=_rmsnorm_reference,
    flops=5,
    baseline=_torch_rmsnorm,
    weights="W",
    eps=EPS,
)

ENTRIES = (SOFTMAX, RMSNORM)
