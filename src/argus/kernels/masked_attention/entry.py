"""Attention under windows, soft caps and sinks: sizes, reference, baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16, f32
from argus.kernels.entry import (
    Argument,
    Arrays,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
    count,
)
from argus.kernels.masked_attention.choice import causal_statics, masked_statics
from argus.kernels.masked_attention.kernel import masked_attention

CAP = 20.0
"""Of scores, in cases that have a cap."""


def _sizes(case: Case) -> tuple[int, ...]:
    return tuple(case.sizes[d] for d in "BHGSTD")


def _bound(case: Case, name: str) -> int:
    found = case.statics.get(name, -1)
    assert isinstance(found, int)
    return found


def _arguments(case: Case) -> tuple[Argument, ...]:
    b, h, g, s, t, d = _sizes(case)
    found = [
        Argument("Q", bf16, (b, h, s, d)),
        Argument("K", bf16, (b, g, t, d)),
        Argument("V", bf16, (b, g, t, d)),
        Argument("O", bf16, (b, h, s, d), "output"),
        Argument("L", f32, (b, h, s), "output"),
    ]
    if "sinks" in case.options:
        found.append(Argument("Sinks", f32, (h,)))
    return tuple(found)


def _choose(case: Case, target: str) -> KernelChoice:
    d, capped = case.sizes["D"], "capped" in case.options
    bounds = _bound(case, "LEFT"), _bound(case, "RIGHT")
    statics = {**masked_statics(d, *bounds, softcap=capped), **case.statics}
    scalars = {"scale": d**-0.5, "cap": CAP if capped else 1.0}
    return KernelChoice(masked_attention, statics, scalars)


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    b, h, g, _, _, d = _sizes(case)
    q, k, v = arrays["Q"], arrays["K"], arrays["V"]
    scale, cap = arrays.get("scale", d**-0.5), arrays.get("cap", CAP)
    left, right = _bound(case, "LEFT"), _bound(case, "RIGHT")
    out, logs = xp.zeros_like(q), xp.zeros_like(arrays["L"])
    row, key = count(xp, q.shape[2], q)[:, None], count(xp, k.shape[2], k)
    # One query head at a time: the score matrix of all heads need not fit in memory.
    for i in range(b):
        for j in range(h):
            s = q[i, j] @ k[i, j // (h // g)].T * scale
            if "capped" in case.options:
                s = xp.tanh(s / cap) * cap
            if left >= 0:
                s = xp.where(key >= row - left, s, -xp.inf)
            if right >= 0:
                s = xp.where(key <= row + right, s, -xp.inf)
            top = xp.amax(s, axis=-1)
            if "Sinks" in arrays:
                top = xp.maximum(top, arrays["Sinks"][j])
            e = xp.exp(s - top[:, None])
            total = e.sum(axis=-1)
            if "Sinks" in arrays:
                total = total + xp.exp(arrays["Sinks"][j] - top)
            out[i, j] = e / total[:, None] @ v[i, j // (h // g)]
            logs[i, j] = top + xp.log(total)
    return {"O": out, "L": logs}


def _seen(case: Case) -> int:
    """Pairs of a query and a key that it sees."""
    s, t = case.sizes["S"], case.sizes["T"]
    left, right = _bound(case, "LEFT"), _bound(case, "RIGHT")
    ends = (
        (
            max(0, i - left) if left >= 0 else 0,
            min(t, i + right + 1 if right >= 0 else t),
        )
        for i in range(s)
    )
    return sum(max(0, last - first) for first, last in ends)


def _work(case: Case) -> Work:
    b, h, g, s, t, d = _sizes(case)
    flops = 4 * b * h * d * _seen(case)
    return Work(flops, 2 * b * d * (2 * h * s + 2 * g * t) + 4 * b * h * s)


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    q, k, v = (arrays[n] for n in "QKV")
    s, t, grouped = q.shape[2], k.shape[2], q.shape[1] != k.shape[1]
    row = torch.arange(s, device=q.device)[:, None]
    key = torch.arange(t, device=q.device)
    seen = torch.ones(s, t, dtype=torch.bool, device=q.device)
    if (left := _bound(case, "LEFT")) >= 0:
        seen &= key >= row - left
    if (right := _bound(case, "RIGHT")) >= 0:
        seen &= key <= row + right

    def call() -> Any:
        # Without caps and sinks, which it does not have.
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=seen, enable_gqa=grouped
        )

    return {"torch, masked": call}


def _case(
    b: int, h: int, g: int, s: int, t: int, name: str, d: int = 128, **options: object
) -> Case:
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": d}
    return Case(name, sizes, options)


def _causal(d: int, rows: int) -> dict[str, object]:
    """Those of many causal heads."""
    found = causal_statics(
        d, rows, rows, tma_store=True, heads=256, multiprocessors=132
    )
    assert found is not None
    return found


WIDE_HEADS = {**_causal(192, 150), "BQ": 128, "WARPGROUPS": 2}

MASKED_ATTENTION = LibraryEntry(
    name="masked_attention",
    title="attention forward with windows, soft caps and sinks, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(
        _case(1, 2, 1, 150, 150, "window", 64, LEFT=40, RIGHT=0),
        _case(1, 1, 1, 130, 200, "capped", capped=1, RIGHT=0),
        _case(1, 2, 2, 70, 100, "sinks", 64, sinks=1, LEFT=30, RIGHT=30),
        _case(1, 1, 1, 100, 100, "capped with sinks", 64, capped=1, sinks=1),
        _case(1, 1, 1, 150, 150, "causal, wide heads", 192, **WIDE_HEADS),
        _case(1, 2, 1, 260, 260, "causal, narrow heads", 64, **_causal(64, 4096)),
    ),
    odd=(
        _case(1, 1, 1, 1, 1, "one query", LEFT=0, RIGHT=0),
        _case(2, 6, 3, 129, 129, "one past a tile", LEFT=128, RIGHT=0),
        _case(1, 4, 1, 300, 700, "more keys than queries", RIGHT=5, sinks=1),
    ),
    large=(
        _case(2, 32, 8, 8192, 8192, "window of 4096", LEFT=4095, RIGHT=0),
        _case(2, 32, 8, 8192, 8192, "window of 128", LEFT=127, RIGHT=0),
        _case(2, 32, 16, 4096, 4096, "causal, capped", capped=1, RIGHT=0),
    ),
    baselines=_baselines,
    beside="torch, masked",
    line="attention under windows",
    tolerance=8e-3,
    usual={"G": "H", "T": "S"},
    epilogues=("capped", "sinks"),
)

ENTRIES = (MASKED_ATTENTION,)
