"""Functions that look at elements while torch traces them are exported without that."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.distributions import Bernoulli, Gamma, Normal, kl_divergence  # noqa: E402
from torch.nn import functional  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.program_data import (  # noqa: E402
    KernelFiles,
    plan_of_data,
)
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from programs.modules import Formula, random  # noqa: E402


def _densities(m: Any, s: Any, x: Any) -> tuple[Any, ...]:
    first = Normal(m, s.exp())
    second = Normal(torch.zeros_like(m), torch.ones_like(m))
    return (
        kl_divergence(first, second), first.log_prob(x), first.entropy(),
        Bernoulli(logits=m).log_prob((x > 0).float()),
        Gamma(s.exp(), m.exp()).log_prob(x.abs()),
    )  # fmt: skip


def _covariances(x: Any, *_: Any) -> tuple[Any, ...]:
    return (
        torch.cov(x), x.corrcoef(), torch.cov(x[0]), torch.corrcoef(x[0]),
        x.cov(correction=0),
    )  # fmt: skip


CASES = {"densities": _densities, "covariances": _covariances}


@pytest.mark.parametrize("name", CASES)
def test_they_are_kernels(name: str) -> None:
    inputs = tuple(random(3, 5) for _ in range(3))
    before = vars(torch.distributions.Distribution)["_validate_args"]
    plan = plan_of(Formula(CASES[name]), inputs)
    assert not plan.left
    assert vars(torch.distributions.Distribution)["_validate_args"] is before
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, CASES[name](*inputs), rtol=1e-5, atol=1e-5)


def test_a_loss_with_variances_is_kernels_and_torch_checks_these() -> None:
    def loss(x: Any, y: Any, variance: Any) -> tuple[Any, ...]:
        rows = functional.gaussian_nll_loss(x, y, variance[:, 0], reduction="none")
        floor = functional.gaussian_nll_loss(x, y, variance[:, :1], eps=0.5)
        return nn.GaussianNLLLoss(full=True)(x, y, variance), rows, floor

    inputs = (random(3, 5), random(3, 5), random(3, 5).abs())
    plan = plan_of(Formula(loss), inputs)
    assert {s.what for s in plan.left} == {"aten._assert_async.msg"}
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, loss(*inputs), rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="negative"):
        run_plan(plan, (*inputs[:2], -inputs[2]), plan.program.tensors, in_interpreter)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shortest", [8, 1])
def test_a_loss_of_sequences_is_of_known_shape(reduction: str, shortest: int) -> None:
    """One of two sequences may be too short for its target: its loss is infinite."""

    known: Any = ((9, 9), (3, 2))

    def loss(x: Any, y: Any, inputs: Any, targets: Any) -> tuple[Any, ...]:
        shares = x.log_softmax(-1)
        return (
            nn.CTCLoss(reduction=reduction)(shares, y, inputs, targets),
            nn.CTCLoss(4, reduction, True)(shares, y, inputs, targets),
            functional.ctc_loss(shares, y, *known, reduction=reduction),
            functional.ctc_loss(
                shares[:, 0], y[0], inputs[0], targets[0], reduction=reduction
            ),
        )

    y = torch.tensor([[1, 2, 2], [3, 1, 3]])
    lengths = torch.tensor([9, shortest]), torch.tensor([3, 2])
    given = (random(9, 2, 5), y, *lengths)
    plan = plan_of(Formula(loss), given)
    assert {s.what for s in plan.left} == {"argus_programs.ctc_loss.default"}
    files = KernelFiles()
    again = plan_of_data(files.plan_data(plan), files.texts, plan.program.device)
    for one in (plan, again):
        found = run_plan(one, given, plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, loss(*given))
