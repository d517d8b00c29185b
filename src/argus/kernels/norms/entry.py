"""Row norms: references and baselines. The kernels are in ``kernel.py``."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, Work
from argus.kernels.norms.choice import RowForms, softmax_backward_statics
from argus.kernels.norms.forms.rmsnorm_passes import rmsnorm_passes
from argus.kernels.norms.forms.softmax_passes import softmax_passes
from argus.kernels.norms.kernel import (
    rmsnorm,
    rmsnorm_apply,
    rmsnorm_parts,
    softmax,
    softmax_apply,
    softmax_backward,
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


def _backward_arguments(case: Case) -> tuple[Argument, ...]:
    shape = (case.sizes["M"], case.sizes["N"])
    given = (Argument(name, bf16, shape) for name in ("Y", "DY"))
    return (*given, Argument("DX", bf16, shape, "output"))


def _backward_choose(case: Case, target: str) -> KernelChoice:
    statics = softmax_backward_statics(case.sizes["N"])
    return KernelChoice(softmax_backward, {**statics, **case.statics})


def _backward_work(case: Case) -> Work:
    count = case.sizes["M"] * case.sizes["N"]
    return Work(4 * count, 3 * 2 * count)


def _backward_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    y, dy, dx = (arrays[name] for name in ("Y", "DY", "DX"))
    gradient = vars(torch.ops)["aten"]._softmax_backward_data.default
    return {
        "torch": lambda: gradient(dy, y, -1, y.dtype),
        "copy": lambda: dx.copy_(dy),
    }


SOFTMAX_BACKWARD = replace(
    SOFTMAX,
    name="softmax_backward",
    title="gradient of softmax over rows, bf16",
    arguments=_backward_arguments,
    choose=_backward_choose,
    reference=FileReference(softmax_backward, ("DX",), _backward_choose),
    work=_backward_work,
    small=(*SOFTMAX.small, Case("2x20000", {"M": 2, "N": 20000})),
    baselines=_backward_baselines,
    line="softmax backward",
)

ENTRIES = (SOFTMAX, SOFTMAX_BACKWARD, RMSNORM)
