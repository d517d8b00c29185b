"""SwiGLU: sizes, reference, baseline. The kernel is in ``kernel.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.swiglu.kernel import swiglu_sm90
from argus.kernels.swiglu.op import statics_for

_PROCESSORS = 132
"""Multiprocessors that static parameters are chosen for."""


def _arguments(case: Case) -> tuple[Argument, ...]:
    m, n, k = (case.sizes[d] for d in "MNK")
    return (
        Argument("A", bf16, (m, k)),
        Argument("Gate", bf16, (n, k)),
        Argument("Up", bf16, (n, k)),
        Argument("H", bf16, (m, n), "output"),
    )


def _choose(case: Case, target: str) -> KernelChoice:
    statics = statics_for(case.sizes["M"], case.sizes["N"], _PROCESSORS)
    return KernelChoice(swiglu_sm90, {**statics, **case.statics})


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    gate = arrays["A"] @ arrays["Gate"].T
    return {"H": gate / (1 + xp.exp(-gate)) * (arrays["A"] @ arrays["Up"].T)}


def _work(case: Case) -> Work:
    m, n, k = (case.sizes[d] for d in "MNK")
    return Work(4 * m * n * k, 2 * (m * k + 2 * n * k + m * n))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    a, gate, up = (arrays[name] for name in ("A", "Gate", "Up"))
    return {"cuBLAS": lambda: torch.nn.functional.silu(a @ gate.T) * (a @ up.T)}


def _case(m: int, n: int, k: int, name: str = "", **options: object) -> Case:
    return Case(name or f"{m}x{n}x{k}", {"M": m, "N": n, "K": k}, options)


SWIGLU = LibraryEntry(
    name="swiglu",
    title="SwiGLU of two matrix products, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(
        _case(200, 136, 72, STAGES=2),
        _case(40, 72, 200),
        _case(256, 128, 64, "a cluster", CLUSTER=2, STAGES=2),
    ),
    odd=(
        _case(1, 8, 8, "one row"),
        _case(129, 264, 136, "one past a tile"),
        _case(777, 1000, 2000, "odd rows"),
    ),
    large=(
        _case(8192, 14336, 4096),
        _case(4096, 8192, 8192),
        _case(64, 14336, 4096),
    ),
    baselines=_baselines,
    beside="cuBLAS",
    line="SwiGLU of two products",
)

ENTRIES = (SWIGLU,)
