"""Recurrent layers are kernels for each step, and give what torch does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.memory import check_memory, memory_of  # noqa: E402
from argus.programs.plan import plan_of  # noqa: E402
from argus.programs.proofs import proof_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402

LAYERS = {
    "lstm": (lambda: nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True), (2, 3, 6)),
    "gru": (lambda: nn.GRU(6, 5, bidirectional=True), (3, 2, 6)),
    "gru without biases": (lambda: nn.GRU(6, 8, bias=False), (2, 2, 6)),
    "tanh": (lambda: nn.RNN(4, 3), (4, 1, 4)),
    "relu": (lambda: nn.RNN(4, 3, nonlinearity="relu", batch_first=True), (2, 3, 4)),
    "many sequences": (lambda: nn.LSTM(8, 16), (2, 40, 8)),
}


def layer(name: str) -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    return make().eval(), torch.randn(shape)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_torch_does(name: str) -> None:
    model, x = layer(name)
    plan = plan_of(model, (x,))
    assert plan.whole
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    with torch.no_grad():
        wanted = model(x)
        exact = model.double()(x.double())
    for got, own, best in zip(
        *map(_pytree.tree_leaves, (made, wanted, exact)), strict=True
    ):
        torch.testing.assert_close(got, own, rtol=1e-5, atol=1e-6)
        error = float((own - best).abs().max())
        assert float((got - best).abs().max()) <= 4 * error + 1e-7


@pytest.mark.parametrize("name", ["lstm", "gru", "tanh"])
def test_the_kernel_of_a_step_is_equal_to_its_reference(name: str) -> None:
    model, x = layer(name)
    launched = plan_of(model, (x,)).launches
    kernels = [(s, n) for s, n in launched if s.source.name.startswith(name[:3])]
    steps = [s for s in kernels if "sum of products" in s[0].computes]
    assert steps or name == "tanh"
    for step, _ in steps:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_part_that_is_not_written_is_found() -> None:
    model, x = layer("gru without biases")
    plan = plan_of(model, (x,))
    memory = memory_of(plan)
    check_memory(plan, memory)
    own = [s for s in plan.kernels if s.source.name.startswith("gru")]
    assert len(own) == 2
    for gone in own:
        fewer = replace(plan, steps=tuple(s for s in plan.steps if s is not gone))
        with pytest.raises(ArgusError, match="AG1044"):
            check_memory(fewer, memory)
    twice = replace(plan, steps=(*plan.steps, own[0]))
    with pytest.raises(ArgusError, match="again"):
        check_memory(twice, memory)
