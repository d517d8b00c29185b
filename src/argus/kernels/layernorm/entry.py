"""Layer norm: sizes, reference, baselines. The kernel is in ``kernel.py``."""

from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, Choice, Entry, Work
from argus.kernels.layernorm.kernel import layernorm
from argus.kernels.norms.entry import row_statics

EPS = 1e-5


def statics_of(n: int, bits: int = 16) -> dict[str, object]:
    """Static parameters for rows of ``n`` elements of so many bits.

    Weight and bias are held beside the row, so that fewer blocks share the registers of
    a multiprocessor than of a norm without them.
    """
    statics = row_statics(n, bits)
    blocks = statics["MIN_BLOCKS"]
    assert isinstance(blocks, int)
    return {**statics, "MIN_BLOCKS": max(1, blocks // 2)}


def _arguments(case: Case) -> tuple[Argument, ...]:
    shape = (case.sizes["M"], case.sizes["N"])
    return (
        Argument("X", bf16, shape),
        Argument("W", bf16, shape[1:]),
        Argument("B", bf16, shape[1:]),
        Argument("Y", bf16, shape, "output"),
    )


def _choose(case: Case, target: str) -> Choice:
    return Choice(layernorm, statics_of(case.sizes["N"]), {"eps": EPS})


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x = arrays["X"]
    centred = x - x.sum(axis=-1, keepdims=True) / x.shape[-1]
    variance = (centred * centred).sum(axis=-1, keepdims=True) / x.shape[-1]
    scaled = centred / xp.sqrt(variance + arrays.get("eps", EPS))
    return {"Y": scaled * arrays["W"] + arrays["B"]}


def _work(case: Case) -> Work:
    m, n = case.sizes["M"], case.sizes["N"]
    return Work(8 * m * n, 2 * 2 * m * n)


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    x, w, b, y = (arrays[name] for name in "XWBY")
    return {
        "torch": lambda: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, EPS),
        "copy": lambda: y.copy_(x),
    }


def _case(m: int, n: int, name: str = "") -> Case:
    return Case(name or f"{m}x{n}", {"M": m, "N": n})


LAYERNORM = Entry(
    name="layernorm",
    title="layer normalisation over rows, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(_case(5, 256), _case(3, 1000), _case(4, 4100)),
    odd=(
        _case(1, 8192, "one row"),
        _case(777, 1, "one column"),
        _case(1001, 3333, "odd columns"),
        _case(100, 4097, "a power of two and one"),
    ),
    large=(
        _case(16384, 8192),
        _case(4096, 4096),
        _case(8192, 16384),
        _case(8191, 5000),
    ),
    baselines=_baselines,
    beside="copy",
    line="layernorm over rows",
    targets=("sm_80", "sm_90a"),
    memory_bound=True,
)

ENTRIES = (LAYERNORM,)
