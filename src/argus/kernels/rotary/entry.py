"""Rotary embedding: reference, baseline, statics. The kernel is in ``kernel.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16, f32
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.rotary.kernel import rotary

_TILE = 4096
"""Elements of a block."""


def rotary_statics(h: int, d: int) -> dict[str, object]:
    """Static parameters for ``h`` heads of dimension ``d``. None was searched."""
    heads = min(8, max(1, 1 << (h - 1).bit_length()))
    return {"D": d, "HEADS": heads, "BS": max(1, _TILE // (heads * d)), "WARPS": 4}


def _shape(case: Case) -> tuple[int, ...]:
    return tuple(case.sizes[name] for name in "BSHD")


def _arguments(case: Case) -> tuple[Argument, ...]:
    shape = _shape(case)
    angles = (shape[1], shape[3] // 2)
    return (
        Argument("X", bf16, shape),
        Argument("Cos", f32, angles),
        Argument("Sin", f32, angles),
        Argument("Y", bf16, shape, "output"),
    )


def _choose(case: Case, target: str) -> KernelChoice:
    pairs = "interleaved" in case.options
    statics = rotary_statics(case.sizes["H"], case.sizes["D"])
    return KernelChoice(rotary, {**statics, "PAIRS": pairs})


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x = arrays["X"]
    cos, sin = arrays["Cos"][None, :, None, :], arrays["Sin"][None, :, None, :]
    half = case.sizes["D"] // 2
    if "interleaved" in case.options:
        a, b = x[:, :, :, 0::2], x[:, :, :, 1::2]
    else:
        a, b = x[:, :, :, :half], x[:, :, :, half:]
    u, v = a * cos - b * sin, b * cos + a * sin
    if "interleaved" in case.options:
        return {"Y": xp.stack([u, v], -1).reshape(x.shape)}
    return {"Y": xp.concatenate([u, v], -1)}


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    x, y = arrays["X"], arrays["Y"]
    small: Arrays = {"X": x}
    small |= {n: arrays[n].to(x.dtype) for n in ("Cos", "Sin")}
    return {
        "torch": lambda: _reference(torch, small, case),
        "copy": lambda: y.copy_(x),
    }


def _case(b: int, s: int, h: int, d: int, **options: object) -> Case:
    words = "".join(f" {word}" for word in options)
    sizes = {"B": b, "S": s, "H": h, "D": d}
    return Case(f"{b}x{s}x{h}x{d}{words}", sizes, options)


def _work(case: Case) -> Work:
    b, s, h, d = _shape(case)
    return Work(3 * b * s * h * d, 4 * b * s * h * d)


ROTARY = LibraryEntry(
    name="rotary",
    title="rotary embedding, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(_case(2, 5, 3, 64), _case(1, 9, 2, 32, interleaved=1)),
    odd=(_case(1, 1, 1, 16), _case(3, 77, 5, 256)),
    large=(_case(4, 4096, 32, 128), _case(4, 4096, 32, 128, interleaved=1)),
    baselines=_baselines,
    beside="copy",
    line="rotary embedding",
    targets=("sm_80", "sm_90a"),
    memory_bound=True,
)

ENTRIES = (ROTARY,)
