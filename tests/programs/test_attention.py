"""Attention of torch, spelled in any way, is one kernel, or several."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import EVERY, few  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

attention = torch.nn.functional.scaled_dot_product_attention
Q, K, V = random(2, 4, 24, 32), random(2, 4, 40, 32), random(2, 4, 40, 16)
KEPT = random(2, 1, 24, 40) > 0
KEPT[0, 0, 3] = False  # a row without any key
PADDING = torch.zeros(2, 1, 1, 40)
PADDING[0, ..., 30:] = torch.finfo(torch.bfloat16).min
LEAST = float("-inf")


def eager(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """As Hugging Face's models spell it."""
    scores = torch.matmul(q, k.transpose(2, 3)) * 0.25 + mask
    shares = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(shares, v).transpose(1, 2).contiguous()


def causal_eager(q: Any, k: Any, v: Any) -> Any:
    rows, columns = q.shape[2], k.shape[2]
    least = torch.full((rows, columns), torch.finfo(q.dtype).min, dtype=q.dtype)
    each = [x[:, :, None].expand(2, 2, 2, -1, -1).flatten(1, 2) for x in (k, v)]
    return eager(q, *each, torch.triu(least, diagonal=1)[None, None])


def by_einsum(q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    kept = torch.tril(torch.ones(scores.shape[-2:]))
    scores = scores.masked_fill(kept == 0, LEAST)
    parts = torch.exp(scores - scores.amax(-1, keepdim=True))
    return torch.einsum("bhij,bhjd->bhid", parts / parts.sum(-1, keepdim=True), v)


def divided_last(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-1, -2)
    parts = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return (parts @ v) / parts.sum(-1, keepdim=True)


def of_one_tensor(x: Any) -> Any:
    q, k, v = x.view(2, 70, 3, 2, 32).permute(2, 0, 3, 1, 4)
    return attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 70, 64)


def without_softmax(q: Any, k: Any, v: Any, kept: Any) -> Any:
    scores = (q @ k.transpose(-1, -2)) * 0.2
    return torch.relu(scores.masked_fill(kept == 0, LEAST)) @ v


def in_a_window(q: Any, k: Any, v: Any) -> Any:
    rows, columns = torch.arange(70)[:, None], torch.arange(70)[None]
    kept = (columns <= rows) & (rows - columns < 16)
    return attention(q, k, v, attn_mask=kept)


def capped(q: Any, k: Any, v: Any) -> Any:
    scores = torch.tanh((q @ k.transpose(-1, -2)) * 0.04) * 5.0
    return torch.softmax(scores, -1) @ v


LONG = tuple(random(1, 2, 70, 32) for _ in range(3))

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
    "eager": (eager, (Q, K, V, PADDING)),
    "causal eager": (causal_eager, (Q, K[:, :2], V[:, :2])),
    "einsum": (by_einsum, (Q, K, V)),
    "divided last": (divided_last, (Q, K, V)),
    "of one tensor": (of_one_tensor, (random(2, 70, 192),)),
    "without softmax": (without_softmax, (Q, K, V, torch.tril(torch.ones(24, 40)))),
    "window": (in_a_window, LONG),
    "capped": (capped, (Q, K, V)),
    "no heads": (
        lambda q, k, v: torch.softmax(q @ k.T, -1) @ v,
        (random(30, 64), random(50, 64), random(50, 64)),
    ),
    "odd sizes": (attention, (random(1, 70, 40), random(1, 33, 40), random(1, 33, 24))),
}
NOT_EQUAL = {"kept", "added", "without softmax", "window"}
"""Rows that may have no key, and sums of which elements depend on masks."""
SPELT_OTHERWISE = {"causal", "eager", "einsum", "of one tensor", "no heads"}
"""Other words for another case, whatever the type."""
PROVED = [
    name
    for name in CASES
    if EVERY
    or name
    not in SPELT_OTHERWISE
    | {"causal eager", "added", "window", "kept", "divided last", "plain"}
]
"""The others have masks that these have, or none, at other places of other tensors.

Of a mask that is given ("kept") the kernel in f32 is proved below.
"""
EXACT = few(
    [name for name in CASES if name not in SPELT_OTHERWISE],
    "plain", "kept", "without softmax", "odd sizes",
)  # fmt: skip
"""Of one kind of mask and of scores each: parts of f32 are multiplied alike."""


@cache
def made(name: str, dtype: Any) -> tuple[ProgramPlan, tuple[Any, ...], Any]:
    """A case's plan, its inputs, and what torch gives in f32."""
    function, inputs = CASES[name]
    narrow = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    plan = plan_of(Formula(function).eval(), narrow)
    wide = [x.float() if x.is_floating_point() else x for x in narrow]
    return plan, narrow, function(*wide)


@pytest.mark.parametrize("name", CASES)
def test_attention_is_one_kernel(name: str) -> None:
    plan, inputs, wanted = made(name, torch.bfloat16)
    assert plan.whole
    assert [s.computes for s in plan.kernels] == ["attention"]
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got.float(), wanted, rtol=3e-2, atol=3e-2)
    if name not in PROVED:
        return
    report = proof_of(plan.kernels[0])
    if name not in NOT_EQUAL:
        assert report.verdict is Verdict.EQUAL, plan.kernels[0].source.text
    for o in report.obligations:
        open_ = o.rule == "AG0322" and o.verdict is Verdict.UNKNOWN
        assert open_ or o.slow or o.verdict is Verdict.PROVED, o.reason


