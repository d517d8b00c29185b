"""Attention of packed sequences beside torch's ways, as called.

    python benchmarks/varlen.py OUT.json [--rounds 21] [--only causal]

Beside `ops.varlen_attention`: torch's own (`torch.nn.attention.varlen`, flash attention
where there is one), `scaled_dot_product_attention` on a batch that is padded to the
longest sequence (without the time of padding; of sequences whose queries and keys are
equally many), and in a loop over the sequences. Each is checked against fp64 first, a
sequence and a few heads at a time, and timed in the same rounds, after a write to more
than the L2 cache. The time of the host is that of calls that nobody waits for. Then the
gradients of norms, softmax and attention beside torch's. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch
from overhead import host_microseconds
from torch.nn.functional import layer_norm, rms_norm, scaled_dot_product_attention

from argus import ops
from argus.evaluation.timing import time_interleaved

Call = Callable[[], Any]


@dataclass(frozen=True)
class Batch:
    """Queries and keys of each sequence, and what it is about."""

    name: str
    rows: tuple[int, ...]
    keys: tuple[int, ...]
    heads: int = 16
    groups: int = 4
    d: int = 128
    causal: bool = True


def _spread(count: int, longest: int) -> tuple[int, ...]:
    """Lengths between nothing and the longest, in no order."""
    return tuple(longest * ((i * 7) % count + 1) // count for i in range(count))


EVEN, RAGGED, SHORT = (2048,) * 8, _spread(16, 4096), _spread(256, 256)
BATCHES = (
    Batch("8 x 2048", EVEN, EVEN),
    Batch("8 x 2048, not causal", EVEN, EVEN, causal=False),
    Batch("16 of up to 4096", RAGGED, RAGGED),
    Batch("16 of up to 4096, not causal", RAGGED, RAGGED, causal=False),
    Batch("256 of up to 256", SHORT, SHORT),
    Batch("one of 16384 among 63 of 128", (16384, *(128,) * 63), (16384, *(128,) * 63)),
    Batch("16 of up to 4096, d 64", RAGGED, RAGGED, 32, 32, 64),
    Batch("8 x 2048, d 256", EVEN, EVEN, 8, 8, 256),
    Batch("chunks of 256 after 8192", (256,) * 32, (8448,) * 32),
    Batch("64 rows, 1 of 512", (1,) * 63 + (512,), _spread(64, 8192)),
)


def _ends(lengths: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)]).int().cuda()


def _exact(q: Any, k: Any, v: Any, shared: int, causal: bool) -> Any:
    """(S, H, D) in fp64, aligned at the ends; 0 where nothing is seen."""
    i, n = len(q), len(k)
    heads = []
    for h in range(q.shape[1]):
        mine, near, far = (
            x.double() for x in (q[:, h], k[:, h // shared], v[:, h // shared])
        )
        scores = mine @ near.T * q.shape[-1] ** -0.5
        if causal:
            seen = torch.ones(i, n, dtype=torch.bool, device=q.device).tril(n - i)
            scores = scores.masked_fill(~seen, -torch.inf)
        heads.append(scores.softmax(-1).nan_to_num() @ far)
    return torch.stack(heads, 1)


def _error(found: Any, given: tuple[Any, ...], batch: Batch) -> float:
    """The largest of a sequence, of the first key head."""
    shared = batch.heads // batch.groups
    parts = (
        x.split(list(n))
        for x, n in zip(
            (*given, found),
            (batch.rows, batch.keys, batch.keys, batch.rows),
            strict=True,
        )
    )
    worst = 0.0
    for q, k, v, got in zip(*parts, strict=True):
        if not len(q):
            continue
        want = _exact(q[:, :shared], k[:, :1], v[:, :1], shared, batch.causal)
        apart = (got[:, :shared].double() - want).norm() / want.norm().clamp_min(1e-30)
        worst = max(worst, float(apart))
    return worst


def _torch_s(
    q: Any, k: Any, v: Any, ends: tuple[Any, Any], batch: Batch
) -> dict[str, Call]:
    """What torch has for it, by name; results are packed (or padded)."""
    shared, found = batch.heads != batch.groups, {}
    longest = max(batch.rows), max(batch.keys)

    def own() -> Any:
        from torch.nn.attention.varlen import varlen_attn

        window = (-1, 0) if batch.causal else (-1, -1)
        return varlen_attn(
            q, k, v, *ends, *longest, window_size=window, enable_gqa=shared
        )

    def loop() -> Any:
        parts = zip(
            q.split(list(batch.rows)),
            *(x.split(list(batch.keys)) for x in (k, v)),
            strict=True,
        )
        return torch.cat(
            [
                scaled_dot_product_attention(
                    *(x.transpose(0, 1)[None] for x in part),
                    is_causal=batch.causal,
                    enable_gqa=shared,
                )[0].transpose(0, 1)
                for part in parts
            ]
        )

    found["torch varlen"] = own
    if batch.rows == batch.keys:
        found["SDPA in a loop"] = loop
        padded = [
            torch.nn.utils.rnn.pad_sequence(x.split(list(batch.rows)), batch_first=True)
            .transpose(1, 2)
            .contiguous()
            for x in (q, k, v)
        ]

        def dense() -> Any:
            # Keys that are padding are seen where nothing is causal: less than right.
            return scaled_dot_product_attention(
                *padded, is_causal=batch.causal, enable_gqa=shared
            )

        found["SDPA, padded"] = dense
    return found


def measure(batch: Batch, rounds: int) -> dict[str, Any]:
    """Errors and times of a batch."""
    torch.manual_seed(0)
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    q = torch.randn(sum(batch.rows), batch.heads, batch.d, **half)
    k, v = (torch.randn(sum(batch.keys), batch.groups, batch.d, **half) for _ in "kv")
    ends, longest = (_ends(batch.rows), _ends(batch.keys)), max(batch.rows)

    def call() -> Any:
        return ops.varlen_attention(q, k, v, *ends, longest, causal=batch.causal)

    calls: dict[str, Call] = {"argus": call}
    errors = {"argus": _error(call(), (q, k, v), batch)}
    for name, other in _torch_s(q, k, v, ends, batch).items():
        try:
            made = other()
        except (RuntimeError, NotImplementedError, ImportError, TypeError) as why:
            print(f"  {name}: {str(why).splitlines()[0]}", flush=True)
            continue
        if name != "SDPA, padded":
            errors[name] = _error(made, (q, k, v), batch)
        calls[name] = other
    times = time_interleaved(calls, rounds=rounds)
    found = {name: {"us": t.median, "iqr": t.iqr} for name, t in times.items()}
    shown = ", ".join(f"{name} {t.median:.1f}" for name, t in times.items())
    wrong = {name: e for name, e in errors.items() if not e < 8e-3}
    print(f"{batch.name}: {shown} us; errors {errors}", flush=True)
    if wrong:
        print(f"  WRONG: {wrong}", flush=True)
    host = {n: found["median_us"] for n, found in host_microseconds(calls).items()}
    return {"times": found, "errors": errors, "host": host}


def _gradients() -> Mapping[str, tuple[Call, Call]]:
    """Forward and backward of ours and of torch's, by name."""
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(8192, 4096, **half).requires_grad_()
    w, b = (torch.randn(4096, **half).requires_grad_() for _ in "wb")
    q = torch.randn(4, 32, 2048, 128, **half).requires_grad_()
    pairs: dict[str, tuple[Call, Call, tuple[Any, ...]]] = {
        "rmsnorm": (
            lambda: ops.rmsnorm(x, w),
            lambda: rms_norm(x, (4096,), w, 1e-6),
            (x, w),
        ),
        "layernorm": (
            lambda: ops.layernorm(x, w, b),
            lambda: layer_norm(x, (4096,), w, b),
            (x, w, b),
        ),
        "softmax": (lambda: ops.softmax(x), lambda: x.softmax(-1), (x,)),
        "attention": (
            lambda: ops.attention(q, q, q, causal=True),
            lambda: scaled_dot_product_attention(q, q, q, is_causal=True),
            (q,),
        ),
    }

    def both(call: Call, given: tuple[Any, ...]) -> Call:
        dout = torch.randn_like(call())
        return lambda: torch.autograd.grad(call(), given, dout)

    return {n: (both(f, t), both(g, t)) for n, (f, g, t) in pairs.items()}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="", help="what names of batches have")
    args = parser.parse_args()
    made: dict[str, Any] = {"device": torch.cuda.get_device_name(), "batches": {}}
    for batch in BATCHES:
        if args.only in batch.name:
            made["batches"][batch.name] = measure(batch, args.rounds)
            args.out.write_text(json.dumps(made, indent=1) + "\n")
            torch.cuda.empty_cache()
    if not args.only:
        made["gradients"] = {}
        for name, (ours, other) in _gradients().items():
            pairs = zip(ours(), other(), strict=True)
            error = max(float((a - b).norm() / b.norm()) for a, b in pairs)
            times = time_interleaved(
                {"argus": ours, "torch": other}, rounds=args.rounds
            )
            found = {n: t.median for n, t in times.items()}
            made["gradients"][name] = {**found, "apart": error}
            print(f"{name}, forward and backward: {found} us, apart {error:.1e}")
        args.out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
