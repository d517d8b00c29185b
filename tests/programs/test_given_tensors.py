"""What a call is given is compared with the program, weights where they may differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.compiled import CompiledProgram  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.running.execution import in_interpreter  # noqa: E402
from argus.programs.running.given import GivenTensors  # noqa: E402
from argus.programs.running.module_weights import ModuleWeights  # noqa: E402
from programs.modules import Formula  # noqa: E402

nn = torch.nn


def square() -> tuple[Any, CompiledProgram]:
    """A layer with a square weight, and its program."""
    torch.manual_seed(0)
    model = nn.Linear(16, 16).eval()
    plan = plan_of(model, (torch.randn(4, 16),))
    return model, CompiledProgram(plan, run=in_interpreter)


def other_storage(weight: Any) -> None:
    weight.data = weight.data * 3.0


def turned(weight: Any) -> None:
    """The same memory, which is read otherwise."""
    weight.data = weight.data.t()


def turned_in_other_storage(weight: Any) -> None:
    weight.data = weight.data.t().clone().t()


@pytest.mark.parametrize("change", [other_storage, turned, turned_in_other_storage])
def test_data_that_is_put_anew_is_seen(change: Callable[[Any], None]) -> None:
    model, program = square()
    x = torch.randn(4, 16)
    program(x)
    for _ in range(2):
        change(model.weight)
        for _ in range(2):
            torch.testing.assert_close(program(x), model(x).detach())


def test_weights_that_lie_otherwise_are_copied_in_each_call() -> None:
    model, program = square()
    x = torch.randn(4, 16)
    model.weight.data = model.weight.data.t().clone().t()
    for factor in (2.0, 3.0):
        torch.testing.assert_close(program(x), model(x).detach())
        with torch.no_grad():
            model.weight.mul_(factor)


def fewer(model: Any) -> None:
    """Rows of the same memory, with the same strides."""
    model.weight.data = model.weight.data[:8]


@pytest.mark.parametrize("change", [fewer, nn.Module.half, nn.Module.double])
def test_weights_of_another_kind_are_refused(change: Callable[[Any], Any]) -> None:
    model, program = square()
    x = torch.randn(4, 16)
    program(x)
    change(model)
    with pytest.raises(ArgusError, match=r"AG0801.*the plan is for"):
        program(x)


def test_memory_of_weights_is_held() -> None:
    """What is allocated later cannot lie at the address of one that was compared."""
    model, program = square()
    plan = program.plan
    given = GivenTensors(plan.program)
    weights = dict(plan.program.tensors)
    x = torch.randn(4, 16)
    before = {*given((x,), weights)[1]} - {x.data_ptr()}
    model.weight.data = torch.empty(0)
    made = [torch.empty(16, 16) for _ in range(64)]
    assert not before & {t.data_ptr() for t in made}


def test_what_is_negative_by_its_view_is_computed() -> None:
    double = Formula(lambda x: x * 2.0)
    program = CompiledProgram(plan_of(double, (torch.randn(8),)), run=in_interpreter)
    x = torch.randn(8, dtype=torch.complex64).conj().imag.as_strided((8,), (2,))
    assert x.is_neg()
    plan = plan_of(double, (x,))
    torch.testing.assert_close(CompiledProgram(plan, run=in_interpreter)(x), x * 2.0)
    torch.testing.assert_close(program(x), x * 2.0)


class Nested(nn.Module):
    """Weights at several depths, and one that is no parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        self.plain = torch.ones(2)


NAMES = ["inner.0.weight", "inner.1.running_mean", "plain"]


def replaced_parameter(model: Any) -> None:
    model.inner[0].weight = nn.Parameter(torch.full((3, 3), 7.0))


def replaced_module(model: Any) -> None:
    model.inner[1] = nn.BatchNorm1d(3)


def replaced_inner(model: Any) -> None:
    model.inner = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))


def replaced_plain(model: Any) -> None:
    model.plain = torch.zeros(2)


def parametrized(model: Any) -> None:
    nn.utils.parametrizations.weight_norm(model.inner[0])


@pytest.mark.parametrize(
    "change",
    [
        replaced_parameter,
        replaced_module,
        replaced_inner,
        replaced_plain,
        parametrized,
    ],
)
def test_weights_of_a_module_are_what_it_has_now(change: Callable[[Any], None]) -> None:
    model = Nested()
    weights = ModuleWeights(NAMES)
    assert weights(model)["inner.0.weight"] is model.inner[0].weight
    change(model)
    for _ in range(2):
        found = weights(model)
        assert torch.equal(found["inner.0.weight"], model.inner[0].weight)
        assert found["inner.1.running_mean"] is model.inner[1].running_mean
        assert found["plain"] is model.plain


def test_a_weight_that_is_gone_is_an_error() -> None:
    model = Nested()
    weights = ModuleWeights(NAMES)
    weights(model)
    del model.inner[0].weight
    with pytest.raises(AttributeError, match="weight"):
        weights(model)
