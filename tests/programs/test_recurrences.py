"""Recurrent layers are kernels for each step, and give what torch does."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, RepeatedStep, plan_of  # noqa: E402
from argus.programs.planning.program_data import KernelFiles, plan_of_data  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.planning.value_parts import parts_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.running.memory import check_memory, memory_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402

LAYERS = {
    "lstm": (lambda: nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True), (2, 3, 6)),
    "gru": (lambda: nn.GRU(6, 5, bidirectional=True), (3, 2, 6)),
    "gru without biases": (lambda: nn.GRU(6, 8, bias=False), (2, 2, 6)),
    "tanh": (lambda: nn.RNN(4, 3), (4, 1, 4)),
    "relu": (lambda: nn.RNN(4, 3, nonlinearity="relu", batch_first=True), (2, 3, 4)),
    "many sequences": (lambda: nn.LSTM(8, 16, bidirectional=True), (2, 40, 8)),
    "three lstm": (lambda: nn.LSTM(6, 5, 3, batch_first=True), (2, 4, 6)),
    "three gru": (lambda: nn.GRU(6, 5, 3), (5, 2, 6)),
    "deeper than long": (lambda: nn.GRU(4, 3, 4, bias=False), (2, 1, 4)),
    "two tanh": (lambda: nn.RNN(4, 3, 2), (4, 1, 4)),
    "two relu without biases": (
        lambda: nn.RNN(4, 3, 2, nonlinearity="relu", bias=False),
        (3, 2, 4),
    ),
    "two of many sequences": (lambda: nn.LSTM(8, 8, 2), (2, 40, 8)),
}


@cache
def planned(name: str) -> tuple[nn.Module, Any, ProgramPlan]:
    """A layer of `LAYERS`, its input and its plan: the same for each test."""
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    model, x = make().eval(), torch.randn(shape)
    return model, x, plan_of(model, (x,))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_torch_does(name: str) -> None:
    model, x, plan = planned(name)
    assert plan.whole
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    with torch.no_grad():
        wanted = model(x)
        exact = copy.deepcopy(model).double()(x.double())
    for got, own, best in zip(
        *map(_pytree.tree_leaves, (made, wanted, exact)), strict=True
    ):
        torch.testing.assert_close(got, own, rtol=1e-5, atol=1e-6)
        error = float((own - best).abs().max())
        assert float((got - best).abs().max()) <= 4 * error + 1e-7


@pytest.mark.parametrize("name", ["lstm", "gru", "tanh", "three lstm", "three gru"])
def test_the_kernel_of_a_step_is_equal_to_its_reference(name: str) -> None:
    *_, plan = planned(name)
    launched = plan.launches
    kind = name.split()[-1][:3]
    kernels = [(s, n) for s, n in launched if s.source.name.startswith(kind)]
    steps = [s for s in kernels if "sum" in s[0].computes]
    assert steps or name == "tanh"
    for step, _ in steps:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_part_that_is_not_written_is_found() -> None:
    _, x, plan = planned("gru without biases")
    memory = memory_of(plan)
    check_memory(plan, memory)
    states = {v for v in plan.program.values if len(parts_of(v)) == len(x)}
    own = [s for s in plan.steps if states & set(s.written)]
    assert len(own) == 2
    for gone in own:
        fewer = replace(plan, steps=tuple(s for s in plan.steps if s is not gone))
        with pytest.raises(ArgusError, match="AG1044"):
            check_memory(fewer, memory)
    twice = replace(plan, steps=(*plan.steps, own[0]))
    with pytest.raises(ArgusError, match="again"):
        check_memory(twice, memory)


def with_repeated(plan: ProgramPlan, changed: RepeatedStep) -> ProgramPlan:
    steps = (changed if isinstance(s, RepeatedStep) else s for s in plan.steps)
    return replace(plan, steps=tuple(steps))


def advancing(step: RepeatedStep, name: str, advance: int) -> RepeatedStep:
    (own,) = step.body
    tensors = (
        replace(t, advance=advance) if t.name == name else t for t in own.source.tensors
    )
    source = replace(own.source, tensors=tuple(tensors))
    return replace(step, body=(replace(own, source=source),))


def test_steps_of_time_are_one_step_of_the_plan() -> None:
    torch.manual_seed(0)
    model = nn.LSTM(6, 5, 2, bidirectional=True).eval()
    long, short = (plan_of(model, (torch.randn(n, 3, 6),)) for n in (40, 4))
    assert len(long.steps) == len(short.steps)
    cells = [
        {s.source.text for s in plan.kernels if s.source.name.startswith("lstm")}
        for plan in (long, short)
    ]
    assert cells[0] == cells[1]
    assert {n for _, n in long.counted() if n > 1} == {39}
    assert sum(n for _, n in long.launches) == len(long.kernels) + 38 * 2


def test_launches_that_are_repeated_otherwise_are_found() -> None:
    torch.manual_seed(0)
    model, x = nn.GRU(6, 8).eval(), torch.randn(6, 2, 6)
    plan = plan_of(model, (x,))
    memory = memory_of(plan)
    (step,) = [s for s in plan.steps if isinstance(s, RepeatedStep)]
    (own,) = step.body
    for times in (step.times - 1, step.times + 1):
        with pytest.raises(ArgusError, match="AG1044"):
            check_memory(with_repeated(plan, replace(step, times=times)), memory)
    for tensor in own.source.tensors:
        if not tensor.advance:
            continue
        further = advancing(step, tensor.name, 2 * tensor.advance)
        with pytest.raises(ArgusError, match="AG1044"):
            check_memory(with_repeated(plan, further), memory)


def test_a_plan_with_repeated_launches_is_read_back() -> None:
    _, x, plan = planned("lstm")
    files = KernelFiles()
    data = json.loads(json.dumps(files.plan_data(plan)))
    again = plan_of_data(data, files.texts, "cpu")
    made = [
        run_plan(p, (x,), plan.program.tensors, in_interpreter) for p in (plan, again)
    ]
    for a, b in zip(*map(_pytree.tree_leaves, made), strict=True):
        assert torch.equal(a, b)
