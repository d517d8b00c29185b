"""Short rows that lie across those of memory, and truths that are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tiles.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

SHORT: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: x.softmax(1),
    "logarithm of a sum": lambda x: x.logsumexp(1) * 0.5,
    "moments": lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True),
}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("columns", [16, 11])
def test_short_rows_across_memory_are_a_thread_s(name: str, columns: int) -> None:
    inputs = (torch.randn(4, columns, 40 * 16),)
    plan = plan_of(Formula(SHORT[name]), inputs)
    (step,) = plan.kernels
    assert isinstance(step.group.form, GroupTiling)
    assert step.group.form.warps == 1
    assert ("fill=-ag.inf" in step.source.text) == (columns == 11 and name != "moments")
    if columns == 16:
        assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, SHORT[name](*inputs), rtol=1e-5, atol=1e-6)


def test_a_truth_that_is_chosen_by_itself_is_that_truth() -> None:
    def masked(x: Any) -> Any:
        mask = torch.triu(torch.ones(6, 8, dtype=torch.bool), 1)
        return x.masked_fill(mask, -1.0)

    x = torch.randn(6, 8)
    plan = plan_of(Formula(masked), (x,))
    (step,) = plan.kernels
    assert step.source.text.split("@ag.reference")[0].count("ag.where(") == 1
    found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    assert torch.equal(found, masked(x))
