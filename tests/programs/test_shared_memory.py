"""Results and what a module changes share memory where they do in torch."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.programs.compiled import called  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.program_data import (  # noqa: E402
    KernelFiles,
    plan_of_data,
)
from argus.programs.running.execution import (  # noqa: E402
    in_interpreter,
    returned,
    run_plan,
)
from argus.programs.running.given import GivenTensors  # noqa: E402
from programs.modules import Formula, random  # noqa: E402


class Stateful(nn.Module):
    """Has two buffers; what a call does with them is said by a function."""

    def __init__(self, does: Any) -> None:
        super().__init__()
        self.register_buffer("one", random(4, 4))
        self.register_buffer("other", random(4, 4) + 1)
        self.does = does

    def forward(self, x: Any) -> Any:
        return self.does(self, x)


def keeps_the_old(m: Any, x: Any) -> Any:
    old = m.one
    m.one = x + old
    return old


def change_places(m: Any, x: Any) -> Any:
    m.one, m.other = m.other, m.one
    return m.one @ x


def copied_from_another(m: Any, x: Any) -> Any:
    held = m.other.clone()
    m.other.copy_(m.one.t())
    m.one.copy_(held + x)
    return held, m.other[1:]


def queued(m: Any, x: Any) -> Any:
    m.one[1:] = m.one[:-1].clone()
    m.one[0] = x[0]
    return m.one, m.one.t()[2]


@pytest.mark.parametrize(
    "does", [keeps_the_old, change_places, copied_from_another, queued]
)
def test_buffers_and_results_are_those_of_torch(does: Any) -> None:
    model = Stateful(does)
    eager = copy.deepcopy(model)
    plan = plan_of(model, (random(4, 4),))
    for seed in range(3):
        x = random(4, 4) + seed
        found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
        wanted = eager(x)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(
            dict(model.named_buffers()), dict(eager.named_buffers())
        )


def returned_itself(x: Any, y: Any) -> Any:
    return x.relu_(), y


def written_through_a_view(x: Any, y: Any) -> Any:
    part = x.view(-1)[3:9]
    part.add_(y.sum())
    return x.sum(0), part, {"columns": x.t()[1:], "none": None}


def grown(x: Any, y: Any) -> Any:
    y[:, 2:4] = x[:, :2]
    return y.narrow(1, 0, 4) * 2, (y, y.narrow(1, 0, 4))


def with_numbers(plan: ProgramPlan) -> ProgramPlan:
    """The plan, written as data and read again."""
    files = KernelFiles()
    data = files.plan_data(plan)
    return plan_of_data(data, files.texts, plan.program.device)


@pytest.mark.parametrize("does", [returned_itself, written_through_a_view, grown])
@pytest.mark.parametrize("read_again", [False, True])
def test_results_lie_in_inputs_that_are_changed(does: Any, read_again: bool) -> None:
    def given() -> list[Any]:
        return [random(4, 6), random(4, 6)]

    plan = plan_of(Formula(does), given())
    if read_again:
        plan = with_numbers(plan)
    inputs, others = given(), given()
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = does(*others)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(inputs, others)
    assert places(found, inputs) == places(wanted, others)


def places(results: Any, inputs: Any) -> list[Any]:
    """For each result the input in whose memory it is, and how it lies there."""
    memory = [x.untyped_storage().data_ptr() for x in inputs]
    found: list[Any] = []
    for t in _pytree.tree_leaves(results):
        if isinstance(t, torch.Tensor):
            own = t.untyped_storage().data_ptr()
            inside = own in memory
            at = (memory.index(own), t.storage_offset()) if inside else None
            found.append((at, t.stride()))
    return found


def test_an_input_that_lies_otherwise_is_changed_and_results_are_apart() -> None:
    plan = plan_of(Formula(returned_itself), (random(4, 6), random(4, 6)))
    x, y = random(6, 4).t(), random(4, 6)
    call = called(plan, in_interpreter)
    results = call(*GivenTensors(plan.program)((x, y), {}))
    first, second = returned(plan.program, results, (x, y), {})
    torch.testing.assert_close(first, random(6, 4).t().relu())
    torch.testing.assert_close(x, first)
    assert second is y


def test_results_of_one_call_that_are_several_lie_apart() -> None:
    """One step of a recurrent layer: what it returns and its last state."""
    layer = nn.RNN(6, 5, batch_first=True)
    given = (random(3, 1, 6), random(1, 3, 5))
    plan = plan_of(layer, given)
    found = run_plan(plan, given, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, layer(*given))
    first, second = (t.untyped_storage().data_ptr() for t in found)
    assert first != second
