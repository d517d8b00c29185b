"""What a model changes in place is copied where it was, behind the kernels."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.capturing.input_updates import without_updates  # noqa: E402
from few import rest  # noqa: E402
from programs.modules import random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself
X = random(6, 4)


class Statistics(nn.Module):
    """Running statistics, of two layers; a counter of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm1d(4), nn.BatchNorm1d(4))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Swapped(nn.Module):
    """Each buffer becomes what the other was, and a third one their sum."""

    one: Any
    other: Any
    total: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("one", random(4))
        self.register_buffer("other", random(4) + 3)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        kept = self.one.clone()
        self.one.copy_(self.other)
        self.other.copy_(kept)
        self.total.add_(self.one + self.other)
        return x * self.one + self.total


class Given(nn.Module):
    """An input is changed, and a part of it returned."""

    def forward(self, x: Any) -> Any:
        x.mul_(2)
        x[1:3] += 1
        return x[1:].sum(0), x


class Between(nn.Module):
    """A graph returns a buffer that it changes, for the one behind a break."""

    total: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4, 6).t())

    def forward(self, x: Any) -> Any:
        self.total += x
        torch._dynamo.graph_break()
        return x * self.total


@pytest.mark.parametrize(
    ("interpret", "trained"),
    [(True, True), (True, False), (False, True), *rest((False, False))],
)
@pytest.mark.parametrize("made", [Statistics, Swapped, Given, Between])
def test_what_changes_is_what_torch_leaves(
    made: Any, interpret: bool, trained: bool
) -> None:
    """Without the interpreter all of it stays in torch."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    models = [made()]
    models.append(copy.deepcopy(models[0]))
    reports: list[GraphReport] = []
    options = {"interpret": interpret, "report": reports.append}
    calls = [
        torch.compile(models[0], backend=argus_backend, options=options),
        models[1],
    ]
    with torch.set_grad_enabled(trained):
        for _ in range(3):
            given = [X.clone(), X.clone()]
            found, wanted = (call(x) for call, x in zip(calls, given, strict=True))
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(*given)
    torch.testing.assert_close(*(dict(m.state_dict()) for m in models))
    assert all(bool(r.whole) != interpret and not r.left for r in reports)


def test_one_launch_changes_what_is_of_one_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not one for each buffer, of the device and of the host."""
    torch._dynamo.reset()
    copied: list[int] = []
    plain = vars(torch)["_foreach_copy_"]

    def counted(changed: Any, values: Any) -> Any:
        copied.append(len(changed))
        return plain(changed, values)

    monkeypatch.setattr(torch, "_foreach_copy_", counted)
    model = Statistics()
    compiled: Any = torch.compile(
        model, backend=argus_backend, options={"interpret": True}
    )
    compiled(X).sum().backward()
    assert sorted(copied) == [2, 4]


def test_a_graph_that_changes_nothing_is_the_same() -> None:
    graph = torch.fx.symbolic_trace(nn.Linear(4, 4))
    assert without_updates(graph) == (graph, ())
