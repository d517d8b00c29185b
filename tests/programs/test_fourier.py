"""Fourier transforms are products with tables of roots of unity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.backend import GraphReport  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
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


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "complex": (fft.fft, (_complex(3, 8),)),
    "back": (lambda x: fft.ifft(x, dim=1, norm="forward"), (_complex(3, 12, 2),)),
    "two axes": (lambda x: fft.fft2(x, norm="ortho"), (_complex(3, 6, 8),)),
    "of real numbers": (
        lambda x: (fft.rfft(x), fft.rfft(x, dim=0), fft.fft(x)),
        (random(7, 8),),
    ),
    "to real numbers": (
        lambda x: (fft.irfft(x, n=8), fft.irfft(x, n=9), fft.irfft(x, n=6)),
        (_complex(3, 5),),
    ),
    "two factors": (
        lambda x: (fft.rfft(x), fft.irfft(fft.rfft(x) * 2, n=96)),
        (random(3, 96),),
    ),
    "two odd factors": (
        lambda x: fft.irfft(fft.rfft(x), n=75),
        (random(2, 75),),
    ),
    "a prime": (fft.fft, (_complex(2, 67),)),
    "three axes": (
        lambda x: (fft.rfftn(x), fft.irfftn(fft.rfftn(x), s=x.shape)),
        (random(4, 6, 5),),
    ),
    "angles": (lambda x: fft.rfft(x).angle(), (random(3, 10),)),
    "conjugate": (lambda x: (fft.hfft(x), fft.ihfft(x.real) * 2), (_complex(3, 6),)),
    "a spectral layer": (_spectral, (random(2, 3, 8, 8), _complex(3, 4, 3, 3))),
    "a long convolution": (_convolved, (random(2, 3, 16), random(3, 16))),
}
PROVED = ("complex", "to real numbers", "two odd factors", "a spectral layer")


@pytest.mark.parametrize("name", CASES)
def test_transforms_are_those_of_torch(name: str) -> None:
    function, inputs = CASES[name]
    plan = plan_of(Formula(function), inputs)
    assert plan.whole, plan.left
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(*inputs), rtol=1e-5, atol=2e-6)
    for step in plan.kernels if name in PROVED else ():
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    "x", [_complex(2, 521), _complex(2, 8).to(torch.complex128), random(2, 4099)]
)
def test_what_stays_in_torch(x: Any) -> None:
    """Long primes, lengths of a long factor, and what has more bits."""
    plan = plan_of(Formula(fft.fft), (x,))
    assert not plan.whole
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, fft.fft(x))


def test_they_are_not_multiplied_in_tf32() -> None:
    flags = torch.backends.cuda.matmul
    before = flags.allow_tf32
    flags.allow_tf32 = True
    try:
        assert not plan_of(Formula(fft.fft), (_complex(3, 8),)).whole
    finally:
        flags.allow_tf32 = before


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
    assert not [r.left or r.whole for r in reports if r.left or r.whole]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-5, atol=1e-5)
