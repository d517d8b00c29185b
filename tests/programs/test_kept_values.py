"""What depends on weights alone is computed once, and again when a weight changed."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.compiled import CompiledProgram  # noqa: E402
from argus.programs.planning.constant_steps import constant_steps  # noqa: E402
from argus.programs.planning.plan import KernelStep, plan_of  # noqa: E402
from argus.programs.running.execution import in_interpreter  # noqa: E402
from programs.modules import Formula  # noqa: E402


class Counted:
    """Runs kernels in the interpreter, and keeps their names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, step: KernelStep, tensors: dict[str, Any]) -> None:
        self.names.append(step.source.name)
        in_interpreter(step, tensors)


def _program() -> tuple[torch.nn.Module, CompiledProgram, Counted, str]:
    torch.manual_seed(0)
    model = torch.nn.Linear(24, 16).eval()
    plan = plan_of(model, (torch.randn(4, 24),))
    (constant,) = constant_steps(plan)
    assert len(plan.kernels) == 3  # parts of both factors, and the product
    run = Counted()
    return model, CompiledProgram(plan, run=run), run, constant.source.name


def test_parts_of_a_weight_are_made_once() -> None:
    model, program, run, constant = _program()
    for _ in range(3):
        x = torch.randn(4, 24)
        torch.testing.assert_close(program(x), model(x).detach())
    assert run.names.count(constant) == 1
    assert len(run.names) == 1 + 3 * 2


def _trained(model: torch.nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.randn(4, 24)).square().sum().backward()
    optimizer.step()


def _loaded(model: torch.nn.Module) -> None:
    model.load_state_dict({n: -t for n, t in model.state_dict().items()})


def _in_place(model: torch.nn.Module) -> None:
    with torch.no_grad():
        next(model.parameters()).mul_(3.0)


@pytest.mark.parametrize("change", [_trained, _loaded, _in_place])
def test_a_weight_that_changed_is_noticed(change: Any) -> None:
    model, program, run, constant = _program()
    x = torch.randn(4, 24)
    before = program(x)
    change(model)
    after = program(x)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, model(x).detach())
    torch.testing.assert_close(program(x), after)
    assert run.names.count(constant) == 2


def test_tensors_without_a_counter_are_taken_as_changed() -> None:
    with torch.inference_mode():
        model, program, run, constant = _program()
        x = torch.randn(4, 24)
        program(x)
        next(model.parameters()).mul_(3.0)
        torch.testing.assert_close(program(x), model(x))
    assert run.names.count(constant) == 2


def test_results_that_depend_on_weights_alone_are_made_in_each_call() -> None:
    w = torch.randn(8, 8)

    class Alone(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(w)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1.0, torch.relu(self.w)

    plan = plan_of(Alone().eval(), (torch.randn(3),))
    assert constant_steps(plan) == ()
    program = CompiledProgram(plan, run=in_interpreter)
    first, second = program(torch.randn(3))[1], program(torch.randn(3))[1]
    assert first.data_ptr() != second.data_ptr()


def test_inputs_are_never_constant() -> None:
    model = Formula(lambda x, w: x @ w)
    inputs = (torch.randn(4, 24), torch.randn(24, 4))
    assert constant_steps(plan_of(model, inputs)) == ()
