"""Attention to keys in pages: the launches are the attention, without a GPU."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.requests import default_dtypes
from argus.ir.dtypes import bf16, f32, i32
from argus.kernels.paged_attention import kernel as kernels
from argus.kernels.paged_attention.plan import (
    BLOCK_KEYS,
    DecodeSizes,
    best_steps,
    launches,
)
from argus.lang.kernel import Kernel
from argus.requests import Request
from few import rest
from kernels.launching import execute

LENGTHS = (150, 64, 0, 1, 193)


def _attention(q, k, v, lengths, scale, queries, sinks):  # type: ignore[no-untyped-def]
    """In fp64, a row at a time: output and logarithm of the sum."""
    b, g, rows, d = q.shape
    out, logs = np.zeros(q.shape), np.zeros(q.shape[:3])
    for i, j, r in np.ndindex(b, g, rows):
        limit = max(0, lengths[i] - (queries - 1) + r % queries)
        scores = k[i, :limit, j] @ q[i, j, r] * scale
        values = v[i, :limit, j]
        if sinks is not None:
            scores = np.append(scores, sinks[j, r // queries])
            values = np.concatenate([values, np.zeros((1, d))])
        if len(scores):
            logs[i, j, r] = np.logaddexp.reduce(scores)
            out[i, j, r] = np.exp(scores - logs[i, j, r]) @ values
    return out, logs


@pytest.mark.parametrize(
    ("page", "heads", "groups", "d", "queries", "steps", "sinks"),
    [
        (64, 8, 2, 64, 1, 1, True),
        (64, 8, 2, 128, 3, 2, False),
        (128, 4, 4, 32, 1, 9, False),
        (16, 6, 2, 64, 2, 2, True),
        (1, 2, 2, 16, 1, 9, True),
        (0, 8, 1, 80, 1, 2, False),
        (0, 2, 2, 256, 2, 9, True),
    ],
)
def test_parts_of_pages(
    page: int, heads: int, groups: int, d: int, queries: int, steps: int, sinks: bool
) -> None:
    arrays, rng = NumpyArrays(5), np.random.default_rng(1)
    b, rows = len(LENGTHS), heads // groups * queries
    pages = ceil(200 / page) if page else 0
    keys = page * pages or 200
    q = arrays.normal(bf16, (b, groups, rows, d))
    shape = (b * pages, page) if page else (b, keys)
    k, v = (arrays.normal(bf16, (*shape, groups, d)) for _ in range(2))
    table = None
    if page:
        table = rng.permutation(b * pages).reshape(b, pages).astype(np.int32)
    sink = rng.normal(size=(groups, heads // groups)).astype(np.float32) * 3
    lengths = np.array(LENGTHS, np.int32)
    out = arrays.poisoned(bf16, q.shape)
    logs = arrays.poisoned(f32, q.shape[:3])
    sizes = DecodeSizes(b, groups, rows, keys, d, queries, page)
    out_steps = tuple(n // out.itemsize for n in out.strides)
    sequence = launches(sizes, steps, out_steps, logs=True, sinks=sinks)
    assert len(sequence.steps) == (1 if steps == 9 else 2)
    flat = (b * keys, groups, d)
    given = (k, v) if page % BLOCK_KEYS == 0 else (k.reshape(flat), v.reshape(flat))
    values = (q, *given, table, lengths, out, logs, sink if sinks else None, 0.2)
    execute(sequence, values, (bf16, bf16, bf16, i32, i32, bf16, f32, f32, None))

    exact = [arrays.exact(x, bf16) for x in (q, k, v)]
    if table is not None:
        exact[1:] = [x[table].reshape(b, keys, groups, d) for x in exact[1:]]
    given_sinks = sink if sinks else None
    want, sums = _attention(
        exact[0], exact[1], exact[2], LENGTHS, 0.2, queries, given_sinks
    )
    found = arrays.exact(out, bf16)
    assert np.linalg.norm(found - want) < 8e-3 * np.linalg.norm(want)
    assert np.abs(logs - sums).max() < 1e-3


@pytest.mark.parametrize(
    ("kernel", "statics"),
    [
        # What no case of the library has (those `verifier/proved` compares).
        (kernels.paged_parts, {"QUERIES": 2}),
        *rest(
            (kernels.gathered_parts, {"QUERIES": 3, "PAGE": 1}),
            (kernels.length_parts, {"QUERIES": 3}),
        ),
    ],
)
def test_kernels_are_equal_to_their_references(
    kernel: Kernel, statics: dict[str, object]
) -> None:
    reference = reference_of(kernel)
    assert reference is not None
    dtypes = default_dtypes(kernel, {})
    made = decided(Request(kernel, dtypes, statics, "sm_90a", {}), reference, 60.0)
    assert made.equal, made.reason


@pytest.mark.parametrize("b", [1, 4, 128])
@pytest.mark.parametrize("keys", [1, 64, 1000, 4096, 131072])
def test_parts_have_all_keys_and_fill_the_device(b: int, keys: int) -> None:
    sizes = DecodeSizes(b, 8, 8, keys, 128, 1, 64)
    steps = best_steps(sizes, 132)
    assert 1 <= steps <= 64
    parts = ceil(keys / (steps * BLOCK_KEYS))
    assert (parts - 1) * steps * BLOCK_KEYS < keys
    if keys >= 4096:
        assert b * 8 * parts >= 0.9 * 264
