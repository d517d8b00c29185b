"""Attention by parts of the keys: the launches are the attention. No GPU."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from argus.evaluation.arrays import NumpyArrays
from argus.ir.dtypes import bf16
from argus.kernels.attention.plan import (
    HeadSizes,
    KeySplit,
    best_split,
    launches,
    part_statics,
)
from kernels.launching import execute


@pytest.mark.parametrize(
    ("heads", "groups", "split"),
    [
        (HeadSizes(1, 4, 1, 300, 64), 2, KeySplit(3, 1)),
        (HeadSizes(1, 1, 70, 520, 32), 1, KeySplit(2, 3)),
        (HeadSizes(2, 2, 3, 200, 80), 1, KeySplit(2, 1)),
        (HeadSizes(1, 1, 2, 150, 160), 1, KeySplit(3, 1)),
    ],
    ids=["one query", "two warpgroups", "d80", "d160"],
)
def test_parts_of_keys(heads: HeadSizes, groups: int, split: KeySplit) -> None:
    arrays = NumpyArrays(5)
    q = arrays.normal(bf16, (heads.b, heads.h, heads.s, heads.d))
    keys = (heads.b, groups, heads.t, heads.d)
    k, v = arrays.normal(bf16, keys), arrays.normal(bf16, keys)
    out = arrays.poisoned(bf16, q.shape)
    scale = heads.d**-0.5
    execute(launches(split, heads), (q, k, v, out, scale))
    exact = [arrays.exact(x, bf16) for x in (q, k, v)]
    exact[1:] = [np.repeat(x, heads.h // groups, axis=1) for x in exact[1:]]
    scores = np.einsum("bhsd,bhtd->bhst", exact[0], exact[1]) * scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ exact[2]
    found = arrays.exact(out, bf16)
    assert np.linalg.norm(found - want) < 8e-3 * np.linalg.norm(want)


@pytest.mark.parametrize(
    ("heads", "parts"),
    [
        (HeadSizes(1, 8, 4, 131072, 128), (16, 17)),
        (HeadSizes(1, 1, 1, 131072, 128), (100, 132)),
        (HeadSizes(64, 8, 4, 4096, 128), None),
        (HeadSizes(4, 32, 4096, 4096, 128), None),
        (HeadSizes(1, 1, 1, 128, 128), None),
        (HeadSizes(4, 16, 537, 2426, 96), None),  # many rows are to be merged
        (HeadSizes(2, 4, 328, 328, 192), None),
    ],
)
def test_keys_are_cut_where_blocks_are_few(
    heads: HeadSizes, parts: tuple[int, int] | None
) -> None:
    split = best_split(heads, 132)
    assert (split is None) is (parts is None)
    if split is not None and parts is not None:
        assert parts[0] <= split.parts <= parts[1]


@pytest.mark.parametrize("t", [129, 1000, 4097, 70000])
@pytest.mark.parametrize("d", [64, 256])
def test_no_part_is_empty(t: int, d: int) -> None:
    for s in (1, 65):
        split = best_split(HeadSizes(1, 2, s, t, d), 132)
        if split is not None:
            blocks = ceil(t / part_statics(d, s)["BT"])
            assert (split.parts - 1) * split.steps < blocks
            assert split.parts * split.steps >= blocks
