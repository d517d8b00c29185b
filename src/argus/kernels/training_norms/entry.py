"""Norms with a residual: references and baselines. The kernels are in ``kernel.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16, e4m3, f32
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.training_norms.choice import forward_statics
from argus.kernels.training_norms.kernel import LARGEST, LEAST, norm_forward

EPS = {False: 1e-6, True: 1e-5}
"""By whether rows are centred."""


def _case(m: int, n: int, name: str = "") -> Case:
    return Case(name or f"{m}x{n}", {"M": m, "N": n})


def _entry(
    name: str,
    title: str,
    *,
    centred: bool,
    quantised: bool,
    torch_s: Callable[..., Any],
) -> LibraryEntry:
    """``torch_s`` is torch's norm of (sum, weight, bias)."""
    bias = ("B",) if centred else ()

    def arguments(case: Case) -> tuple[Argument, ...]:
        m, n = case.sizes["M"], case.sizes["N"]
        whole, kept = (m, n), Argument("Rstd", f32, (m,), "output")
        out = (Argument("Y", bf16, whole, "output"),)
        last: tuple[Argument, ...] = (kept,)
        if centred:
            last = (Argument("Mean", f32, (m,), "output"), kept)
        if quantised:
            out = ()
            last = (
                Argument("Q", e4m3, whole, "output"),
                Argument("Scale", f32, (m,), "output"),
            )
        return (
            Argument("X", bf16, whole),
            Argument("W", bf16, (n,)),
            *out,
            *(Argument(b, bf16, (n,)) for b in bias),
            Argument("R", bf16, whole),
            Argument("H", bf16, whole, "output"),
            *last,
        )

    def choose(case: Case, target: str) -> KernelChoice:
        statics = forward_statics(case.sizes["N"], centred=centred)
        return KernelChoice(norm_forward, statics, {"eps": EPS[centred]})

    def reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
        h = arrays["X"] + arrays["R"]
        n = h.shape[-1]
        mean = h.sum(axis=-1) / n
        x = h - mean[:, None] if centred else h
        variance = (x * x).sum(axis=-1) / n
        rstd = 1 / xp.sqrt(variance + arrays.get("eps", EPS[centred]))
        y = x * rstd[:, None] * arrays["W"]
        y = y + arrays["B"] if centred else y
        if quantised:
            top = xp.amax(xp.abs(y), axis=-1)
            scale = xp.where(top > LEAST, top, LEAST) / LARGEST
            return {"H": h, "Q": y / scale[:, None], "Scale": scale}
        means = {"Mean": mean} if centred else {}
        return {"Y": y, "H": h, "Rstd": rstd, **means}

    def work(case: Case) -> Work:
        m, n = case.sizes["M"], case.sizes["N"]
        return Work(8 * m * n, (7 if quantised else 8) * m * n)

    def baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
        import torch

        x, r, w = arrays["X"], arrays["R"], arrays["W"]
        rows = torch.empty_like(torch.cat([x, x]))
        other = torch.empty_like(rows)
        return {
            "torch": lambda: torch_s(x + r, w, arrays.get("B")),
            "copy": lambda: other.copy_(rows),
        }

    return LibraryEntry(
        name=name,
        title=f"{title}, bf16",
        arguments=arguments,
        choose=choose,
        reference=reference,
        work=work,
        small=(_case(5, 256), _case(3, 1000)),
        odd=(_case(1, 8192, "one row"), _case(1001, 3333, "odd columns")),
        large=(_case(16384, 8192), _case(8192, 4096), _case(8191, 5000)),
        baselines=baselines,
        beside="copy",
        line=f"{title} of rows",
        targets=("sm_90a",) if quantised else ("sm_80", "sm_90a"),
        # Eight bits are right to four; means of rounded sums are small beside these.
        tolerance=4e-2 if quantised else 2e-2 if centred else 5e-3,
        memory_bound=True,
    )


def _rms(h: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.nn.functional.rms_norm(h, h.shape[-1:], w, EPS[False])


def _layer(h: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(h, h.shape[-1:], w, b, EPS[True])


ENTRIES = (
    _entry(
        "add_rmsnorm",
        "sum and its root-mean-square norm",
        centred=False,
        quantised=False,
        torch_s=_rms,
    ),
    _entry(
        "add_layernorm",
        "sum and its layer norm",
        centred=True,
        quantised=False,
        torch_s=_layer,
    ),
    _entry(
        "quantised_rmsnorm",
        "sum and its root-mean-square norm in e4m3",
        centred=False,
        quantised=True,
        torch_s=_rms,
    ),
)
