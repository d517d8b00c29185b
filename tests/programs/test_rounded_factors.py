"""Factors of TF32 that a kernel rounds as they lie, without a copy."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products import product_factors  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional

CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "one after the other": (
        lambda x, w: functional.conv2d(x, w),
        (2, 24, 16, 32), (40, 24, 1, 1),
    ),
    "followed": (
        lambda x, w: torch.relu(functional.conv2d(x, w) + 1.0) * x[:, :1],
        (1, 16, 16, 24), (24, 16, 1, 1),
    ),
    "one dimension": (
        lambda x, w: functional.conv1d(x, w),
        (2, 40, 256), (72, 40, 1),
    ),
    "rows that TMA cannot address": (
        lambda x, w: functional.conv2d(torch.relu(x), w).sum((2, 3)),
        (2, 17, 8, 16), (16, 17, 1, 1),
    ),
}  # fmt: skip


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a copy would take no time."""
    monkeypatch.setattr(product_factors, "_LARGE", 1)


def _planned(name: str) -> tuple[ProgramPlan, tuple[Any, ...], Any]:
    function, x, w = CASES[name]
    torch.manual_seed(0)
    inputs = (torch.randn(x), torch.randn(w))
    return plan_of(Formula(function), inputs), inputs, function(*inputs)


def _product(plan: ProgramPlan) -> Any:
    (step,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    return step


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_rounded_factors(name: str) -> None:
    plan, inputs, wanted = _planned(name)
    assert "nearest_tf32(slot.a.load().T)" in _product(plan).source.text
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    error = (got - wanted).abs().max() / wanted.abs().max()
    assert 1e-6 < error < 1e-3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["one after the other", "followed"])
def test_kernels_are_equal_to_their_references(name: str) -> None:
    plan, *_ = _planned(name)
    assert proof_of(_product(plan)).verdict is Verdict.EQUAL


@pytest.mark.parametrize("name", CASES)
def test_what_a_cache_holds_is_copied(name: str) -> None:
    plan, *_ = _planned(name)
    assert "nearest" not in _product(plan).source.text


@pytest.mark.usefixtures("small")
def test_no_more_is_lost_than_by_rounding() -> None:
    """Numbers of 11 bits are multiplied as they are, others as the nearest of them."""
    inputs = (torch.randn(1, 16, 8, 16), torch.ones(16, 16, 1, 1))
    exact = (inputs[0] * 64).round() / 64
    plan = plan_of(Formula(lambda x, w: functional.conv2d(x, w)), inputs)
    got = run_plan(plan, (exact, inputs[1]), plan.program.tensors, in_interpreter)
    assert torch.allclose(got, functional.conv2d(exact, inputs[1]), atol=1e-5, rtol=0)
    above = (exact[:, :1] * (1 + 2.0**-12 * 1.5)).repeat(1, 16, 1, 1)
    got = run_plan(plan, (above, inputs[1]), plan.program.tensors, in_interpreter)
    nearest = functional.conv2d(above.double(), inputs[1].double())
    assert ((got - nearest).abs() <= nearest.abs() * 2.0**-11).all()
