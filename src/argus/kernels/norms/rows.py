"""What kernels that hold whole rows have in common: sizes, statics, their entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.lang.kernel import Kernel

__all__ = ["COLUMNS", "RowForms", "row_entry", "row_statics"]

COLUMNS = (
    *(256, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192),
    *(10240, 12288, 14336, 16384, 20480, 24576, 32768),
)
"""What is searched. The last are the most of a row that is held beside weights."""


def row_statics(n: int, bits: int = 16) -> dict[str, object]:
    """Columns held per row, warps, and blocks per multiprocessor for rows of ``n``.

    1024 resident threads have 64 registers each: enough for 32 columns of 16 bits per
    thread, loaded 16 bytes at a time. All else takes more.
    """
    columns = max(256, 1 << (n - 1).bit_length())
    warps = min(16, max(1, columns // 1024))
    crowded = bits > 16 or n % 8 != 0 or columns // (32 * warps) > 32
    blocks = max(1, (16 if crowded else 32) // warps)
    return {"BN": columns, "WARPS": warps, "MIN_BLOCKS": blocks, "ROWS": 1}


@dataclass(frozen=True)
class RowForms:
    """The kernels of a norm: one holds whole rows, the other walks over long ones.

    ``held_statics(n, bits)`` are those of the first for rows of ``n`` elements;
    ``fixed`` are further ones of the second. Without the second, long rows are held as
    well, and most of their registers spilled.
    """

    held: Kernel
    passes: Kernel | None
    held_statics: Callable[[int, int], dict[str, object]] = row_statics
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])

    def choose(self, n: int, bits: int = 16) -> tuple[Kernel, dict[str, object]]:
        """The kernel for rows of ``n`` elements of so many bits, and its statics.

        Parts of 16384 columns and two blocks of 16 warps were the fastest, or within
        2 % of it, for rows of 49152 to 262144 on an H200.
        """
        if n <= COLUMNS[-1] or self.passes is None:
            return self.held, self.held_statics(n, bits)
        walk = {"BN": 16384, "WARPS": 16, "MIN_BLOCKS": 2, "ROWS": 1}
        return self.passes, {**walk, **self.fixed}


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
        kernel, statics = forms.choose(case.sizes["N"])
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
            *((_case(7, 128256), _case(3, 40001)) if forms.passes else ()),
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
