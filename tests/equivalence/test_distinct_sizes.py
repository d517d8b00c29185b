"""Sizes at which a reference in PyTorch is exported: admitted, and all different."""

from __future__ import annotations

import pytest

from argus.equivalence.sizes import distinct_sizes
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program

HEADS = """import argus as ag
from argus import f32


@ag.kernel
def k(Q: f32["B H S D"], K: f32["B G T D"], O: f32["B H S D"], *, D: int = 64):
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require((T > 0) & ({large} % {small} == 0), "heads")
    b, h, s = ag.block(B, H, S)
    O[b, h, s, :] = ag.load(Q[b, h, s, :], (D,)) + ag.load(K[b, h % G, 0, :], (D,))
"""


@pytest.mark.parametrize(("large", "small"), ["HG", "GH", "TS", "BT"])
def test_a_size_that_divides_another(large: str, small: str) -> None:
    text = HEADS.format(large=large, small=small)
    (kernel,) = load_kernels("heads.py", text).kernels.values()
    found = distinct_sizes(tile_program(Request(kernel, default_dtypes(kernel, {}))))
    assert found.keys() == set("BHSGT")
    assert len({*found.values(), 1}) == 6, found
    assert found[large] % found[small] == 0
