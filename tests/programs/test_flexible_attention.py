"""Attention whose scores and masks are functions of positions is one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention.flex_attention import (  # noqa: E402
    create_block_mask,
    flex_attention,
)

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from few import few  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

KEYS, WIDE = 128, 16
SLOPES = torch.tensor([0.5, 0.25])
DOCUMENTS = torch.arange(KEYS) // 40

Function = Callable[..., Any] | None
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "slopes of heads": (lambda s, b, h, i, j: s - SLOPES[h] * (i - j).abs(), None),
    "bounded scores": (lambda s, b, h, i, j: 5 * torch.tanh(s / 5), None),
    "a window": (None, lambda b, h, i, j: (i >= j) & (i - j < 32)),
    "documents": (None, lambda b, h, i, j: (DOCUMENTS[i] == DOCUMENTS[j]) & (i >= j)),
    "no key for some": (None, lambda b, h, i, j: (j < i - 3) & (i > 5)),
}


TRIED = few(FUNCTIONS, "slopes of heads", "bounded scores", "no key for some")
"""A window and documents are masks like the last, by positions and by a table."""


@pytest.mark.parametrize("name", TRIED)
def test_functions_of_scores_and_positions_are_in_the_kernel(name: str) -> None:
    scored, seen = FUNCTIONS[name]
    blocks = None
    if seen is not None:
        blocks = create_block_mask(seen, None, None, KEYS, KEYS, device="cpu")
    drawn = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, n, KEYS, WIDE, generator=drawn) for n in (2, 1, 1))

    def attended(q: Any, k: Any, v: Any) -> Any:
        return flex_attention(
            q, k, v, score_mod=scored, block_mask=blocks, enable_gqa=True
        )

    reports: list[GraphReport] = []
    torch._dynamo.reset()
    chosen = {"interpret": True, "report": reports.append}
    call = torch.compile(attended, backend=argus_backend, options=chosen)
    narrow = [x.bfloat16() for x in (q, k, v)]
    with torch.no_grad():
        found = call(*narrow)
        wanted = attended(*(x.float() for x in narrow))
    torch.testing.assert_close(found.float(), wanted, rtol=2e-2, atol=2e-2)
    (report,) = reports
    assert (report.kernels, report.left) == (("attention",), ())
