"""Kernels of the library with one mistake each are refuted, at a store that it spoils.

Masks off by one, a scale that is missing, another head, another page, another first
value: what names of elements do not see, and the reference does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.evaluation.proving import proved
from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Verdict
from few import few

WRONG = [
    ("masked_attention", 0, "key >= row - LEFT)", "key > row - LEFT)"),
    ("masked_attention", 2, "Sinks[h] / unit", "Sinks[h]"),
    ("paged_attention", 0, "page = Table[b, t // PAGE]", "page = Table[b, 0]"),
    (
        "varlen_attention",
        0,
        "g = First[b], FirstKey[b], h // (H // G)",
        "g = First[b], FirstKey[b], h % G",
    ),
    ("attention_backward_keys", 0, "g * (H // G) + r, i * BQ", "g + r, i * BQ"),
    ("attention_backward_queries", 0, "g = h // (H // G)", "g = h % G"),
    (
        "attention_backward_queries",
        1,
        "ag.where(key <= q0 + ag",
        "ag.where(key <= q0 + 1 + ag",
    ),
    ("moe_sum", 0, "Position[i * BT :, j]", "Position[i * BT :, 0]"),
]
OTHER_HEADS = "attention_backward_keys"
STORES = (
    " L[b, h",
    " O[s0",
    "leave(",
    "W[p, b",
    "E[p, b",
    " DK[",
    " DV[",
    " DQ[",
    " Out[",
)


# Another head is the mistake of three kernels, a mask off by one that of two, and an
# entry of a table for all pages is one in `test_right_kernels.py`, too.
OFTEN = (
    ("paged_attention", 0),
    ("varlen_attention", 0),
    (OTHER_HEADS, 0),
    ("attention_backward_queries", 1),
)
KEPT = [case for case in WRONG if case[:2] not in OFTEN]


@pytest.mark.parametrize(("name", "number", "right", "wrong"), few(WRONG, *KEPT))
def test_a_wrong_sibling_is_refuted(
    name: str, number: int, right: str, wrong: str
) -> None:
    entry = LIBRARY[name]
    case = entry.small[number]
    request, _ = request_for(entry, case, entry.targets[-1])
    path = Path(request.kernel.file)
    text = path.read_text()
    assert right in text
    changed = text.replace(right, wrong)
    kernel = load_kernels(path.name, changed).kernels[request.kernel.name]
    report = proved(replace(request, kernel=kernel), fresh=True).report
    assert report.verdict is Verdict.REFUTED
    lines = changed.splitlines()
    found = [o for o in report.obligations if o.verdict is Verdict.REFUTED]
    places = [lines[o.span.line - 1] for o in found]
    assert any(store in line for line in places for store in STORES), places
