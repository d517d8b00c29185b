"""What a kernel would compute or read many times is made once, by a kernel before it.

At the sizes of models: only plans are made, and kernels that are small are proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def _lora(x: Any, y: Any, down: Any, up: Any) -> Any:
    return y + 2.0 * (x @ down.T @ up.T)


def _directions(features: Any, d: Any) -> Any:
    parts = [d, *(f(d * 2**i) for i in range(4) for f in (torch.sin, torch.cos))]
    known = torch.cat(parts, -1)[:, None].expand(-1, features.shape[1], -1)
    return torch.cat([features, known], -1)


def _demodulated(w: Any, style: Any) -> Any:
    return ((w[None] * style[:, None, :, None, None]) ** 2).sum((2, 3, 4))


def _shapes(*shapes: Sequence[int]) -> tuple[Any, ...]:
    return tuple(torch.empty(*shape) for shape in shapes)


WHOLE = {
    "a factor that lies along a short sum": (
        _lora,
        _shapes((4096, 1024), (4096, 2048), (16, 1024), (2048, 16)),
        180,  # 607 where each result reads it in steps of the sum
    ),
    "angles of all samples of a ray": (
        _directions,
        _shapes((1024, 64, 256), (1024, 3)),
        120,  # 272 where each computes all of them
    ),
    "sums of a few elements side by side": (
        _demodulated,
        _shapes((128, 256, 3, 3), (8, 256)),
        30,  # 114 where each step of a loop takes 9 elements
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_it_takes_no_longer_than_it_has_to(name: str) -> None:
    function, inputs, most = WHOLE[name]
    plan = plan_of(Formula(function), inputs)
    assert not plan.left
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < most


def test_steps_along_one_row_are_no_reason_for_no_time() -> None:
    """A launch takes them as what its kernel is for, and so does the prediction."""
    x = torch.empty(1, 1, 16, 32, 32, dtype=torch.bfloat16)
    filters = torch.nn.Conv3d(1, 16, 3, padding=1, dtype=torch.bfloat16)
    plan = plan_of(filters.eval(), (x,))
    assert all(prediction_of(step).microseconds > 0 for step in plan.kernels)


def test_such_kernels_give_what_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from argus.programs.planning import product_operands, worth

    monkeypatch.setattr(product_operands, "_LARGE", 0)
    for name in ("_LARGE", "_MANY", "_WALKED"):
        monkeypatch.setattr(worth, name, 1)
    monkeypatch.setattr(worth, "_VERY_OFTEN", 2)
    cases = (
        (_lora, ((40, 8), (40, 48), (4, 8), (48, 4))),
        (_directions, ((6, 5, 7), (6, 3))),
        (_demodulated, ((4, 160, 3, 3), (2, 160))),
    )
    for function, shapes in cases:
        inputs = tuple(torch.randn(*shape) for shape in shapes)
        plan = plan_of(Formula(function), inputs)
        made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
        torch.testing.assert_close(made, function(*inputs), rtol=2e-5, atol=2e-5)


def _turned(x: Any, w: Any, cos: Any, sin: Any) -> Any:
    """Positions as rotations of halves of a product, as transformers spell them."""
    heads = (x @ w.T).view(len(x), -1, 16).transpose(0, 1)
    first, second = heads.chunk(2, -1)
    return heads * cos + torch.cat((-second, first), -1) * sin


def test_parts_of_what_is_joined_are_computed_where_they_are_read() -> None:
    """Each once, though the kernel has twice as many places: no kernel before it."""
    half = torch.bfloat16
    inputs = tuple(
        torch.randn(*s, dtype=half) for s in ((24, 32), (64, 32), (24, 16), (24, 16))
    )
    plan = plan_of(Formula(_turned), inputs)
    assert [s.computes for s in plan.kernels] == [
        "sum of products", plan.kernels[-1].computes,
    ]  # fmt: skip
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, _turned(*inputs))
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


@pytest.mark.parametrize("norm", [torch.nn.LayerNorm, torch.nn.RMSNorm])
def test_a_norm_before_one_row_times_a_matrix_is_stored(norm: Any) -> None:
    """Each of the results would normalise the whole row."""
    half = torch.bfloat16
    layers = (norm(1024), torch.nn.Linear(1024, 2048, bias=False))
    model = torch.nn.Sequential(*layers).to(half).eval()
    plan = plan_of(model, (torch.empty(1, 1024, dtype=half),))
    first, second = plan.kernels
    assert first.written[0].shape == (1, 1024)
    assert second.computes == "mul, sum of products"


def _spelled(x: Any, y: Any) -> Any:
    """A product of matrices for each head, as a sum of what is multiplied."""
    return (x[..., None] * y[:, None]).sum(2)


def test_a_product_that_is_spelled_is_one_of_tiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from argus.programs.planning import spelled_products

    plan = plan_of(Formula(_spelled), _shapes((2, 256, 256, 24), (2, 256, 24, 64)))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 60  # 1062

    monkeypatch.setattr(spelled_products, "_MANY", 1)
    torch.manual_seed(0)
    inputs = torch.randn(2, 24, 32, 3), torch.randn(2, 32, 3, 16)
    plan = plan_of(Formula(_spelled), inputs)
    assert any("product(slot" in s.source.text for s in plan.kernels)
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, _spelled(*inputs), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: (x[:, :, None] * y[:, None]).sum((0, 3)),  # y is summed alone
        lambda x, y: (x[..., None, :20] * x[..., None, 20:]).sum(1),
        lambda x, y: (x[:, None] * y[:, :, None]).amax(3),
    ],
)
def test_other_sums_of_products_stay_as_they_are(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argus.programs.planning import spelled_products

    monkeypatch.setattr(spelled_products, "_MANY", 1)
    inputs = torch.randn(2, 20, 40), torch.randn(2, 24, 40)
    plan = plan_of(Formula(call), inputs)
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, call(*inputs), rtol=2e-5, atol=2e-5)


def test_a_product_is_stored_as_what_it_is_rounded_to() -> None:
    """By its own kernel, and not by the one that normalises it."""

    def call(x: Any, w: Any) -> Any:
        return torch.log_softmax((x @ w.T).float(), -1)

    half = torch.bfloat16
    inputs = torch.randn(24, 32, dtype=half), torch.randn(64, 32, dtype=half)
    plan = plan_of(Formula(call), inputs)
    product, _ = plan.kernels
    assert [v.dtype.name for v in product.written] == ["bf16"]
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, call(*inputs), rtol=1e-2, atol=1e-2)
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


def _normalised_across(x: Any) -> Any:
    return torch.nn.functional.group_norm(x, x.shape[1]).transpose(1, 2).contiguous()


def test_long_rows_are_not_stored_across_memory_by_what_reduces_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from argus.programs.planning import worth

    plan = plan_of(Formula(_normalised_across), _shapes((2, 512, 16000)))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 120  # 990

    monkeypatch.setattr(worth, "_LARGE", 1)
    monkeypatch.setattr(worth, "_LONG_ROW", 16)
    x = torch.randn(2, 3, 40)
    plan = plan_of(Formula(_normalised_across), (x,))
    assert len(plan.kernels) == 2
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, _normalised_across(x), rtol=2e-5, atol=2e-5)
