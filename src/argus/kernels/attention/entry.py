"""Attention: sizes, reference. The kernel is in ``kernel.py``."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from argus.ir.dtypes import bf16
from argus.kernels.attention.kernel import attention, attention_persistent
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.masked_attention.choice import SHORT_ROWS, WIDE
from argus.lang.kernel import Kernel


def _sizes(case: Case) -> tuple[int, ...]:
    return tuple(case.sizes[d] for d in "BHGSTD")


def _arguments(case: Case) -> tuple[Argument, ...]:
    b, h, g, s, t, d = _sizes(case)
    return (
        Argument("Q", bf16, (b, h, s, d)),
        Argument("K", bf16, (b, g, t, d)),
        Argument("V", bf16, (b, g, t, d)),
        Argument("O", bf16, (b, h, s, d), "output"),
    )


_NARROW = 80
"""Keys of a block of wide heads, and where there are no more."""


_TWO, _THREE = (128, 1.16), (192, 1.0)
"""Queries of two and of three warpgroups, of heads of at most 64; and what a query
takes (H100, tiles that are full: 318 and 282 us). Three hide more of each softmax."""


def _queries(heads: int, rows: int, multiprocessors: int) -> int:
    """Queries of a block with which the waves of blocks take the least time."""

    def time(choice: tuple[int, float]) -> float:
        queries, each = choice
        waves = ceil(heads * ceil(rows / queries) / multiprocessors)
        return waves * queries * each

    return min((_THREE, _TWO), key=time)[0]


def attention_form(
    d: int,
    rows: int,
    keys: int,
    *,
    causal: bool,
    tma_store: bool,
    heads: int,
    multiprocessors: int,
) -> tuple[Kernel, dict[str, object]]:
    """The kernel for a head dimension (a multiple of 16, at most 256), and its statics.

    ``rows`` of queries and ``keys`` of a head, of so many ``heads`` in all batches;
    ``tma_store``: TMA can address the rows of O.
    """
    statics: dict[str, object] = {"D": d, "CAUSAL": causal, "TMA_STORE": tma_store}
    if causal:
        # Every tile of queries is as large as one of keys. The tiles differ in length:
        # the hardware hands them out better than a loop over every n-th does.
        if d > WIDE:
            statics |= {"BQ": 64, "BT": 64, "WARPGROUPS": 1}
        elif d <= 64:
            # Several small blocks on a multiprocessor hide each other's softmax.
            statics |= {"BQ": 64, "BT": 64, "WARPGROUPS": 1, "REGISTERS": 0}
        return attention, statics
    small = {"BQ": 64, "WARPGROUPS": 1}
    if d > WIDE and keys <= _NARROW:
        # One step takes all keys. Two blocks of a multiprocessor hide each other's.
        statics |= {**small, "BT": _NARROW, "STAGES": 1, "REGISTERS": 0}
    else:
        statics["BT"] = _NARROW if d > WIDE or keys <= _NARROW else 128
        if rows <= 64:
            statics |= small
        elif d > 192 and rows <= SHORT_ROWS:
            statics |= {**small, "BT": 64}
        elif d <= 64 and keys > 128:
            queries = _queries(heads, rows, multiprocessors)
            if queries == _THREE[0]:
                statics |= {"BQ": queries, "WARPGROUPS": 3, "REGISTERS": 160}
        elif d > 192:
            statics["TMA_STORE"] = False  # there is no room for it
    # The next queries are loaded while these are finished, where there is room.
    statics["QUERIES"] = 2 if _shared_bytes(statics, 2) <= _SHARED_BYTES else 1
    return attention_persistent, statics


_SHARED_BYTES = 226 * 1024
"""Of a block, without barriers."""


def _shared_bytes(statics: Mapping[str, Any], queries: int) -> int:
    """What so many tiles of queries, the rings and the output take."""
    tiles = queries + bool(statics["TMA_STORE"])
    keys = 2 * statics.get("STAGES", 2) * statics["BT"]
    return 2 * statics["D"] * (tiles * statics.get("BQ", 128) + keys)


def _choose(case: Case, target: str) -> KernelChoice:
    from argus.model.hardware import H200

    b, h, _, s, t, d = _sizes(case)
    kernel, statics = attention_form(
        d,
        s,
        t,
        causal="causal" in case.options,
        tma_store=True,
        heads=b * h,
        multiprocessors=H200.multiprocessors,
    )
    small = case.statics
    return KernelChoice(kernel, {**statics, **small}, {"scale": d**-0.5})


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    return {"O": reference_with_sums(xp, arrays, case)["O"]}


def reference_with_sums(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    """O, and L (B, H, S): logarithms of the sums of exponentials of scores."""
    _, h, g, _, _, d = _sizes(case)
    scale = arrays.get("scale", d**-0.5)
    q, k, v = arrays["Q"], arrays["K"], arrays["V"]
    out, logs = xp.zeros_like(q), xp.zeros_like(q[..., 0])
    # One query head at a time: the score matrix of all heads need not fit in memory.
    for i in range(q.shape[0]):
        for j in range(h):
            scores = q[i, j] @ k[i, j // (h // g)].T * scale
            if "causal" in case.options:
                scores = xp.where(xp.tril(xp.ones_like(scores)) > 0, scores, -1e30)
            top = xp.amax(scores, axis=-1, keepdims=True)
            e = xp.exp(scores - top)
            total = e.sum(axis=-1, keepdims=True)
            out[i, j] = e / total @ v[i, j // (h // g)]
            logs[i, j] = (top + xp.log(total))[:, 0]
    return {"O": out, "L": logs}


def _work(case: Case) -> Work:
    b, h, g, s, t, d = _sizes(case)
    flops = 4 * b * h * s * t * d
    if "causal" in case.options:
        flops //= 2
    return Work(flops, 2 * b * d * (2 * h * s + 2 * g * t))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (arrays[n] for n in "QKV")
    causal, grouped = "causal" in case.options, case.sizes["H"] != case.sizes["G"]

    def cudnn() -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=grouped
            )

    return {"cuDNN": cudnn}


def _case(
    b: int,
    h: int,
    g: int,
    s: int,
    t: int | None = None,
    d: int = 128,
    **options: object,
) -> Case:
    t = s if t is None else t
    name = f"{b}x{h}/{g}x{s}" + (f":{t}" if t != s else "")
    name += (f" d{d}" if d != 128 else "") + "".join(
        f" {w}" for w in options if w.islower()
    )
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": d}
    return Case(name, sizes, options)


def _odd(name: str, b: int, h: int, g: int, s: int, t: int, *words: str) -> Case:
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": 128}
    return Case(name, sizes, dict.fromkeys(words, 1))


ATTENTION = LibraryEntry(
    name="attention",
    title="attention forward, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work,
    small=(
        _case(1, 2, 1, 128, 256),
        _case(1, 2, 2, 200, causal=1),
        _case(1, 1, 1, 70, 150),
        _case(1, 2, 1, 200, 150, d=64),
        _case(1, 1, 1, 100, d=80, causal=1),
        _case(1, 2, 1, 70, 80, d=256),
        _case(1, 1, 1, 4, 300),
        _case(1, 2, 1, 150, 60, d=192),
    ),
    odd=(
        _odd("one query", 1, 1, 1, 1, 1),
        _odd("one query, many keys", 3, 8, 2, 1, 5000),
        _odd("many queries, one key", 1, 4, 4, 777, 1),
        _odd("one past a tile", 2, 6, 3, 129, 129),
        _odd("one past a tile, causal", 2, 6, 3, 129, 129, "causal"),
        _odd("more keys than queries, causal", 1, 4, 1, 300, 700, "causal"),
    ),
    large=(
        _case(4, 32, 32, 4096),
        _case(4, 32, 32, 4096, causal=1),
        _case(1, 32, 32, 16384),
        _case(1, 32, 32, 16384, causal=1),
        _case(2, 64, 8, 8192),
        _case(2, 64, 8, 8192, causal=1),
        _case(8, 16, 16, 1024),
        _case(4, 32, 32, 2048, d=64),
        _case(4, 16, 16, 2048, d=256),
        _case(64, 8, 8, 4, 4096),
        _case(3, 16, 4, 3001, 2777),
        _case(2, 8, 8, 1111, causal=1),
    ),
    baselines=_baselines,
    beside="cuDNN",
    line="attention forward, bf16",
    tolerance=8e-3,
    usual={"G": "H", "T": "S"},
)

ENTRIES = (ATTENTION,)
