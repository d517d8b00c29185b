"""Attention of torch, with masks, scales and grouped heads, is kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.plan import plan_of  # noqa: E402
from argus.programs.proofs import proof_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

attention = torch.nn.functional.scaled_dot_product_attention
Q, K, V = random(2, 4, 24, 32), random(2, 4, 40, 32), random(2, 4, 40, 16)
KEPT = random(2, 1, 24, 40) > 0
KEPT[0, 0, 3] = False  # a row without any key
HALF = tuple(x.bfloat16() for x in (Q, K, V))

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "plain": (attention, (Q, K, V)),
    "causal": (
        lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.3),
        (Q, K, V),
    ),
    "kept": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), (Q, K, V, KEPT)),
    "added": (
        lambda q, k, v, m: attention(q, k, v, attn_mask=m),
        (Q, K, V, random(24, 40)),
    ),
    "grouped": (
        lambda q, k, v: attention(q, k, v, enable_gqa=True),
        (Q, K[:, :2], V[:, :2]),
    ),
    "bf16": (attention, HALF),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_is_kernels(name: str) -> None:
    function, inputs = CASES[name]
    plan = plan_of(Formula(function).eval(), inputs)
    assert [(s.what, s.why) for s in plan.left] == []
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = function(*inputs)
    assert got.dtype == wanted.dtype
    bound = 2e-6 if got.dtype is torch.float32 else 1e-2
    torch.testing.assert_close(got, wanted, rtol=bound, atol=bound)


def test_its_kernels_are_proved() -> None:
    plan = plan_of(Formula(CASES["kept"][0]).eval(), CASES["kept"][1])
    for step in plan.kernels:
        assert proof_of(step).verdict >= Verdict.PROVED, step.source.text


def test_attention_with_dropout_stays_in_torch() -> None:
    plan = plan_of(Formula(lambda *x: attention(*x, dropout_p=0.5)), (Q, K, V))
    assert [s.why for s in plan.left] == ["attention with dropout"]


def test_what_nothing_reads_is_no_kernel() -> None:
    """The logarithms of sums, which only gradients need."""
    plan = plan_of(Formula(attention).eval(), HALF)
    assert [s.computes.rpartition(", ")[2] for s in plan.kernels] == [
        "sum of products",
        "div",
        "sum of products",
    ]
