"""Texts that are generated: each step finds the kernels of the step before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs import backend  # noqa: E402
from argus.programs.backend import argus_backend  # noqa: E402
from argus.programs.planning.plan import ProgramPlan  # noqa: E402
from programs.modules import random  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ProgramPlan]]:
    torch._dynamo.reset()
    found: list[ProgramPlan] = []
    made = backend.kept_plan

    def noted(program: Any) -> ProgramPlan:
        found.append(made(program))
        return found[-1]

    monkeypatch.setattr(backend, "kept_plan", noted)
    yield found
    torch._dynamo.reset()


def texts(plan: ProgramPlan) -> list[str]:
    return [step.source.text for step in plan.kernels]


class Layer(nn.Module):
    """Attention of one token to all before, of which keys and values are given."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Linear(16, 48)
        self.last = nn.Linear(16, 16)

    def forward(self, x: Any, keys: Any, values: Any, before: int) -> Any:
        q, k, v = self.parts(x).reshape(2, -1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        place = torch.arange(x.shape[1]) + before
        turn = torch.cos(place[:, None] * torch.tensor([1.0, 0.1]).repeat(4))
        keys = torch.cat([keys, k * turn], 2)
        values = torch.cat([values, v], 2)
        y = functional.scaled_dot_product_attention(q * turn, keys, values)
        return self.last(y.transpose(1, 2).flatten(2)), keys, values


def test_steps_with_longer_caches_share_all_kernels(plans: list[ProgramPlan]) -> None:
    torch.manual_seed(0)
    layer = Layer()
    call = torch.compile(layer, backend=argus_backend, options={"interpret": True})
    keys = values = random(2, 2, 20, 8)
    cache = (keys, values)
    with torch.no_grad():
        for before in (20, 21, 22):
            x = random(2, 1, 16)
            wanted, *cache = layer(x, *cache, before)
            got, keys, values = call(x, keys, values, before)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close([keys, values], cache, rtol=1e-4, atol=1e-5)
    assert len(plans) == 3
    assert texts(plans[1]) == texts(plans[2])


def test_what_is_written_at_a_number_is_stored_in_parts(
    plans: list[ProgramPlan],
) -> None:
    def write(cache: Any, x: Any, at: int) -> Any:
        cache[:, at : at + 2] = x * 2
        return cache[:, :at].sum(1)

    call = torch.compile(write, backend=argus_backend, options={"interpret": True})
    mine, wanted = torch.zeros(2, 64, 4), torch.zeros(2, 64, 4)
    for at in (20, 22, 24, 62):
        x = random(2, 2, 4)
        torch.testing.assert_close(call(mine, x, at), write(wanted, x, at))
        assert torch.equal(mine, wanted)
    assert texts(plans[1]) == texts(plans[2])
    assert len(texts(plans[3])) <= len(texts(plans[2]))  # no part is behind the last


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_positions_are_moved_by_what_is_open(
    plans: list[ProgramPlan], kind: Any
) -> None:
    def places(x: Any, at: int) -> Any:
        table = torch.arange(4, dtype=kind)
        one = torch.arange(at, at + 1, dtype=kind)
        return x + one, table - at, table[:1] - at, torch.arange(at, at + 6, 2) * x[0]

    call = torch.compile(places, backend=argus_backend, options={"interpret": True})
    for at in (3, 5, 8):
        torch.testing.assert_close(call(random(3), at), places(random(3), at))
    assert texts(plans[1]) == texts(plans[2])


def test_positions_of_several_tokens_are_known(plans: list[ProgramPlan]) -> None:
    def mask(q: Any, keys: Any, before: int) -> Any:
        at = torch.arange(q.shape[-2]) + before
        seen = at[:, None] >= torch.arange(keys.shape[-2])
        return functional.scaled_dot_product_attention(q, keys, keys, attn_mask=seen)

    call = torch.compile(mask, backend=argus_backend, options={"interpret": True})
    for before in (2, 4, 6):
        q, keys = random(1, 1, 4, 8), random(1, 1, 4 + before, 8)
        torch.testing.assert_close(call(q, keys, before), mask(q, keys, before))
    assert all(not p.program.tensors for p in plans)


@pytest.mark.parametrize("strict", [False, True])
def test_sizes_that_come_once_behind_many_are_computed_by_torch(
    plans: list[ProgramPlan], strict: bool
) -> None:
    """And those that come again are planned then; with ``strict`` all are, at once."""

    def function(x: Any) -> Any:
        return (x * 2).sum(0)

    reports: list[backend.GraphReport] = []
    options = {"interpret": True, "report": reports.append, "strict": strict}
    call = torch.compile(function, backend=argus_backend, dynamic=True, options=options)

    def count(*sizes: int) -> int:
        before = len(plans)
        for n in sizes:
            x = random(n, 3)
            torch.testing.assert_close(call(x), function(x))
        return len(plans) - before

    assert count(*range(2, 10)) == 8
    assert count(10, 11, 12) == (3 if strict else 0)
    assert count(11, 10, 11, 3) == (0 if strict else 2)
    assert [bool(r.whole) for r in reports].count(True) == (not strict)
