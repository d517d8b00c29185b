"""Complex numbers: kernels compute with their parts, torch has what is left of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.program_data import (  # noqa: E402
    KernelFiles,
    plan_of_data,
)
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402


def pairs(*shape: int) -> Any:
    return torch.view_as_complex(random(*shape, 2))


A, B, ROW, REAL = pairs(3, 4), pairs(4, 5), pairs(4), random(4)
GONE = torch.zeros(3, 4, dtype=torch.complex64)


def changed(a: Any, b: Any) -> Any:
    a = a.clone()
    a[1:] = b
    a[:, 0] += 1
    return a.mul_(2j)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (
        lambda a, b: (
            a + b, a - 2 * b, a * b, a / b, 1 / a, a * 2j, torch.add(a, b, alpha=2),
            a.conj() * b, a**3, a**0.3, a == b, a != a,
        ),
        (A, ROW),
    ),
    "real numbers beside": (
        lambda a, x: (a + x, x - a, a * x, a / x, x / a, torch.complex(x, x) * a),
        (A, REAL),
    ),
    "functions": (
        lambda a: (
            a.exp(), a.abs(), a.angle(), a.sgn(), a.log(), a.sqrt(), a.real, a.imag,
            torch.polar(a.abs(), a.angle()), a.norm(), a.isnan(), a.isfinite(),
        ),
        (A,),
    ),
    "zeros": (lambda a: (a.abs(), a.sgn(), a.sqrt(), a.exp()), (GONE,)),
    "moved": (
        lambda a: (
            a.T * 1, a[1:, None] * 2, torch.cat([a, a * 2]), a.flip(0), a[:, [1, 0]],
            a.sum(), a.mean(0), a.cumsum(1), a.chunk(2, 1)[1] * 1, a.new_zeros(2),
            nn.functional.pad(a, (1, 1)), torch.where(a.real > 0, a, 0j),
        ),
        (A,),
    ),
    "products": (
        lambda a, b, c: (
            a @ b, a @ c, torch.addmm(a @ b, a, b, beta=0.5, alpha=2),
            torch.einsum("ij,kj->ki", a, a),
        ),
        (A, B, random(4, 2).to(torch.complex64)),
    ),
    "changed in place": (changed, (A, pairs(2, 4))),
    "as floats": (
        lambda a: torch.view_as_real(a * 2) + torch.view_as_real(a),
        (A,),
    ),
    "of 64 bits": (lambda a, b: (a * b, a.abs()), (A.to(torch.complex128), ROW)),
    "in other orders": (
        lambda a, b, c: (a * 2, b * 2, c * 2, a), (A.T, B[:, ::2], ROW.conj()),
    ),
    "repeated": (
        lambda a: (a[:, None].expand(3, 2, 4), (a * 2)[:1].expand(3, 4), a[1:].T),
        (A,),
    ),
    "no elements": (lambda a, b: (a * 2, torch.cat([a, b])), (A[:0], A)),
}  # fmt: skip


def same(found: Any, wanted: Any) -> None:
    for got, one in zip(
        _pytree.tree_leaves(found), _pytree.tree_leaves(wanted), strict=True
    ):
        assert got.dtype == one.dtype and got.stride() == one.stride()
        torch.testing.assert_close(got, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_compute_with_parts(name: str) -> None:
    """Nothing stays in torch, of a plan that was written, too."""
    function, inputs = FUNCTIONS[name]
    model = Formula(function)
    plan = plan_of(model, inputs)
    assert not plan.left
    files = KernelFiles()
    data = json.loads(json.dumps(files.plan_data(plan)))
    for each in (plan, plan_of_data(data, files.texts, "cpu")):
        found = run_plan(each, inputs, plan.program.tensors, in_interpreter)
        same(found, function(*inputs))


def rotated(x: Any, turns: Any) -> Any:
    """Positions as rotations of pairs, as many models write them."""
    seen = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(seen * turns[:, None]).flatten(-2).type_as(x)


def test_rotations_are_one_kernel_that_is_proved() -> None:
    x, turns = random(2, 5, 3, 8).to(torch.bfloat16), pairs(5, 4)
    plan = plan_of(Formula(rotated), (x, turns))
    (kernel,) = plan.kernels
    assert not plan.left and proof_of(kernel).verdict is Verdict.EQUAL
    found = run_plan(plan, (x, turns), plan.program.tensors, in_interpreter)
    same(found, rotated(x, turns))


class Filter(nn.Module):
    """Fourier transforms, which stay in torch, around a complex weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(pairs(4, 4))
        self.register_buffer("turns", pairs(5, 4), persistent=False)

    def forward(self, x: Any) -> Any:
        seen = torch.fft.rfft(x)[..., :4] @ self.weight
        return torch.fft.irfft(seen * self.turns, n=6), seen.abs()


@pytest.mark.parametrize(
    ("name", "made", "shape"),
    [("filter", Filter, (5, 6)), ("rotation", lambda: rotated, (2, 5, 3, 8))],
)
def test_gradients_are_those_of_torch(
    name: str, made: Callable[[], Any], shape: tuple[int, ...]
) -> None:
    torch._dynamo.reset()
    reports: list[GraphReport] = []
    model, given = made(), (random(*shape), *([pairs(5, 4)] * (name == "rotation")))
    options = {"interpret": True, "report": reports.append}
    call = torch.compile(model, backend=argus_backend, options=options)
    found: list[Any] = []
    for each in (model, call):
        own = [t.clone().requires_grad_() for t in given]
        results = each(*own)
        sum((r.abs() * 0.5).sum() for r in _pytree.tree_leaves(results)).backward()
        found.append((results, [t.grad for t in own]))
        if isinstance(model, nn.Module):
            found[-1][1].append(model.weight.grad.clone())
            model.zero_grad()
    same(found[1], found[0])
    left = {what for r in reports for what, _ in r.left}
    assert all("fft" in what for what in left) and not any(r.whole for r in reports)


def test_functions_without_a_rule_stay_in_torch() -> None:
    model = Formula(lambda a: (a * 2).tanh() * a)
    plan = plan_of(model, (A,))
    assert [s.what for s in plan.left] == ["aten.tanh.default"]
    same(run_plan(plan, (A,), plan.program.tensors, in_interpreter), model(A))
