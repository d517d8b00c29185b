"""Steps of optimizers are kernels: operators of lists are those of their tensors."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

STEPS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "foreach": True},
    "AdamW": {"lr": 0.01, "amsgrad": True, "foreach": True},
    "Adam": {"lr": 0.01, "foreach": False},
    "RMSprop": {"lr": 0.01, "centered": True, "foreach": True},
}


def parameters() -> list[Any]:
    drawn = torch.Generator().manual_seed(0)
    found = [torch.randn(*s, generator=drawn) for s in ((3, 5), (4,))]
    for x in found:
        x.requires_grad_()
        x.grad = torch.randn(x.shape, generator=drawn)
    return found


def compiled(call: Any, reports: list[GraphReport]) -> Any:
    torch._dynamo.reset()
    chosen = {"interpret": True, "report": reports.append}
    return torch.compile(call, backend=argus_backend, options=chosen)


@pytest.mark.parametrize("name", list(STEPS))
def test_two_steps_of_an_optimizer_are_those_of_torch(name: str) -> None:
    mine, wanted = parameters(), parameters()
    reports: list[GraphReport] = []
    optimizers = [getattr(torch.optim, name)(x, **STEPS[name]) for x in (mine, wanted)]
    step = compiled(optimizers[0].step, reports)
    for _ in range(2):
        step()
        optimizers[1].step()
    for got, right in zip(mine, wanted, strict=True):
        torch.testing.assert_close(got.detach(), right.detach(), rtol=1e-5, atol=1e-6)
    assert reports and not any(r.left or r.whole for r in reports)


def test_operators_of_lists_are_those_of_their_tensors() -> None:
    def several(x: list[Any]) -> Any:
        t: Any = vars(torch)
        return (
            t["_foreach_norm"](x),
            t["_foreach_lerp"](x, x[::-1], 0.3),
            t["_foreach_clamp_min"](x, [0.0, 1.0]),
            t["_foreach_maximum"](x, 0.5),
            t["_foreach_minimum"](x, x[::-1]),
            t["_foreach_pow"](2.0, x),
            t["_foreach_addcdiv"](x, x, x[::-1], [1.0, -2.0]),
            t["_foreach_add"](x, x[::-1], alpha=2),
        )

    given = [torch.linspace(-2.0, 3.0, 6) + i for i in (0.25, 0.5)]
    reports: list[GraphReport] = []
    found = compiled(several, reports)(given)
    torch.testing.assert_close(found, several(given))
    assert not any(r.left or r.whole for r in reports)
