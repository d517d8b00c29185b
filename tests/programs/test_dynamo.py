"""What dynamo's own tests ask of every backend, asked of that of Argus.

They are those of `test/dynamo/test_backends.py` of PyTorch that name a backend: it is
found by its name, asked by other backends, explained, compiled anew for other options,
and gives results with the shapes, strides and types of eager torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch._dynamo.backends.debugging import ExplainWithBackend  # noqa: E402

from argus.programs.backend import argus_backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

INTERPRET = {"interpret": True}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10), nn.Sigmoid())


def convolved() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4, eps=0.001), nn.ReLU()
    )


def test_it_is_found_by_its_name() -> None:
    for tags in ({}, {"exclude_tags": None}, {"exclude_tags": []}):
        assert "argus" in torch._dynamo.list_backends(**tags)
    assert torch._dynamo.lookup_backend("argus") is argus_backend


@pytest.mark.parametrize("options", [None, INTERPRET], ids=["torch", "kernels"])
@pytest.mark.parametrize(
    ("make", "shape"), [(perceptron, (2, 10)), (convolved, (2, 3, 6, 6))]
)
def test_models(
    make: Callable[[], Any], shape: tuple[int, ...], options: dict[str, bool] | None
) -> None:
    model, x = make().eval(), torch.randn(*shape)
    got = torch.compile(model, backend="argus", options=options)(x)
    torch.testing.assert_close(got, model(x), check_stride=True)


@pytest.mark.parametrize("options", [{}, INTERPRET], ids=["torch", "kernels"])
def test_numbers_and_nested_arguments(options: dict[str, bool]) -> None:
    def function(a: Any, both: tuple[Any, Any], d: int) -> Any:
        b, c = both
        return a / d - b / c

    a, b, c = (torch.full((2,), float(n)) for n in (1, 2, 3))
    call = torch.compile(function, backend="argus", options=options, fullgraph=True)
    got = call(a, (b, c), 4)
    torch.testing.assert_close(got, function(a, (b, c), 4), check_stride=True)


@pytest.mark.parametrize("options", [{}, INTERPRET], ids=["torch", "kernels"])
def test_an_operand_of_more_bits_is_added_in_place(options: dict[str, bool]) -> None:
    def function(a: Any, b: Any) -> Any:
        x = torch.cos(a)
        x += b
        return torch.sin(x)

    a, b = torch.randn(10), torch.randn(10).to(torch.float64)
    got = torch.compile(function, backend="argus", options=options)(a, b)
    torch.testing.assert_close(got, function(a, b))


def test_graphs_and_breaks_are_explained() -> None:
    def middle(x: Any) -> Any:
        x = torch.sin(x)
        torch._dynamo.graph_break()
        return torch.sin(x)

    def outer(x: Any) -> Any:
        return torch.cos(middle(torch.cos(x)))

    explained = ExplainWithBackend("argus")
    x = torch.randn(5)
    got = torch.compile(outer, backend=explained)(x)
    torch.testing.assert_close(got, outer(x))
    found = explained.output()
    assert (found.graph_count, found.graph_break_count, found.op_count) == (4, 3, 4)
    assert "Break Reasons" in str(found)


def test_another_backend_asks_it() -> None:
    asked: list[Any] = []

    def other(graph: Any, inputs: list[Any]) -> Any:
        asked.append(torch._dynamo.lookup_backend("argus")(graph, inputs))
        return asked[-1]

    x = torch.randn(3, 3)
    got = torch.compile(torch.relu, backend=other)(x)
    torch.testing.assert_close(got, torch.relu(x))
    assert asked


def test_other_options_are_another_compilation() -> None:
    def function(x: Any) -> Any:
        return x + x

    x = torch.tensor(2.0)
    got = torch.compile(function, backend="argus", options=INTERPRET)(x)
    torch.testing.assert_close(got, function(x))
    again = torch.compile(function, backend="argus", options={"no such option": 1})
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="AG1046"):
        again(x)


def test_parameters_that_may_be_frozen() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Parameter(torch.randn(2, 3))
            self.other = nn.Parameter(torch.randn(2, 3))

        @torch._dynamo.config.patch("prepare_freezing", True)
        def forward(self, x: Any) -> Any:
            return (self.one + x) / self.other

    model, x = Model(), torch.randn(2, 3)
    got = torch.compile(model, backend="argus", options=INTERPRET)(x)
    torch.testing.assert_close(got, model(x))
