"""Cross-entropy: references, baselines, statics. The kernels are in ``kernel.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16, f32, i64
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.losses.choice import backward_statics, row_loss_statics
from argus.kernels.losses.kernel import cross_entropy, cross_entropy_backward

IGNORED = -100
"""The target of a row that does not count, as torch has it."""
SMOOTHING = 0.1
"""Of cases that are smooth."""
_NUMBERS = {"ignore": IGNORED, "smoothing": 0.0, "z": 0.0}


def _sizes(case: Case) -> tuple[int, int]:
    return case.sizes["M"], case.sizes["N"]


def _arguments(case: Case) -> tuple[Argument, ...]:
    m, n = _sizes(case)
    made = (Argument(name, f32, (m,), "output") for name in "LSK")
    return (Argument("X", bf16, (m, n)), Argument("T", i64, (m,), "index", n), *made)


def _tables(xp: Any, arrays: Arrays, case: Case) -> None:
    """Some rows do not count."""
    arrays["T"][2::5] = IGNORED


def _scalars(case: Case) -> dict[str, int | float]:
    smoothing = SMOOTHING if "smooth" in case.options else 0.0
    return {**_NUMBERS, "smoothing": smoothing}


def _choose(case: Case, target: str) -> KernelChoice:
    statics = row_loss_statics(case.sizes["N"])
    statics["SMOOTH"] = "smooth" in case.options
    return KernelChoice(cross_entropy, statics, _scalars(case))


def _logarithms(xp: Any, x: Any) -> Any:
    """Logarithms of the sums of exponentials, (M, 1)."""
    top = xp.amax(x, axis=-1, keepdims=True)
    return top + xp.log(xp.exp(x - top).sum(axis=-1, keepdims=True))


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x, t = arrays["X"], arrays["T"]
    s = _logarithms(xp, x)[:, 0]
    kept = t != arrays.get("ignore", IGNORED)
    take = xp.take_along_axis if hasattr(xp, "take_along_axis") else xp.take_along_dim
    target = take(x, xp.where(kept, t, 0)[:, None], -1)[:, 0]
    if "smooth" in case.options:
        smoothing = arrays.get("smoothing", SMOOTHING)
        mean = x.sum(axis=-1) / x.shape[-1]
        target = (1 - smoothing) * target + smoothing * mean
    loss = xp.where(kept, s - target + arrays.get("z", 0.0) * s * s, 0.0)
    return {"L": loss, "S": s, "K": xp.where(kept, 1.0, 0.0)}


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    x, t = arrays["X"], arrays["T"]
    smoothing = float(_scalars(case)["smoothing"])
    copy = torch.empty_like(x[: (x.shape[0] + 1) // 2])
    return {
        "torch": lambda: torch.nn.functional.cross_entropy(
            x, t, reduction="none", label_smoothing=smoothing
        ),
        "copy": lambda: copy.copy_(x[: copy.shape[0]]),
    }


def _case(m: int, n: int, name: str = "", **options: object) -> Case:
    shown = f"{m}x{n}" + "".join(f" {word}" for word in options)
    return Case(name or shown, {"M": m, "N": n}, options)


CROSS_ENTROPY = LibraryEntry(
    name="cross_entropy",
    title="cross-entropy over rows of logits, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=lambda case: Work(
        5 * case.sizes["M"] * case.sizes["N"], 2 * case.sizes["M"] * case.sizes["N"]
    ),
    small=(_case(6, 250), _case(3, 9000), _case(2, 9001, smooth=1)),
    odd=(
        _case(1, 131072, "one row"),
        _case(777, 1, "one class"),
        _case(1001, 3333, "odd columns"),
        _case(70, 262143, "long odd rows"),
    ),
    large=(
        _case(4096, 128256),
        _case(16384, 32000),
        _case(8192, 50257),
        _case(65536, 1000),
    ),
    baselines=_baselines,
    beside="copy",
    line="cross-entropy over rows",
    targets=("sm_80", "sm_90a"),
    tables=_tables,
    memory_bound=True,
)


def _backward_arguments(case: Case) -> tuple[Argument, ...]:
    m, n = _sizes(case)
    return (
        Argument("X", bf16, (m, n)),
        Argument("T", i64, (m,), "index", n),
        Argument("S", f32, (m,)),
        Argument("G", f32, (m,)),
        Argument("DX", bf16, (m, n), "output"),
    )


def _backward_choose(case: Case, target: str) -> KernelChoice:
    statics = {**backward_statics(case.sizes["N"]), "EACH": True}
    return KernelChoice(cross_entropy_backward, statics, _scalars(case))


def _backward_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x, t, s, g = (arrays[name] for name in "XTSG")
    smoothing, n = arrays.get("smoothing", 0.0), x.shape[-1]
    p = xp.exp(x - s[:, None]) * (1 + 2 * arrays.get("z", 0.0) * s[:, None])
    columns = xp.cumsum(xp.ones_like(x[0]), 0) - 1
    target = xp.where(t[:, None] == columns, 1 - smoothing, 0.0) + smoothing / n
    kept = (t != arrays.get("ignore", IGNORED))[:, None]
    return {"DX": xp.where(kept, (p - target) * g[:, None], 0.0)}


def _backward_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    x, out = arrays["X"], arrays["DX"]
    return {"copy": lambda: out.copy_(x)}


CROSS_ENTROPY_BACKWARD = LibraryEntry(
    name="cross_entropy_backward",
    title="gradient of cross-entropy over rows of logits, bf16",
    arguments=_backward_arguments,
    choose=_backward_choose,
    reference=_backward_reference,
    work=lambda case: Work(
        6 * case.sizes["M"] * case.sizes["N"], 4 * case.sizes["M"] * case.sizes["N"]
    ),
    small=(_case(6, 250), _case(3, 5000)),
    odd=(_case(1, 131072, "one row"), _case(1001, 3333, "odd columns")),
    large=(_case(4096, 128256), _case(8192, 50257)),
    baselines=_backward_baselines,
    beside="copy",
    line="gradient of cross-entropy",
    targets=("sm_80", "sm_90a"),
    tables=_tables,
    memory_bound=True,
)

ENTRIES = (CROSS_ENTROPY, CROSS_ENTROPY_BACKWARD)
