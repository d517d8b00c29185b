"""What the entries of norms over rows have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.norms.choice import RowForms

__all__ = ["row_entry"]


def _case(m: int, n: int, name: str = "") -> Case:
    return Case(name or f"{m}x{n}", {"M": m, "N": n})


def row_entry(
    name: str,
    title: str,
    forms: RowForms,
    *,
    reference: Callable[[Any, Arrays], Any],
    flops: int,
    baseline: Callable[..., Any],
    weights: str = "",
    eps: float | None = None,
) -> LibraryEntry:
    """The entry of kernels from X (M, N) to Y (M, N), bf16.

    ``weights``: names of its rows of N weights. ``reference(xp, arrays)`` is Y;
    ``flops`` are those of an element. ``baseline(x, *weights)`` is torch's own.
    """

    def arguments(case: Case) -> tuple[Argument, ...]:
        shape = (case.sizes["M"], case.sizes["N"])
        rows = (Argument(w, bf16, shape[1:]) for w in weights)
        x, y = Argument("X", bf16, shape), Argument("Y", bf16, shape, "output")
        return (x, *rows, y)

    def choose(case: Case, target: str) -> KernelChoice:
        scalars: dict[str, int | float] = {} if eps is None else {"eps": eps}
        kernel, statics = forms.single(case.sizes["N"])
        return KernelChoice(kernel, statics, scalars)

    def work(case: Case) -> Work:
        m, n = case.sizes["M"], case.sizes["N"]
        return Work(flops * m * n, 2 * 2 * m * n)

    def baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
        x, y = arrays["X"], arrays["Y"]
        rows = [arrays[w] for w in weights]
        return {"torch": lambda: baseline(x, *rows), "copy": lambda: y.copy_(x)}

    return LibraryEntry(
        name=name,
        title=f"{title}, bf16",
        arguments=arguments,
        choose=choose,
        reference=lambda xp, arrays, case: {"Y": reference(xp, arrays)},
        work=work,
        small=(_case(5, 256), _case(3, 1000), _case(4, 4100)),
        odd=(
            _case(1, 8192, "one row"),
            _case(777, 1, "one column"),
            _case(1001, 3333, "odd columns"),
            _case(100, 4097, "a power of two and one"),
            _case(7, 128256),
            _case(3, 40001),
        ),
        large=(
            _case(16384, 8192),
            _case(4096, 4096),
            _case(8192, 16384),
            _case(8191, 5000),
        ),
        baselines=baselines,
        beside="copy",
        line=f"{name} over rows",
        targets=("sm_80", "sm_90a"),
        memory_bound=True,
    )
