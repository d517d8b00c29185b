"""Modules that differentiate within `forward`, or go through `.data`, are programs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


class Forces(nn.Module):
    """An energy of positions, and its gradient; counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.register_buffer("calls", torch.zeros(()))
        self.first = self.energy[0].weight  # has two names

    def forward(self, x: Any) -> Any:
        self.calls += 1
        with torch.enable_grad():
            at = x.detach().requires_grad_()
            energy = self.energy(at).sum()
            (slope,) = torch.autograd.grad(energy, at)
        return {"energy": energy.detach(), "none": None, "forces": [-slope, 3]}


class Averaged(nn.Module):
    """Writes through `.data`, and puts something there."""

    mean: Any
    scale: Any

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.ones(4))
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        self.mean.data = self.mean.data * 0.9 + y.data.mean(0) * 0.1
        self.scale.data.mul_(0.9).add_(y.detach().abs().amax(0), alpha=0.1)
        return (y - self.mean) / self.scale


def derivatives(x: Any) -> Any:
    def cube(t: Any) -> Any:
        return (t**3).sum() * t.prod()

    row = x[0]
    return (
        torch.func.hessian(cube)(row),
        torch.func.grad(cube)(row),
        torch.func.jvp(torch.sin, (row,), (row,))[1],
        torch.vmap(lambda r: r @ r.flip(0))(x),
    )


def forward_derivatives(x: Any) -> Any:
    """Torch's export fails between what enters this transform and what leaves it."""

    def bent(t: Any) -> Any:
        return (t * t.sin()).sum(0)

    return torch.func.jvp(bent, (x,), (x * 2,))


def test_a_graph_that_fails_leaves_no_transform_open() -> None:
    """All tensors that are made later would belong to it."""

    def decided(x: Any) -> Any:
        return torch.func.jvp(lambda t: t if t.sum() > 0 else -t, (x,), (x * 2,))

    with pytest.raises(ArgusError):
        plan_of(Formula(decided), (torch.ones(3),))
    copy.deepcopy(torch.ones(3))
    torch.func.jvp(torch.sin, (torch.ones(3),), (torch.ones(3),))


@pytest.mark.parametrize(
    "made",
    [
        Forces,
        Averaged,
        *(lambda f=f: Formula(f) for f in (derivatives, forward_derivatives)),
    ],
)
def test_they_give_what_torch_gives(made: Any) -> None:
    torch.manual_seed(0)
    model = made()
    eager = copy.deepcopy(model)
    x = random(5, 4)[:, : 3 if made is Forces else 4].contiguous()
    plan = plan_of(model, (x,))
    assert not plan.left
    for scale in (1.0, 2.0):
        given = x * scale
        found = run_plan(plan, (given,), plan.program.tensors, in_interpreter)
        with torch.no_grad():
            wanted = eager(given)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        names = dict(eager.named_buffers())
        torch.testing.assert_close(dict(model.named_buffers()), names)


def test_data_that_becomes_another_tensor_is_refused() -> None:
    def turned(x: Any) -> Any:
        y = x + 1
        y.data = y.data[:2]
        return y

    with pytest.raises(ArgusError, match="becomes another tensor"):
        plan_of(Formula(turned), (random(3, 4),))
