"""Elements of eight bits: what is too large becomes what torch makes of it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.numbers import saturates  # noqa: E402
from argus.programs.tensors.tensor_program import stored_type  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

KINDS = [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_casts_are_those_of_torch(kind: Any, scale: float) -> None:
    def casts(x: Any) -> Any:
        constant = torch.full((3,), 3e5).to(kind)
        return (x * scale).to(kind), (x > 0).to(kind), constant.float()

    x = random(3, 40)
    plan = plan_of(Formula(casts), (x,))
    assert bool(plan.left) is not saturates(stored_type(str(kind)))
    found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    for one, other in zip(found, casts(x), strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one.float(), other.float())


@pytest.mark.parametrize("kind", KINDS)
def test_given_ones_are_read(kind: Any) -> None:
    def scaled(x: Any, scale: Any) -> Any:
        return x.float() * scale, x.to(torch.bfloat16) + 1, x.t()

    given = (random(4, 6).to(kind), random(4, 1))
    plan = plan_of(Formula(scaled), given)
    assert not plan.left
    found = run_plan(plan, given, plan.program.tensors, in_interpreter)
    for one, other in zip(found, scaled(*given), strict=True):
        torch.testing.assert_close(one.float(), other.float())
