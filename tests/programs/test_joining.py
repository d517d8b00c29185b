"""Tensors put together: kernels store their parts of one value."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.planning.plan import KernelStep, ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.planning.value_parts import parts_of, touched  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.running.memory import check_memory, memory_of  # noqa: E402
from argus.programs.tensors import joining  # noqa: E402
from argus.programs.tensors.tensor_program import JoinedPrimitive  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional


def _branches(x: Any, a: Any, b: Any) -> Any:
    wide = functional.conv2d(x, b, padding=1)
    pool = functional.avg_pool2d(x, 3, 1, 1)
    return torch.cat([torch.relu(functional.conv2d(x, a)), torch.tanh(wide), pool], 1)


def _used(x: Any, a: Any, b: Any) -> Any:
    return functional.max_pool2d(_branches(x, a, b), 2) + 1


def _kept(x: Any, a: Any, b: Any) -> Any:
    first = torch.relu(functional.conv2d(x, a))
    return torch.cat([first, torch.relu(functional.conv2d(x, b, padding=1))], 1) + (
        first.sum()
    )


INPUTS = ((2, 17, 12, 16), (16, 17, 1, 1), (20, 17, 3, 3))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where launches count and not bytes."""
    monkeypatch.setattr(joining, "_LEAST", 0)


Planned = tuple[ProgramPlan, Any, Any]


def _planned(function: Any) -> Planned:
    return _planned_for(function, joining._LEAST)


@cache
def _planned_for(function: Any, least: int) -> Planned:
    """``least``: what the plan depends on, beside the function."""
    torch.manual_seed(0)
    inputs = tuple(torch.randn(s) for s in INPUTS)
    wanted = function(*(t.double() for t in inputs))
    return plan_of(Formula(function), inputs), inputs, wanted


def _joined(plan: ProgramPlan) -> list[Any]:
    return [v for v in plan.program.values if isinstance(v.made, JoinedPrimitive)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("function", [_branches, _used])
def test_each_kernel_stores_its_part(function: Any) -> None:
    plan, inputs, wanted = _planned(function)
    (home,) = _joined(plan)
    writers = [k for k in plan.kernels if home in k.written]
    assert [k.source.tensors[-1].start for k in writers] == [0, *parts_of(home)[:2]]
    assert not any("where" in k.computes for k in writers)
    assert all(proof_of(k).verdict is Verdict.EQUAL for k in writers)
    check_memory(plan, memory_of(plan))
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - wanted).abs().max() < 2e-3 * wanted.abs().max()


@pytest.mark.usefixtures("small")
def test_what_others_read_is_no_part() -> None:
    plan, inputs, wanted = _planned(_kept)
    assert not _joined(plan)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - wanted).abs().max() < 2e-3 * wanted.abs().max()


def test_small_tensors_are_a_choice() -> None:
    assert not _joined(_planned(_branches)[0])


@pytest.mark.usefixtures("small")
def test_parts_are_written_once_and_before_they_are_read() -> None:
    plan, *_ = _planned(_used)
    (home,) = _joined(plan)
    places = [i for i, k in enumerate(plan.steps) if home in k.written]
    memory = memory_of(plan)
    for at in places:
        missing = (*plan.steps[:at], *plan.steps[at + 1 :])
        twice = (*plan.steps[: at + 1], *plan.steps[at:])
        for steps in (missing, twice):
            with pytest.raises(ArgusError) as caught:
                check_memory(replace(plan, steps=steps), memory)
            assert caught.value.diagnostics[0].code == "AG1044"
    step = plan.steps[places[1]]
    assert isinstance(step, KernelStep)
    source = step.source
    *others, output = source.tensors
    for start in (output.start + 1, 0, parts_of(home)[1]):
        tensors = (*others, replace(output, start=start))
        moved = replace(step, source=replace(source, tensors=tensors))
        steps = (*plan.steps[: places[1]], moved, *plan.steps[places[1] + 1 :])
        with pytest.raises(ArgusError) as caught:
            check_memory(replace(plan, steps=steps), memory)
        assert caught.value.diagnostics[0].code == "AG1044"


def test_parts_that_an_access_touches() -> None:
    ends = (4, 6, 12)  # of 12 elements, which may come again
    assert touched(ends, 0, [(4, 1)]) == range(1)
    assert touched(ends, 3, [(2, 1)]) == range(2)
    assert touched(ends, 24, [(2, 3), (5, 12)]) == range(1)
    assert touched(ends, 16, [(2, 1), (5, 12)]) == range(1, 2)
    assert touched(ends, 11, [(8, -1)]) == range(1, 3)
    assert touched(ends, 8, [(5, 1)]) == range(3)  # beyond the end of one


def _block(x: Any, a: Any, b: Any) -> Any:
    """A dense block: each layer reads all that were made before."""
    first = functional.conv2d(torch.relu(x), b, padding=1)
    second = torch.cat([x, first], 1)
    third = functional.conv2d(torch.relu(second)[:, :17], a)
    fourth = functional.conv2d(torch.relu(torch.cat([x, first, third], 1))[:, 20:37], b)
    wide = functional.pad(fourth, (1, 1, 1, 1))
    return torch.cat([x, first, third, wide * 2], 1)


@pytest.mark.usefixtures("small")
def test_joins_with_the_same_first_parts_are_one() -> None:
    plan, inputs, wanted = _planned(_block)
    (home,) = _joined(plan)
    assert [r.value for r in plan.program.results] == [home]
    writers = [k for k in plan.kernels if home in k.written]
    assert [k.source.tensors[-1].start for k in writers] == [0, *parts_of(home)[:3]]
    readers = [k for k in plan.kernels if home in k.read]
    assert len(readers) == 2
    assert all(sum(t.buffer is home for t in k.source.tensors) == 1 for k in readers)
    check_memory(plan, memory_of(plan))
    for at, step in enumerate(plan.steps):  # each reads what is written by then
        if step in readers:
            ahead = [s for s in plan.steps[:at] if s not in writers[1:]]
            changed = replace(plan, steps=(*ahead, *plan.steps[at:]))
            with pytest.raises(ArgusError) as caught:
                check_memory(changed, memory_of(plan))
            assert caught.value.diagnostics[0].code == "AG1044"
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - wanted).abs().max() < 2e-3 * wanted.abs().max()


def _in_time(x: Any, w: Any) -> Any:
    """A recurrence that is spelled out; its states are stacked, and read again."""
    state, states, outputs = torch.zeros(x.shape[1], w.shape[1]), [], []
    for at in x:
        state = torch.tanh(torch.cat([at, state], 1) @ w)
        states.append(state)
        outputs.append((state * 2).sum(1))
    return torch.stack(states), torch.stack(outputs), torch.cat(outputs[3:], 0)


def test_many_tensors_are_parts_of_one() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(joining._MANY + 3, 2, 3), torch.randn(8, 5) / 3
    model = Formula(_in_time)
    plan = plan_of(model, (x, w))
    assert plan.whole
    check_memory(plan, memory_of(plan))
    assert len(_joined(plan)) == 3
    assert max(len(s.source.tensors) for s in plan.kernels) <= 20
    assert len({s.source.text for s in plan.kernels}) < 12
    got = run_plan(plan, (x, w), plan.program.tensors, in_interpreter)
    for a, b in zip(got, model(x, w), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
