"""Attention of few queries, to keys in pages or not: sizes, tables, references.

A case is one launch: P parts of the keys, or what they come to. Into how many parts a
call cuts them is in ``plan.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
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
    count,
)
from argus.kernels.paged_attention.kernel import (
    gathered_parts,
    length_parts,
    paged_merge,
    paged_parts,
)
from argus.kernels.paged_attention.plan import BLOCK_KEYS, DecodeSizes

_PAGE = 64


def _number(case: Case, name: str, usual: int) -> int:
    found = case.options.get(name, usual)
    assert isinstance(found, int)
    return found


def _page(case: Case) -> int:
    return _number(case, "PAGE", _PAGE)


def _keys(case: Case) -> int:
    """The most keys that a sequence may have."""
    return case.sizes["T"] if "T" in case.sizes else case.sizes["M"] * _page(case)


def _steps(case: Case) -> int:
    """Blocks of keys of a part."""
    return ceil(_keys(case) / (case.sizes["P"] * BLOCK_KEYS))


def _lengths(case: Case) -> list[int]:
    """The longest sequence, others that are shorter, and one without keys."""
    b, most = case.sizes["B"], _keys(case)
    return [most * (b - i) // b if i < b - 1 or b < 3 else 0 for i in range(b)]


def _tables(xp: Any, arrays: Arrays, case: Case) -> None:
    """Each page belongs to one sequence; they lie in no order."""
    filled = {"Lengths": _lengths(case)}
    if "Table" in arrays:
        every = range(case.sizes["B"] * case.sizes["M"])
        pages = [(i * 7919 + 3) % len(every) for i in every]
        if len(set(pages)) < len(every):
            pages = list(reversed(every))
        filled["Table"] = pages
    for name, values in filled.items():
        made, table = xp.asarray(values), arrays[name]
        # torch: to the table's own type and device first.
        made = made.to(table) if hasattr(made, "to") else made
        table[:] = made.reshape(table.shape)


def _sinks(case: Case) -> tuple[Argument, ...]:
    if "sinks" not in case.options:
        return ()
    heads = ceil(case.sizes["R"] / _number(case, "QUERIES", 1))
    return (Argument("Sinks", f32, (case.sizes["G"], heads)),)


def _arguments(case: Case) -> tuple[Argument, ...]:
    b, g, r, d, p = (case.sizes[n] for n in "BGRDP")
    if "T" in case.sizes:
        keys, table = (b, case.sizes["T"], g, d), ()
    else:
        m, page = case.sizes["M"], _page(case)
        keys = (b * m * page, g, d) if page % BLOCK_KEYS else (b * m, page, g, d)
        table = (Argument("Table", i32, (b, m), "index"),)
    return (
        Argument("Q", bf16, (b, g, r, d)),
        Argument("K", bf16, keys),
        Argument("V", bf16, keys),
        *table,
        Argument("Lengths", i32, (b,), "index"),
        Argument("W", bf16 if p == 1 else f32, (p, b, g, r, d), "output"),
        Argument("E", f32, (p, b, g, r), "output"),
        *_sinks(case),
    )


def _decoding(case: Case) -> DecodeSizes:
    b, g, r, d = (case.sizes[n] for n in "BGRD")
    page = 0 if "T" in case.sizes else _page(case)
    return DecodeSizes(b, g, r, _keys(case), d, _number(case, "QUERIES", 1), page)


def _choose(case: Case, target: str) -> KernelChoice:
    sizes = _decoding(case)
    kernel = gathered_parts if sizes.page % BLOCK_KEYS else paged_parts
    statics = {**sizes.statics, "WHOLE": True, **case.statics}
    scalars = {"scale": sizes.d**-0.5, "steps": _steps(case)}
    return KernelChoice(kernel if sizes.page else length_parts, statics, scalars)


def _blocks(
    xp: Any, arrays: Arrays, case: Case, n: int, i: int, steps: int
) -> tuple[Any, ...]:
    """Keys and values of sequence i in blocks (B, K, G, D), and their positions.

    Of rows of pages the blocks of part n, of others all: as kernels read them.
    """
    k, v, page = arrays["K"], arrays["V"], _page(case)
    if "T" in case.sizes:
        return k[i][None], v[i][None], count(xp, _keys(case), k)[None]
    table = arrays["Table"][i]
    if page % BLOCK_KEYS == 0:
        t = count(xp, case.sizes["M"], k)[:, None] * page + count(xp, page, k)
        return k[table], v[table], t
    block = n * steps + count(xp, steps, k)[:, None]
    t = block * BLOCK_KEYS + count(xp, BLOCK_KEYS, k)
    rows = table[xp.clip(t // page, None, case.sizes["M"] - 1)] * page + t % page
    return k[rows], v[rows], t


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    b, g, r, d, parts = (case.sizes[n] for n in "BGRDP")
    queries, scale = _number(case, "QUERIES", 1), arrays.get("scale", d**-0.5)
    steps = arrays.get("steps", _steps(case))
    out, logs = xp.zeros_like(arrays["W"]), xp.zeros_like(arrays["E"])
    row, both, part = count(xp, r, out), (-2, -1), steps * BLOCK_KEYS
    for n in range(parts):
        for i in range(b):
            for j in range(g):
                k, v, t = _blocks(xp, arrays, case, n, i, steps)
                length = xp.clip(arrays["Lengths"][i], 0, _keys(case))
                limit = length - (queries - 1) + row % queries
                end = xp.minimum(limit, (n + 1) * part + row * 0)
                seen = (t >= n * part) & (t < end[:, None, None])
                s = xp.einsum("rd,mnd->rmn", arrays["Q"][i, j], k[:, :, j]) * scale
                s = xp.where(seen, s, -xp.inf)
                top, some = xp.amax(s, axis=both), limit > n * part
                sinks: Any = None
                if "Sinks" in arrays:
                    sinks = arrays["Sinks"][j][row // queries]
                    top, some = xp.maximum(top, sinks), row >= 0
                top = xp.where(some, top, 0.0)
                e = xp.exp(s - top[:, None, None])
                total = e.sum(axis=both)
                if sinks is not None:
                    total = total + xp.exp(sinks - top)
                total = xp.where(some, total, 1.0)
                made = xp.einsum("rmn,mnd->rd", e / total[:, None, None], v[:, :, j])
                out[n, i, j] = xp.where(some[:, None], made, 0.0)
                logs[n, i, j] = top + xp.log(total)
    return {"W": out, "E": logs}


def _work(case: Case) -> Work:
    b, g, r, d, p = (case.sizes[n] for n in "BGRDP")
    keys = sum(_lengths(case))
    written = (2 if p == 1 else 4 * p) * b * r
    return Work(4 * g * r * keys * d, d * g * (4 * keys + 2 * b * r + written))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    q, most = arrays["Q"], _keys(case)
    copy = torch.empty_like(arrays["K"])
    b, g, d = (case.sizes[n] for n in "BGD")
    if "T" in case.sizes:
        keys, values = (arrays[n].transpose(1, 2) for n in "KV")
    else:
        table = arrays["Table"].long()
        pages = (arrays[n].view(-1, _page(case), g, d) for n in "KV")
        keys, values = (x[table].view(b, most, g, d).transpose(1, 2) for x in pages)
    seen = torch.arange(most, device=q.device) < arrays["Lengths"][:, None]

    def gathered() -> Any:
        # Of keys that lie together already, and without sinks.
        return torch.nn.functional.scaled_dot_product_attention(
            q, keys, values, attn_mask=seen[:, None, None]
        )

    return {"torch, gathered": gathered, "copy": lambda: copy.copy_(arrays["K"])}


def _case(
    name: str, b: int, g: int, r: int, m: int, d: int = 128, p: int = 1, **options: int
) -> Case:
    sizes = {"B": b, "G": g, "R": r, "M": m, "D": d, "P": p}
    return Case(name, sizes, options)


def _plain(
    name: str, b: int, g: int, r: int, t: int, d: int = 128, p: int = 1, **options: int
) -> Case:
    sizes = {"B": b, "G": g, "R": r, "T": t, "D": d, "P": p}
    return Case(name, sizes, options)


PAGED = LibraryEntry(
    name="paged_attention",
    title="attention of few queries to keys in pages, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(
        _case("pages of 64", 3, 2, 5, 2, 64),
        _case("pages of 16, parts", 2, 1, 8, 9, 64, 2, PAGE=16),
        _case("two queries, sinks", 2, 1, 6, 2, 64, QUERIES=2, sinks=1),
    ),
    odd=(
        _case("one page", 1, 1, 1, 1),
        _case("odd rows", 5, 3, 7, 9, 80, 4),
        _case("more rows than a tile", 4, 2, 70, 33, PAGE=16),
        _case("four queries", 4, 8, 8, 40, QUERIES=4),
    ),
    large=(
        _case("64 sequences, 4096 keys", 64, 8, 4, 64),
        _case("4 sequences, 65536 keys", 4, 8, 8, 1024, 128, 32),
        _case("64 sequences, pages of 16", 64, 8, 4, 256, PAGE=16),
    ),
    baselines=_baselines,
    beside="copy",
    line="attention to keys in pages",
    tables=_tables,
    tolerance=8e-3,
    memory_bound=True,
    epilogues=("sinks",),
)

LENGTHS = replace(
    PAGED,
    name="length_attention",
    title="attention of few queries to keys of several lengths, bf16",
    small=(
        _plain("odd lengths", 3, 2, 5, 100, 64),
        _plain("two queries, sinks, parts", 2, 1, 6, 130, 64, 2, QUERIES=2, sinks=1),
    ),
    odd=(
        _plain("one key", 1, 1, 1, 1),
        _plain("odd rows", 5, 3, 7, 555, 80, 4),
        _plain("four queries", 4, 8, 8, 2500, QUERIES=4),
    ),
    large=(
        _plain("64 sequences, 4096 keys", 64, 8, 4, 4096),
        _plain("4 sequences, 65536 keys", 4, 8, 8, 65536, 128, 32),
    ),
    line="attention to keys of several lengths",
)


def _merge_arguments(case: Case) -> tuple[Argument, ...]:
    b, g, r, d, p = (case.sizes[n] for n in "BGRDP")
    return (
        Argument("W", f32, (p, b, g, r, d)),
        Argument("E", f32, (p, b, g, r)),
        Argument("Lengths", i32, (b,), "index"),
        Argument("O", bf16, (b, g, r, d), "output"),
        Argument("L", f32, (b, g, r), "output"),
        *_sinks(case),
    )


def _merge_choose(case: Case, target: str) -> KernelChoice:
    statics = {"D": case.sizes["D"], "QUERIES": _number(case, "QUERIES", 1)}
    return KernelChoice(
        paged_merge, statics | case.statics, {"part": _steps(case) * BLOCK_KEYS}
    )


def _merge_work(case: Case) -> Work:
    b, g, r, d, p = (case.sizes[n] for n in "BGRDP")
    return Work(2 * p * b * g * r * d, b * g * r * (4 * p * (d + 1) + 2 * d + 4))


def _merge_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    w, e, copy = arrays["W"], arrays["E"], arrays["W"].clone()
    return {
        "torch": lambda: (w * e.softmax(0)[..., None]).sum(0),
        "copy": lambda: copy.copy_(w),
    }


MERGE = replace(
    PAGED,
    name="paged_merge",
    title="what parts of keys come to, weighed by their sums, bf16",
    arguments=_merge_arguments,
    choose=_merge_choose,
    reference=FileReference(paged_merge, ("O", "L"), _merge_choose),
    work=_merge_work,
    small=(
        _plain("three parts", 3, 2, 3, 500, 64, 3),
        _plain("two queries, sinks", 2, 1, 4, 5000, 64, 20, QUERIES=2, sinks=1),
    ),
    odd=(
        _plain("one part", 1, 1, 1, 1, 80),
        _plain("odd rows", 5, 3, 7, 5555, 80, 40),
    ),
    large=(_plain("4 sequences, 32 parts", 4, 8, 8, 65536, 128, 32),),
    baselines=_merge_baselines,
    line="attention to keys in pages, sum of parts",
    targets=("sm_80", "sm_90a"),
)

ENTRIES = (PAGED, LENGTHS, MERGE)