def test_masks_of_f32_are_proved() -> None:
    """Of their parts nothing would be."""
    plan, _, _ = made("kept", torch.float32)
    for step in plan.kernels:
        report = proof_of(step)
        open_ = [
            o.reason
            for o in report.obligations
            if o.verdict < Verdict.PROVED and not o.slow
        ]
        # Whether a maximum of what a mask leaves is infinite is not followed by terms.
        left = [reason for reason in open_ if "is finite" not in reason]
        assert not left, step.source.text
        assert report.verdict >= Verdict.UNKNOWN


@pytest.mark.parametrize("name", EXACT)
def test_attention_of_f32_is_as_exact_as_torch(name: str) -> None:
    plan, inputs, _ = made(name, torch.float32)
    assert plan.whole
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = CASES[name][0](*inputs)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    exact = CASES[name][0](*wide)
    error, usual = (float((x.double() - exact).abs().max()) for x in (got, wanted))
    assert error <= max(usual, 1e-6)


def test_attention_of_f32_keeps_scores_on_the_chip() -> None:
    """Tensor cores multiply parts of its factors."""
    plan, _, _ = made("plain", torch.float32)
    *before, last = plan.kernels
    assert last.computes == "attention"
    assert {s.computes for s in before} == {"sub"}  # parts of f32
    assert proof_of(last).verdict == Verdict.EQUAL, last.source.text


def test_parts_of_its_result_are_stored_by_the_kernel() -> None:
    """What follows multiplies in f32: the parts are differences to what is rounded."""
    weight = random(64, 64)

    def projected(*x: Any) -> Any:
        heads = attention(*x).transpose(1, 2).reshape(2, 24, 64)
        return heads @ weight.to(heads.dtype)

    inputs = (Q, K, V)
    plan = plan_of(Formula(projected), inputs)
    (kernel,) = [s for s in plan.kernels if s.computes.startswith("attention")]
    assert len(kernel.source.outputs) == 3
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    exact = projected(*(x.double() for x in inputs))
    assert (got - exact).norm() / exact.norm() < 1e-6


def test_its_f16_is_a_kernel() -> None:
    plan, inputs, wanted = made("causal", torch.float16)
    assert [s.computes for s in plan.kernels] == ["attention"]
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got.float(), wanted, rtol=3e-3, atol=3e-3)


def test_attention_with_dropout_stays_in_torch() -> None:
    plan = plan_of(Formula(lambda *x: attention(*x, dropout_p=0.5)), (Q, K, V))
    assert [s.why for s in plan.left] == ["attention with dropout"]


def test_shares_that_are_a_result_are_stored() -> None:
    def both(q: Any, k: Any, v: Any) -> Any:
        shares = torch.softmax(q @ k.transpose(-1, -2), -1)
        return shares, shares @ v

    inputs = tuple(x.bfloat16() for x in (Q, K, V))
    plan = plan_of(Formula(both).eval(), inputs)
    assert plan.whole and "attention" not in [s.computes for s in plan.kernels]
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    for one, other in zip(got, both(*inputs), strict=True):
        torch.testing.assert_close(one, other, rtol=5e-2, atol=5e-2)


def test_products_without_a_softmax_between_stay_apart() -> None:
    """Layers of a network share no batch with each other."""
    x, w, u = (random(*s).bfloat16() for s in ((64, 64), (64, 64), (64, 64)))
    plan = plan_of(Formula(lambda a, b, c: torch.relu(a @ b) @ c).eval(), (x, w, u))
    assert len(plan.kernels) == 2


def test_long_sums_of_attention_are_not_cut() -> None:
    """Where its queries fill a device."""
    q = torch.empty(2, 8192, 32)
    plan = plan_of(Formula(lambda q: attention(q, q, q)).eval(), (q,))
    assert [s.computes for s in plan.kernels][-1] == "attention"


def test_few_queries_of_many_keys_stay_apart() -> None:
    """One block for each head would walk all keys."""
    q, k = (torch.empty(1, 8, n, 64, dtype=torch.bfloat16) for n in (4, 8192))
    plan = plan_of(Formula(lambda q, k: attention(q, k, k)).eval(), (q, k))
    assert plan.whole and "attention" not in [s.computes for s in plan.kernels]


def test_rows_with_room_behind_them_are_stored_without_tma() -> None:
    """TMA would write what lies between two rows of 4 elements: AG0603."""

    def attended(q: Any, k: Any, v: Any) -> Any:
        return (q @ k.mT).softmax(-1) @ v

    def call(q: Any, k: Any, v: Any, w: Any) -> Any:
        return attended(w, k, v).softmax(-1) @ attended(q, k, v).mT

    shapes = ((2, 6, 8), (2, 5, 8), (2, 5, 4), (2, 9, 8))
    plan = plan_of(Formula(call), tuple(random(*s).bfloat16() for s in shapes))
    first, _ = (s for s in plan.kernels if s.computes == "attention")
    (made,) = first.written
    assert made.shape == (2, 6, 4) and made.strides[-2] == 8
    assert prediction_of(first).microseconds > 0
