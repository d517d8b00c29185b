"""Fourier transforms stay in torch, between kernels of complex numbers that lie so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.backend import GraphReport  # noqa: E402
from argus.programs.planning.plan import TorchStep, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.tensor_program import CallOperand  # noqa: E402
from argus.programs.tensors.views import LinearView  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

fft = torch.fft


def _complex(*shape: int) -> Any:
    return torch.view_as_complex(random(*shape, 2))


def _spectral(x: Any, weight: Any) -> Any:
    """A layer of a Fourier neural operator: the lowest frequencies are multiplied."""
    found = fft.rfft2(x)
    kept = torch.einsum("bixy,ioxy->boxy", found[:, :, :3, :3], weight)
    made = torch.zeros(2, 4, 8, 5, dtype=torch.cfloat)
    made[:, :, :3, :3] = kept
    return fft.irfft2(made, s=(8, 8))


def _convolved(x: Any, filter_: Any) -> Any:
    """A long convolution."""
    both = fft.rfft(x, n=32) * fft.rfft(filter_, n=32)
    return fft.irfft(both, n=32)[..., :16]


def _filtered(x: Any, weight: Any) -> Any:
    """A filter of frequencies along the first dimension of two."""
    return fft.irfft(fft.rfft(x, dim=1, norm="ortho") * weight, n=16, dim=1)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mixing": (lambda x: fft.fft(fft.fft(x), dim=1).real + x, (random(2, 6, 8),)),
    "magnitudes": (lambda x: fft.rfft(x).abs(), (random(3, 10),)),
    "f64": (lambda x: fft.fft(x).angle(), (random(3, 10).double(),)),
    "a spectral layer": (_spectral, (random(2, 3, 8, 8), _complex(3, 4, 3, 3))),
    "a long convolution": (_convolved, (random(2, 3, 16), random(3, 16))),
    "a filter": (_filtered, (random(2, 16, 32), _complex(9, 32))),
}
PROVED = ("a long convolution", "a filter")


@pytest.mark.parametrize("name", CASES)
def test_what_is_between_transforms_is_kernels(name: str) -> None:
    function, inputs = CASES[name]
    plan = plan_of(Formula(function), inputs)
    assert {(s.what.split("_")[1], s.why[:5]) for s in plan.left} == {("fft", "cuFFT")}
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(*inputs), rtol=1e-5, atol=2e-6)
    for step in plan.kernels if name in PROVED else ():
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_what_they_read_lies_as_torch_says() -> None:
    """Pairs side by side, in the order of what is transformed: nothing is copied."""
    function, inputs = CASES["a filter"]
    plan = plan_of(Formula(function), inputs)
    (back,) = (s for s in plan.steps if isinstance(s, TorchStep) and "c2r" in s.what)
    assert back.call is not None
    (operand,) = back.call.operands
    (given,) = (a for a in back.call.arguments if isinstance(a, CallOperand))
    (view,) = operand.views
    assert operand.value.shape == (2, 32, 9, 2) and isinstance(view, LinearView)
    assert given.pairs and given.strides == (9 * 32, 1, 9)


def test_gradients() -> None:
    x, filter_ = random(2, 3, 16), random(3, 16)
    wanted = [t.clone().requires_grad_() for t in (x, filter_)]
    found = [t.clone().requires_grad_() for t in (x, filter_)]
    weights = random(2, 3, 16).cos()
    (_convolved(*wanted) * weights).sum().backward()
    reports: list[GraphReport] = []
    options: dict[str, Any] = {"report": reports.append, "interpret": True}
    call = torch.compile(Formula(_convolved), backend="argus", options=options)
    (call(*found) * weights).sum().backward()
    assert {r.role for r in reports} == {"forward", "backward"}
    assert all("_fft_" in what for r in reports for what, _ in r.left)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-5, atol=1e-5)
