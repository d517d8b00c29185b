"""Tiles of rows that are too long for registers."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.plan import plan_of  # noqa: E402
from argus.programs.proofs import proof_of  # noqa: E402
from argus.programs.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


@pytest.mark.parametrize(("others", "warps"), [(0, 32), (3, 16)])
def test_a_long_row_that_is_read_again_has_a_multiprocessor(
    others: int, warps: int
) -> None:
    """Fewer warps where each element of a row takes more registers."""

    def function(x: Any, *added: Any) -> Any:
        return (x + sum(added)) / (x + sum(added)).norm(dim=1, keepdim=True)

    inputs = tuple(torch.randn(132, 9001) for _ in range(1 + others))
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert isinstance(step.group.form, GroupTiling)
    assert step.group.form.warps == warps
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-7)
