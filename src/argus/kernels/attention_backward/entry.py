"""Attention that gradients are taken of, and these: sizes, references, baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, f32
from argus.kernels.attention.entry import ATTENTION, reference_with_sums
from argus.kernels.attention.kernel import attention_training
from argus.kernels.attention_backward.choice import training_statics
from argus.kernels.attention_backward.kernel import (
    attention_backward_keys,
    attention_backward_queries,
    attention_backward_sums,
)
from argus.kernels.entry import (
    Argument,
    Arrays,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
    count,
)
from argus.lang.kernel import Kernel


def _sizes(case: Case) -> tuple[int, ...]:
    return tuple(case.sizes[d] for d in "BHGSTD")


def _inputs(case: Case) -> tuple[Argument, ...]:
    b, h, g, s, t, d = _sizes(case)
    rows, keys = (b, h, s, d), (b, g, t, d)
    shapes = {"Q": rows, "K": keys, "V": keys, "DO": rows}
    sums = (Argument(name, f32, (b, h, s)) for name in ("L", "Delta"))
    return (*(Argument(name, bf16, shape) for name, shape in shapes.items()), *sums)


def _key_arguments(case: Case) -> tuple[Argument, ...]:
    b, _, g, _, t, d = _sizes(case)
    made = (Argument(name, bf16, (b, g, t, d), "output") for name in ("DK", "DV"))
    return (*_inputs(case), *made)


def _query_arguments(case: Case) -> tuple[Argument, ...]:
    b, h, _, s, _, d = _sizes(case)
    return (*_inputs(case), Argument("DQ", bf16, (b, h, s, d), "output"))


def _chosen(kernel: Kernel) -> Callable[[Case, str], KernelChoice]:
    def choose(case: Case, target: str) -> KernelChoice:
        d = case.sizes["D"]
        statics = {"D": d, "CAUSAL": "causal" in case.options, **case.statics}
        return KernelChoice(kernel, statics, {"scale": d**-0.5})

    return choose


def _probabilities(
    xp: Any, arrays: Arrays, case: Case, i: int, heads: Any, j: int
) -> tuple[Any, Any]:
    """Of query heads that share key head j: probabilities, and gradients of scores."""
    d = case.sizes["D"]
    q, do, logs, delta = (arrays[n][i, heads] for n in ("Q", "DO", "L", "Delta"))
    k, v = (arrays[n][i, j] for n in "KV")
    p = xp.exp(q @ k.T * arrays.get("scale", d**-0.5) - logs[..., None])
    if "causal" in case.options:
        row, key = (count(xp, n, p) for n in p.shape[-2:])
        p = xp.where(key <= row[:, None], p, 0.0)
    return p, p * (do @ v.T - delta[..., None])


def _key_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    b, h, g, _, _, d = _sizes(case)
    scale = arrays.get("scale", d**-0.5)
    dk, dv = xp.zeros_like(arrays["K"]), xp.zeros_like(arrays["V"])
    for i in range(b):
        for j in range(g):
            heads = slice(j * (h // g), (j + 1) * (h // g))
            p, ds = _probabilities(xp, arrays, case, i, heads, j)
            q, do = (arrays[n][i, heads] for n in ("Q", "DO"))
            dk[i, j] = xp.einsum("rst,rsd->td", ds, q) * scale
            dv[i, j] = xp.einsum("rst,rsd->td", p, do)
    return {"DK": dk, "DV": dv}


def _query_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    b, h, g, _, _, d = _sizes(case)
    scale = arrays.get("scale", d**-0.5)
    dq = xp.zeros_like(arrays["Q"])
    for i in range(b):
        for j in range(h):
            own = j // (h // g)
            _, ds = _probabilities(xp, arrays, case, i, j, own)
            dq[i, j] = ds @ arrays["K"][i, own] * scale
    return {"DQ": dq}


def _work(products: int) -> Callable[[Case], Work]:
    def work(case: Case) -> Work:
        b, h, g, s, t, d = _sizes(case)
        flops = 2 * products * b * h * s * t * d
        if "causal" in case.options:
            flops //= 2
        return Work(flops, 2 * b * d * (3 * h * s + 3 * g * t))

    return work


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    q, k, v = (arrays[n].detach().requires_grad_() for n in "QKV")
    causal, grouped = "causal" in case.options, q.shape[1] != k.shape[1]
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=grouped
    )

    def backward() -> Any:
        # All three gradients.
        return torch.autograd.grad(out, (q, k, v), arrays["DO"], retain_graph=True)

    return {"torch": backward}


def _case(
    b: int, h: int, g: int, s: int, t: int, name: str, d: int = 128, **options: object
) -> Case:
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": d}
    return Case(name, sizes, options)


KEYS = LibraryEntry(
    name="attention_backward_keys",
    title="gradients of keys and values of attention, bf16",
    arguments=_key_arguments,
    choose=_chosen(attention_backward_keys),
    reference=_key_reference,
    work=_work(4),
    small=(
        _case(1, 2, 1, 130, 150, "shared keys", 64),
        _case(1, 1, 1, 150, 150, "causal", 64, causal=1),
        _case(1, 1, 1, 70, 100, "80 elements", 80),
    ),
    odd=(
        _case(1, 1, 1, 1, 1, "one query"),
        _case(2, 6, 3, 129, 129, "one past a tile"),
        _case(1, 4, 1, 777, 777, "odd rows, causal", causal=1),
    ),
    large=(
        _case(4, 32, 32, 4096, 4096, "4x32/32x4096"),
        _case(2, 32, 8, 8192, 8192, "2x32/8x8192 causal", causal=1),
    ),
    baselines=_baselines,
    beside="torch",
    line="attention backward, keys and values",
    tolerance=8e-3,
    usual={"G": "H", "T": "S"},
)

QUERIES = replace(
    KEYS,
    name="attention_backward_queries",
    title="gradient of queries of attention, bf16",
    arguments=_query_arguments,
    choose=_chosen(attention_backward_queries),
    reference=_query_reference,
    work=_work(3),
    line="attention backward, queries",
)


def _sum_arguments(case: Case) -> tuple[Argument, ...]:
    b, h, _, s, _, d = _sizes(case)
    rows = (Argument(name, bf16, (b, h, s, d)) for name in ("O", "DO"))
    return (*rows, Argument("Delta", f32, (b, h, s), "output"))


def _sum_choose(case: Case, target: str) -> KernelChoice:
    return KernelChoice(attention_backward_sums, {"D": case.sizes["D"], **case.statics})


def _sum_work(case: Case) -> Work:
    b, h, _, s, _, d = _sizes(case)
    return Work(2 * b * h * s * d, 4 * b * h * s * (d + 1))


def _sum_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    out, dout = arrays["O"], arrays["DO"]
    copy = out.clone()
    return {
        "torch": lambda: (out.float() * dout).sum(-1),
        "copy": lambda: copy.copy_(dout),
    }


SUMS = replace(
    KEYS,
    name="attention_backward_sums",
    title="sums of products of rows, for gradients of attention, bf16",
    arguments=_sum_arguments,
    choose=_sum_choose,
    reference=FileReference(attention_backward_sums, ("Delta",), _sum_choose),
    work=_sum_work,
    small=(
        _case(1, 2, 2, 35, 35, "two heads", 64),
        _case(2, 1, 1, 17, 17, "80 elements", 80),
    ),
    baselines=_sum_baselines,
    beside="copy",
    line="attention backward, sums of rows",
    targets=("sm_80", "sm_90a"),
    memory_bound=True,
)


def _forward_arguments(case: Case) -> tuple[Argument, ...]:
    b, h, _, s, _, _ = _sizes(case)
    return (*ATTENTION.arguments(case), Argument("L", f32, (b, h, s), "output"))


def _forward_choose(case: Case, target: str) -> KernelChoice:
    from argus.model.hardware import H200

    b, h, _, s, _, d = _sizes(case)
    causal, count = "causal" in case.options, H200.multiprocessors
    statics = training_statics(d, s, causal=causal, heads=b * h, multiprocessors=count)
    return KernelChoice(attention_training, statics | case.statics, {"scale": d**-0.5})


MANY_ROWS = training_statics(64, 4096, causal=False, heads=64, multiprocessors=132)

FORWARD = replace(
    ATTENTION,
    name="attention_training",
    title="attention forward and logarithms of its sums, bf16",
    arguments=_forward_arguments,
    choose=_forward_choose,
    reference=reference_with_sums,
    small=(
        _case(1, 2, 1, 70, 100, "shared keys", 64),
        _case(1, 1, 1, 100, 100, "causal", 80, causal=1),
        _case(1, 1, 1, 200, 140, "many rows", 64, **MANY_ROWS),
    ),
    odd=KEYS.odd,
    large=KEYS.large,
    line="attention forward, for gradients",
)

ENTRIES = (FORWARD, SUMS, KEYS, QUERIES)
