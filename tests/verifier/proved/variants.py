"""Legal variants of the library's kernels: statics, types, optional arguments, facts.

    for variant in variants("attention", 12, seed=0): verify(variant.program)

Drawn at random from all combinations below, so that a seed names a fixed selection.
What placing refuses (too much shared memory, too few warps) is drawn again. Nothing is
verified here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from argus.diagnostics import ArgusError
from argus.ir.dtypes import bf16, f16, f32, i32
from argus.ir.program import Program
from argus.kernels.attention.kernel import attention
from argus.kernels.gemm.kernel import gemm_sm80, gemm_sm90
from argus.kernels.grouped.kernel import grouped_gemm
from argus.kernels.norms.kernel import rmsnorm, softmax
from argus.lang.kernel import Kernel
from argus.lang.library import gelu, relu
from argus.requests import Request, placed_program

HALVES = (bf16, f16)
FLOATS = (bf16, f16, f32)


@dataclass(frozen=True)
class Choices:
    """One kernel and what may vary. ``kinds`` are the types of a group of tensors."""

    kernel: Kernel
    statics: Mapping[str, tuple[Any, ...]]
    kinds: Mapping[str, tuple[Any, ...]]
    optional: Mapping[str, tuple[Any, ...]]
    facts: tuple[int, ...]
    targets: tuple[str, ...] = ("sm_90a",)


KERNELS = {
    "gemm_sm90": Choices(
        gemm_sm90,
        {
            "BM": (64, 128), "BN": (64, 128, 256), "BK": (32, 64), "STAGES": (2, 3, 4),
            "CLUSTER": (1, 2), "ACROSS": (False, True),
            "WARPGROUPS": (1, 2), "BC": (32, 64),
            "GROUP": (1, 8, 16), "TMA_STORE": (True, False), "AHEAD": (True, False),
            "REGISTERS": (0, 240),
            "ACTIVATION": (None, relu, gelu),
        },
        {"A B C": HALVES},
        {"Bias": FLOATS, "Residual": HALVES},
        (8, 16),
    ),
    "gemm_sm80": Choices(
        gemm_sm80,
        {
            "BM": (32, 64, 128), "BN": (32, 64), "BK": (32, 64), "STAGES": (2, 3, 4),
            "WARPS": (4, 8), "GROUP": (1, 8), "VECTORS": (True, False),
            "ACTIVATION": (None, relu),
        },
        {"A B C": HALVES},
        {"Bias": FLOATS, "Residual": HALVES},
        (1, 2, 8, 16),
        ("sm_80", "sm_90a"),
    ),
    "softmax": Choices(
        softmax,
        {"BN": (256, 1024, 4096), "ROWS": (1, 2, 4), "WARPS": (1, 4, 8),
         "FOLD": (True, False)},
        {"X Y": FLOATS},
        {},
        (1, 2, 4, 8, 16),
        ("sm_80", "sm_90a"),
    ),
    "rmsnorm": Choices(
        rmsnorm,
        {"BN": (256, 1024, 4096), "ROWS": (1, 2, 4), "WARPS": (1, 4, 8)},
        {"X Y": FLOATS, "W": FLOATS},
        {},
        (1, 2, 4, 8, 16),
        ("sm_80", "sm_90a"),
    ),
    "attention": Choices(
        attention,
        {
            "D": (64, 128), "BQ": (64, 128), "BT": (64, 128), "STAGES": (1, 2, 3),
            "WARPGROUPS": (1, 2), "CAUSAL": (True, False), "FOLD": (True, False),
            "REGISTERS": (0, 240),
        },
        {"Q K V O": HALVES},
        {},
        (8, 16),
    ),
    "grouped": Choices(
        grouped_gemm,
        {
            "BM": (64, 128), "BN": (64, 128), "BK": (32, 64), "STAGES": (2, 3, 4),
            "GROUP": (1, 16), "WARPGROUPS": (1, 2),
        },
        {"X W Y": HALVES, "Expert Start End": (i32,)},
        {"Rows": (i32,), "Out": (i32,)},
        (8, 16),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One specialisation, and its placed program."""

    kernel: str
    number: int
    request: Request
    program: Program

    @property
    def name(self) -> str:
        """For reports."""
        statics = "-".join(
            f"{k}={getattr(v, 'name', v)}" for k, v in self.request.statics.items()
        )
        return f"{self.kernel}-{self.number}-{self.request.target}-{statics}"


def variants(kernel: str, count: int, seed: int = 0) -> Iterator[Variant]:
    """``count`` variants of a kernel that placing accepts."""
    choices, rng = KERNELS[kernel], Random(f"{kernel} {seed}")
    found, drawn = 0, 0
    while found < count:
        drawn += 1
        assert drawn < 40 * count, f"{kernel}: nearly nothing is accepted"
        request = _draw(choices, rng)
        try:
            program = placed_program(request)
        except ArgusError:
            continue
        yield Variant(kernel, found, request, program)
        found += 1


def _draw(choices: Choices, rng: Random) -> Request:
    statics = {n: rng.choice(values) for n, values in choices.statics.items()}
    dtypes: dict[str, Any] = {}
    for names, kinds in choices.kinds.items():
        dtypes |= dict.fromkeys(names.split(), rng.choice(kinds))
    for name, kinds in choices.optional.items():
        if rng.random() < 0.5:
            dtypes[name] = rng.choice(kinds)
    fact = rng.choice(choices.facts)
    tensors = [t for t in choices.kernel.signature.tensors if t.name in dtypes]
    innermost = {t.dims[-1] for t in tensors}
    facts: dict[str, int] = {}
    for tensor in tensors:
        for i, dim in enumerate(tensor.dims):
            if isinstance(dim, str):
                facts[dim] = fact if dim in innermost else 1
            facts[f"{tensor.name}_s{i}"] = fact
    return Request(
        choices.kernel,
        dtypes,
        {n: v for n, v in statics.items() if v is not None},
        rng.choice(choices.targets),
        facts,
    )
