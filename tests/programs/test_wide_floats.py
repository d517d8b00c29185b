"""Models of f64 are kernels of f64: their results have the bits of torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from few import few  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


def wide(*shape: int) -> Any:
    made = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=made, dtype=torch.float64)


F = functional
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "functions": (
        lambda x: torch.erf(x).exp() + torch.tanh(x / 3) * torch.sin(x) ** 3,
        (wide(5, 7),),
    ),
    "gelu": (lambda x: F.gelu(x) + F.silu(x) * F.sigmoid(x), (wide(6, 50),)),
    "more functions": (
        lambda x: (
            torch.asinh(x)
            + torch.atan2(x, x + 2)
            + torch.log1p(x * x)
            + torch.cosh(x)
            + (x * x + 1) ** 0.3
            + torch.rsqrt(x * x + 1e-7)
        ),
        (wide(4, 33),),
    ),
    "softmax": (lambda x: F.softmax(x * 30, -1), (wide(4, 60),)),
    "softmax of long rows": (lambda x: F.softmax(x * 30, -1), (wide(2, 9000),)),
    "log softmax": (lambda x: F.log_softmax(x, 1), (wide(4, 60),)),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (96,), w, b, 1e-7),
        (wide(4, 96), wide(96), wide(96)),
    ),
    "layer norm of long rows": (lambda x: F.layer_norm(x, (9000,)), (wide(2, 9000),)),
    "norms": (
        lambda x: (F.rms_norm(x / 1e4, (40,)), x.norm(dim=1), F.normalize(x)),
        (wide(12, 40),),
    ),
    "a norm of f32 in f64": (
        lambda x: torch.linalg.vector_norm(x.float(), 2, 1, dtype=torch.float64),
        (wide(12, 40),),
    ),
    "variance": (lambda x: (x.var(1), x.std(0), x.mean()), (wide(12, 40),)),
    "sums and products": (
        lambda x: (x.sum(), x.prod(1), x.cumsum(1), x.amax(0), x.argmin(1)),
        (wide(6, 20),),
    ),
    "beside f32": (lambda x, y: x * y.float() + y, (wide(6, 20), wide(6, 20))),
    "casts": (
        lambda x: (x.float(), x.long(), (x > 0).double(), x.half(), x.to(torch.int8)),
        (wide(6, 20) * 20,),
    ),
    "whole numbers": (
        lambda n: n.double() / 3 + 0.1,
        (torch.arange(2**53 - 40, 2**53),),
    ),
    "pools": (
        lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1)),
        (wide(2, 3, 8, 9),),
    ),
    "one element": (lambda x, s: x * s + s.sqrt(), (wide(8), wide(1).abs())),
    "distances": (
        lambda x, y: (
            *(torch.cdist(x, y, p) for p in (3.0, 2.0, 1.0, torch.inf)),
            F.softshrink(x),
            torch.sgn(x),
            x.norm(p=3),
            x.norm(0.5, 1),
            x.norm(0),
        ),
        (wide(4, 6), wide(5, 6) * 2),
    ),
    "a mean of whole numbers": (
        lambda n: n.mean(dtype=torch.float64),
        (torch.arange(2**50, 2**50 + 5),),
    ),
    "a table": (
        lambda t, i: F.embedding(i, t.detach()) * 2 + t[:5],
        (wide(9, 16), torch.arange(5)),
    ),
}


@pytest.mark.parametrize("name", few(CASES, *CASES.keys() - {"gelu", "log softmax"}))
def test_results_and_gradients_are_those_of_torch(name: str) -> None:
    function, inputs = CASES[name]
    torch._dynamo.reset()
    reports: list[GraphReport] = []
    options = {"interpret": True, "report": reports.append}
    given = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    found = torch.compile(function, backend=argus_backend, options=options)(*given)
    wanted = function(*given)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-13)
    first = [y[0] if isinstance(y, tuple) else y for y in (found, wanted)]
    given = [x for x in given if x.requires_grad]
    if first[0].requires_grad:
        back = torch.randn(first[0].shape, dtype=torch.float64).to(first[0].dtype)
        gradients = [
            torch.autograd.grad(y, given, back, allow_unused=True) for y in first
        ]
        torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-12)
    assert reports
    assert not any(r.whole or r.left for r in reports), reports
