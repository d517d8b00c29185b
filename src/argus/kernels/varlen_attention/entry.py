"""Attention of packed sequences: sizes, offsets, reference, baselines.

The lengths of a case: about half of what is left for each sequence in turn, one of no
rows and one of one row among them, the rest for the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, f32, i32
from argus.kernels.entry import (
    Argument,
    Arrays,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
)
from argus.kernels.varlen_attention.choice import varlen_statics
from argus.kernels.varlen_attention.kernel import varlen_attention

CAP = 20.0
"""Of scores, in cases that have a cap."""
_TABLES = ("First", "Last", "FirstKey", "LastKey")


def _sizes(case: Case) -> tuple[int, ...]:
    return tuple(case.sizes[d] for d in "BHGSTD")


def _bound(case: Case, name: str) -> int:
    found = case.statics.get(name, -1)
    assert isinstance(found, int)
    return found


def _lengths(total: int, b: int) -> list[int]:
    """Rows of each sequence."""
    if b == 1:
        return [total]
    found: list[int] = []
    for i in range(b - 1):
        left = total - sum(found)
        share = (left * 2 // (b - i + 1), left // (b - i))[i % 2]
        found.append({1: 0, 3: 1}.get(i, share) if b > 4 else share)
    return [*found, total - sum(found)]


def _ends(total: int, b: int) -> list[int]:
    found = [0]
    for length in _lengths(total, b):
        found.append(found[-1] + length)
    return found


def _pairs(case: Case) -> list[tuple[int, int]]:
    """Queries and keys of each sequence."""
    b, _, _, s, t, _ = _sizes(case)
    return list(zip(_lengths(s, b), _lengths(t, b), strict=True))


def _arguments(case: Case) -> tuple[Argument, ...]:
    b, h, g, s, t, d = _sizes(case)
    found = [
        Argument("Q", bf16, (s, h, d)),
        Argument("K", bf16, (t, g, d)),
        Argument("V", bf16, (t, g, d)),
        *(Argument(name, i32, (b,), "index") for name in _TABLES),
        Argument("O", bf16, (s, h, d), "output"),
        Argument("L", f32, (h, s), "output"),
    ]
    if "sinks" in case.options:
        found.append(Argument("Sinks", f32, (h,)))
    return tuple(found)


def _tables(xp: Any, arrays: Arrays, case: Case) -> None:
    b, _, _, s, t, _ = _sizes(case)
    queries, keys = _ends(s, b), _ends(t, b)
    ends = (queries[:-1], queries[1:], keys[:-1], keys[1:])
    for name, values in zip(_TABLES, ends, strict=True):
        made, table = xp.asarray(values), arrays[name]
        # torch: to the table's own type and device first.
        table[:] = made.to(table) if hasattr(made, "to") else made


def _choose(case: Case, target: str) -> KernelChoice:
    d, capped = case.sizes["D"], "capped" in case.options
    longest = max(1, *(queries for queries, _ in _pairs(case)))
    statics = varlen_statics(
        d,
        _bound(case, "LEFT"),
        _bound(case, "RIGHT"),
        softcap=capped,
        sinks="sinks" in case.options,
        few=longest <= 64,
    )
    scalars = {"scale": d**-0.5, "longest": longest, "cap": CAP if capped else 1.0}
    return KernelChoice(varlen_attention, {**statics, **case.statics}, scalars)


def _seen(case: Case) -> int:
    """Pairs of a query and a key that it sees."""
    left, right = _bound(case, "LEFT"), _bound(case, "RIGHT")
    total = 0
    for queries, keys in _pairs(case):
        for row in range(keys - queries, keys):
            first = max(0, row - left) if left >= 0 else 0
            last = min(keys, row + right + 1) if right >= 0 else keys
            total += max(0, last - first)
    return total


def _work(case: Case) -> Work:
    _, h, g, s, t, d = _sizes(case)
    moved = 2 * d * (2 * h * s + 2 * g * t) + 4 * h * s
    return Work(4 * h * d * _seen(case), moved)


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    q, k, v = (arrays[n] for n in "QKV")
    b, _, _, s, t, _ = _sizes(case)
    rows, keys = _ends(s, b), _ends(t, b)
    causal, grouped = _bound(case, "RIGHT") == 0, q.shape[1] != k.shape[1]

    def one(i: int) -> Any:
        mine = [x[a[i] : a[i + 1]] for x, a in ((q, rows), (k, keys), (v, keys))]
        parts = (x.transpose(0, 1)[None] for x in mine)
        # Aligned at the beginning, without windows, caps and sinks.
        return torch.nn.functional.scaled_dot_product_attention(
            *parts, is_causal=causal, enable_gqa=grouped
        )

    some = [i for i, pair in enumerate(_pairs(case)) if min(pair)]
    return {"torch, in a loop": lambda: [one(i) for i in some]}


def _case(
    name: str, b: int, h: int, g: int, s: int, t: int, d: int = 128, **options: object
) -> Case:
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": d}
    return Case(name, sizes, options)


VARLEN = LibraryEntry(
    name="varlen_attention",
    title="attention forward of packed sequences, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=FileReference(varlen_attention, ("O", "L"), _choose),
    work=_work,
    small=(
        _case("ragged", 5, 2, 1, 190, 200, 64),
        _case("window", 3, 1, 1, 100, 160, 64, LEFT=30, RIGHT=0),
        _case("capped with sinks", 6, 2, 1, 90, 120, 64, capped=1, sinks=1, RIGHT=0),
    ),
    odd=(
        _case("one row", 1, 1, 1, 1, 1),
        _case("odd lengths", 7, 6, 3, 1111, 1555, RIGHT=0),
        _case("more queries than keys", 6, 4, 2, 900, 300, 80, RIGHT=0),
        _case("few queries", 9, 4, 1, 70, 3000, LEFT=500, RIGHT=0),
    ),
    large=(
        _case("8 sequences, 4096 rows", 8, 16, 4, 4096, 4096),
        _case("8 sequences, causal", 8, 16, 4, 4096, 4096, RIGHT=0),
        _case("32 sequences, causal", 32, 16, 4, 4096, 4096, RIGHT=0),
    ),
    baselines=_baselines,
    beside="torch, in a loop",
    line="attention of packed sequences",
    tables=_tables,
    tolerance=8e-3,
    usual={"G": "H", "T": "S"},
    epilogues=("capped", "sinks"),
)

ENTRIES = (VARLEN,)
