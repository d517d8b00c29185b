"""Decisions that depend on many others are kernels of their own, which are equal."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402


def _fired(x: Any) -> tuple[Any, Any]:
    """Neurons that leak, and fire above a threshold."""
    held = torch.zeros(3, 6)
    fired = []
    for now in x.unbind(0):
        held = held * 0.9 + now
        fired.append((held > 1).float())
        held = held - fired[-1]
    return torch.stack(fired).mean(0), held


def _stepped(x: Any) -> Any:
    for shift in range(4):
        y = x * 0.9 + 0.1 * shift
        x = y - (y > 0.5).float()
    return x


def _exponential(x: Any) -> Any:
    for shift in range(4):
        x = torch.nn.functional.elu(x * 0.9 + 0.1 * shift)
    return x


def _shrunk(x: Any) -> Any:
    for _ in range(3):
        x = torch.nn.functional.softshrink(x * 1.1, 0.1)
    return x


@pytest.mark.parametrize("function", [_fired, _stepped, _exponential, _shrunk])
def test_decisions_in_turn(function: Any) -> None:
    x = random(4, 3, 6)
    plan = plan_of(Formula(function), (x,))
    assert plan.whole
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(x))
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
