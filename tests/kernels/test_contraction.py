"""Library kernels compute the same where a compiler fuses products with sums.

On hard inputs, on which that would show. `benchmarks/fused.py` has more of them,
more cases, and the kernels of modules.
"""

from __future__ import annotations

import pytest

from argus.kernels.library import LIBRARY
from contracted_runs import compared_runs
from few import few

ENTRIES = (
    "attention", "attention_training", "masked_attention", "paged_attention",
    "paged_merge", "varlen_attention", "cross_entropy", "cross_entropy_backward",
    "layernorm", "softmax", "moe_sum", "mxfp4_few",
)  # fmt: skip
ALIKE = (
    "attention_training", "masked_attention", "varlen_attention",
    "cross_entropy_backward",
)  # fmt: skip
"""Their exponentials and sums are those of others."""
MANNERS = ("far from 0", "low rows", "huge and equal")


@pytest.mark.parametrize("name", few(ENTRIES, *(n for n in ENTRIES if n not in ALIKE)))
def test_fused_products_change_nothing(name: str) -> None:
    entry = LIBRARY[name]
    assert compared_runs(entry, entry.small[-1], MANNERS) == []
