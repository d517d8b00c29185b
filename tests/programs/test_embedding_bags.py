"""Bags of embeddings, trained: results and gradients are those of torch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


@pytest.fixture(autouse=True)
def reports() -> Iterator[list[GraphReport]]:
    torch._dynamo.reset()
    found: list[GraphReport] = []
    yield found
    torch._dynamo.reset()


def trained(model: Any, given: tuple[Any, ...], call: Any) -> tuple[Any, ...]:
    """The result, the gradient of the rows and those of the factors of positions."""
    own = [
        x.clone().requires_grad_()
        if torch.is_tensor(x) and x.is_floating_point()
        else x
        for x in given
    ]
    result = call(*own)
    ((result * 2).sin() * torch.arange(result.numel()).view_as(result)).sum().backward()
    factors = [x.grad for x in own if torch.is_tensor(x) and x.requires_grad]
    return result, model.weight.grad, *factors


def same_step(model: Any, given: tuple[Any, ...], reports: list[GraphReport]) -> None:
    other = copy.deepcopy(model)
    options = {"interpret": True, "report": reports.append}
    call = torch.compile(other, backend=argus_backend, options=options)
    got, wanted = trained(other, given, call), trained(model, given, model)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "factors"])
def test_bags_of_one_size_are_kernels(
    mode: str, padding: int | None, reports: list[GraphReport]
) -> None:
    torch.manual_seed(0)
    factors = mode == "factors"
    kept: dict[str, Any] = {} if padding is None else {"padding_idx": padding}
    model = nn.EmbeddingBag(5, 3, mode="sum" if factors else mode, **kept)
    table = torch.tensor([[0, 2, 4, 2], [2, 2, 2, 2], [1, 1, 3, 2]])
    given = (table, None, torch.randn(3, 4)) if factors else (table,)
    same_step(model, given, reports)
    assert [r.role for r in reports] == ["forward", "backward"]
    assert not any(r.left or r.whole for r in reports)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_bags_of_different_sizes_are_kernels(
    mode: str, reports: list[GraphReport]
) -> None:
    """An empty one among them; one that ends with the last position."""
    torch.manual_seed(0)
    model = nn.EmbeddingBag(5, 3, mode=mode)
    same_step(
        model,
        (torch.tensor([0, 2, 4, 2, 1, 1, 0]), torch.tensor([0, 2, 2, 6])),
        reports,
    )
    assert ["bags" in r.left[0][1] for r in reports if r.left] == [True]
    assert reports[1].role == "backward" and reports[1].kernels


@pytest.mark.parametrize("how", ["sparse", "scale_grad_by_freq"])
def test_gradients_of_another_kind_stay_in_torch(
    how: str, reports: list[GraphReport]
) -> None:
    torch.manual_seed(0)
    model = nn.EmbeddingBag(5, 3, mode="sum", **{how: True})
    table = torch.tensor([[0, 2, 4, 2], [1, 1, 3, 2]])
    same_step(model, (table,), reports)
    assert reports[1].left or reports[1].whole
