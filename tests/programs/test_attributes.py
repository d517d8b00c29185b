"""Tensors that are plain attributes of a module are state, as buffers are."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.capturing.capture import capture_shapes  # noqa: E402
from argus.programs.compiled import CompiledProgram, bound  # noqa: E402
from argus.programs.planning.plan import plan_of, plan_program  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from programs.modules import Formula  # noqa: E402

FILE = """
import torch

class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(12, 4)
        self.state = torch.randn(2, 4)

    def forward(self, x, start=None):
        if start is not None:
            self.state.copy_(start)
        self.state = torch.tanh(self.inner(torch.cat((x, self.state), 1)))
        return self.state * 2

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.scale = torch.full((4,), 3.0)

    def forward(self, x):
        return self.cell(x) * self.scale

def get_inputs():
    return [torch.randn(2, 8)]
"""


def model_of() -> Any:
    names: dict[str, Any] = {}
    exec(FILE, names)
    torch.manual_seed(0)
    return names["Model"]()


def calls(plan: Any, model: Any, eager: Any) -> None:
    for seed in range(3):
        x = torch.randn(2, 8, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            wanted = eager(x)
        found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(model.cell.state, eager.cell.state)


def test_an_attribute_that_is_put_anew_outlives_a_call() -> None:
    model = model_of()
    eager = copy.deepcopy(model)
    plan = plan_of(model, (torch.randn(2, 8),))
    assert plan.program.updates == ("cell.state",)
    assert not plan.left
    assert "state" in vars(model.cell)
    assert not list(model.buffers())
    calls(plan, model, eager)


def test_one_that_is_written_to_is_state() -> None:
    cell = model_of().cell
    eager = copy.deepcopy(cell)
    given = (torch.randn(2, 8), torch.randn(2, 4))
    plan = plan_of(cell, given)
    with torch.no_grad():
        wanted = eager(*given)
    found = run_plan(plan, given, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(cell.state, eager.state)


def test_a_file_with_one_is_planned_by_shapes(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(FILE)
    plan = plan_program(capture_shapes(path))
    model = model_of()
    eager = copy.deepcopy(model)
    calls(bound(plan, model), model, eager)


def test_inputs_that_the_model_changes_are_changed() -> None:
    def changing(x: Any, state: Any, mask: Any) -> Any:
        state.mul_(0.9).add_(x.mean(0))
        mask[0] = False
        return (x * state).masked_fill(~mask, 0.0), state.sum()

    def given() -> list[Any]:
        return [x.clone() for x in (first, torch.ones(4), torch.ones(4).bool())]

    first = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    model = Formula(changing)
    plan = plan_of(model, given())
    one, other = given(), given()
    found = run_plan(plan, one, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, changing(*other))
    torch.testing.assert_close(one, other)
    shared = torch.ones(2, 4)
    with pytest.raises(ArgusError, match="share memory"):
        run_plan(plan, [first, shared[0], shared[1].bool()], {}, in_interpreter)
        run_plan(plan, [shared[:1].expand(3, 4), shared[0], one[2]], {}, in_interpreter)


class Normalised(torch.nn.Module):
    """A weight that is computed from a parameter, and begins in its memory."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = torch.nn.Parameter(torch.full((3,), 2.0))
        self.weight = self.raw.data
        self.fixed = self.raw.data

    def forward(self, x: Any) -> Any:
        self.weight = self.raw / self.raw.sum()
        return x * self.weight + self.fixed


def test_an_attribute_in_the_memory_of_a_parameter_changes_no_parameter() -> None:
    model, x = Normalised(), torch.ones(3)
    plan = plan_of(model, (x,))
    for _ in range(2):
        found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, torch.full((3,), 2.0 + 1 / 3))
    assert torch.equal(model.raw, torch.full((3,), 2.0))


class Tables(torch.nn.Module):
    """A table for as many positions as there are; what was computed is kept, too."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.kind, self.seen, self.memo = kind, None, dict[Any, Any]()
        if kind == "buffer":
            self.register_buffer("table", torch.zeros(1, 4), persistent=False)
        else:
            self.table = torch.zeros(1, 4) if kind == "attribute" else None

    def forward(self, x: Any) -> Any:
        if self.table is None or self.table.shape[0] != x.shape[1]:
            self.table = torch.arange(x.shape[1])[:, None].cos().repeat(1, 4)
        if x.shape not in self.memo:
            self.memo[x.shape] = torch.ones(x.shape[1], 4).tril()
        self.seen, self.given = self.inner(x), x
        return self.seen * self.table * self.memo[x.shape]


@pytest.mark.parametrize("kind", ["buffer", "attribute", "none"])
def test_tables_that_are_made_of_shapes_are_made_in_each_call(kind: str) -> None:
    model = Tables(kind)
    eager, x = copy.deepcopy(model), torch.randn(2, 3, 4)
    plan = plan_of(model, (x,))
    assert not plan.left and not plan.program.updates
    assert model.seen is None and not model.memo
    for _ in range(2):
        found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, eager(x))
    torch.testing.assert_close(model(x), eager(x))


class Grown(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept = torch.zeros(2, 0, 4)

    def forward(self, x: Any) -> Any:
        self.kept = torch.cat([self.kept, x], 1)
        return self.kept.sum(1)


class Followed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = None

    def forward(self, x: Any) -> Any:
        found = x if self.kept is None else x + self.kept
        self.kept = found * 2
        return found


@pytest.mark.parametrize("kind", [Grown, Followed])
def test_state_that_has_no_place_is_refused(kind: Any) -> None:
    """A second call would have given what the first one did."""
    model = kind()
    before = model.kept
    with pytest.raises(ArgusError, match=r"AG1041.*into `kept`"):
        plan_of(model, (torch.randn(2, 3, 4),))
    assert model.kept is before


class Named(torch.nn.Module):
    """What torch's graphs are called themselves, and a buffer that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.code = torch.nn.Embedding(5, 4)
        self.register_buffer("graph", torch.randn(3, 3), persistent=False)

    def forward(self, x: Any) -> Any:
        self.graph.mul_(2.0)
        return self.graph @ self.code(x) @ self.code.weight.t()


def test_parts_are_called_as_a_graph_of_torch_calls_its_own() -> None:
    """Torch did not find them: `code_weight references nonexistent attribute`."""
    torch.manual_seed(0)
    model = Named()
    eager = copy.deepcopy(model)
    x = torch.tensor([1, 2, 4])
    call = CompiledProgram(plan_of(model, (x,)), run=in_interpreter)
    assert set(call.plan.program.tensors) == {"code.weight", "graph"}
    for _ in range(2):
        with torch.no_grad():
            wanted = eager(x)
        torch.testing.assert_close(call(x), wanted, rtol=1e-5, atol=1e-5)
    assert torch.equal(model.graph, eager.graph)
