"""Row norms: sizes, forms, references. The kernels are in ``kernel.py``."""

from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, Choice, Entry, Work
from argus.kernels.norms.kernel import rmsnorm, softmax

EPS = 1e-6


def row_statics(n: int, bits: int = 16) -> dict[str, object]:
    """Columns held per row, warps, and blocks per multiprocessor for rows of ``n``.

    1024 resident threads have 64 registers each: enough for 32 columns of 16 bits per
    thread, loaded 16 bytes at a time. All else takes more.
    """
    columns = max(256, 1 << (n - 1).bit_length())
    warps = min(16, max(1, columns // 1024))
    crowded = bits > 16 or n % 8 != 0 or columns // (32 * warps) > 32
    blocks = max(1, (16 if crowded else 32) // warps)
    statics = {"BN": columns, "WARPS": warps, "MIN_BLOCKS": blocks, "ROWS": 1}
    return {**statics, "SPILL": 128 if columns > 16384 else 0}


def _softmax_arguments(case: Case) -> tuple[Argument, ...]:
    shape = (case.sizes["M"], case.sizes["N"])
    return (Argument("X", bf16, shape), Argument("Y", bf16, shape, "output"))


def _rmsnorm_arguments(case: Case) -> tuple[Argument, ...]:
    shape = (case.sizes["M"], case.sizes["N"])
    return (
        Argument("X", bf16, shape),
        Argument("W", bf16, shape[1:]),
        Argument("Y", bf16, shape, "output"),
    )


def _softmax(case: Case, target: str) -> Choice:
    return Choice(softmax, row_statics(case.sizes["N"]))


def _rmsnorm(case: Case, target: str) -> Choice:
    return Choice(rmsnorm, row_statics(case.sizes["N"]), {"eps": EPS})


def _softmax_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x = arrays["X"]
    e = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return {"Y": e / e.sum(axis=-1, keepdims=True)}


def _rmsnorm_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x = arrays["X"]
    mean = (x * x).sum(axis=-1, keepdims=True) / x.shape[-1]
    return {"Y": x / xp.sqrt(mean + arrays.get("eps", EPS)) * arrays["W"]}


def _work(case: Case) -> Work:
    m, n = case.sizes["M"], case.sizes["N"]
    return Work(5 * m * n, 2 * 2 * m * n)


def _softmax_baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    x, y = arrays["X"], arrays["Y"]
    return {
        "torch": lambda: torch.softmax(x, -1),
        "copy": lambda: y.copy_(x),
    }


def _rmsnorm_baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    x, w, y = arrays["X"], arrays["W"], arrays["Y"]
    return {
        "torch": lambda: torch.nn.functional.rms_norm(x, x.shape[-1:], w, EPS),
        "copy": lambda: y.copy_(x),
    }


def _case(m: int, n: int) -> Case:
    return Case(f"{m}x{n}", {"M": m, "N": n})


_SMALL = (_case(5, 256), _case(3, 1000), _case(4, 4100))
_LARGE = (_case(16384, 8192), _case(4096, 4096), _case(8192, 16384), _case(8191, 5000))

_ODD = (
    Case("one row", {"M": 1, "N": 8192}),
    Case("one column", {"M": 777, "N": 1}),
    Case("odd columns", {"M": 1001, "N": 3333}),
    Case("a power of two and one", {"M": 100, "N": 4097}),
)

SOFTMAX = Entry(
    name="softmax",
    title="softmax over rows, bf16",
    arguments=_softmax_arguments,
    choose=_softmax,
    reference=_softmax_reference,
    work=_work,
    small=_SMALL,
    odd=_ODD,
    large=_LARGE,
    baselines=_softmax_baselines,
    beside="copy",
    line="softmax over rows",
    targets=("sm_80", "sm_90a"),
    memory_bound=True,
)

RMSNORM = Entry(
    name="rmsnorm",
    title="root-mean-square norm over rows, bf16",
    arguments=_rmsnorm_arguments,
    choose=_rmsnorm,
    reference=_rmsnorm_reference,
    work=_work,
    small=_SMALL,
    odd=_ODD,
    large=_LARGE,
    baselines=_rmsnorm_baselines,
    beside="copy",
    line="rmsnorm over rows",
    targets=("sm_80", "sm_90a"),
    memory_bound=True,
)

ENTRIES = (SOFTMAX, RMSNORM)
