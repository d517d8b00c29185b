"""Whole numbers in programs: torch's types, and conversions that change no number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils import _pytree  # noqa: E402

import argus  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

X = random(6, 40)


def same(function: Callable[..., Any], *inputs: Any) -> ProgramPlan:
    """Its plan, which gives what the function does."""
    plan = plan_of(Formula(function), inputs)
    assert not plan.left
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    for one, wanted in zip(
        _pytree.tree_leaves(got),
        _pytree.tree_leaves(function(*inputs)),
        strict=True,
    ):
        assert one.dtype == wanted.dtype
        torch.testing.assert_close(one, wanted, rtol=1e-6, atol=0)
    return plan


def sums(a: Any) -> tuple[Any, ...]:
    return (
        a.sum(), a.sum(1), a.prod(1), a.cumsum(1), a.cumprod(1),
        a.sum(1, dtype=torch.int32), a.cumsum(1, dtype=torch.int32),
    )  # fmt: skip


def extremes(a: Any) -> tuple[Any, ...]:
    return *a.max(1), *a.cummax(1), *a.cummin(0), a.amin(), a.sort(1)[0]


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int64])
def test_products_wrap_and_their_factors_are_whole(kind: Any) -> None:
    """Products of matrices are torch's; of vectors they are sums."""

    def products(a: Any, b: Any) -> tuple[Any, ...]:
        return (
            torch.dot(b, b), a @ b, torch.addmv(b[:1], a, b, beta=0.6, alpha=1.7),
            torch.addmm(b[:1, None], a, a.T, beta=2.9, alpha=3.9),
        )  # fmt: skip

    model = Formula(products)
    inputs = tuple((40 * random(*n)).to(torch.int32).to(kind) for n in ((5, 7), (7,)))
    plan = plan_of(model, inputs)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    for one, wanted in zip(got, products(*inputs), strict=True):
        assert one.dtype == wanted.dtype and torch.equal(one, wanted)


def test_numbers_wrap_where_they_become_narrower() -> None:
    """As in torch, which is proved; of a sum in a kernel of its own."""

    def narrower(x: Any) -> tuple[Any, ...]:
        small = x.to(torch.int32)
        return (
            small, small.to(torch.int8), x.to(torch.uint8), x.sum(0).to(torch.int16),
        )  # fmt: skip

    x = torch.tensor([[2**31 + 5, -129, 255, -(2**40)], [70000, 127, 128, -1]])
    plan = same(narrower, x)
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


@pytest.mark.parametrize(
    "name", few(["int8", "uint8", "int16", "int32"], "int8", "int32")
)
def test_sums_do_not_overflow_and_extremes_keep_their_type(name: str) -> None:
    kind = getattr(torch, name)
    a = torch.full((3, 12), torch.iinfo(kind).max, dtype=kind)
    a[:, ::2] = torch.iinfo(kind).max // 2
    same(sums, a)
    same(extremes, a)


def test_bytes_with_and_without_sign_meet_in_a_wider_type() -> None:
    a, b = torch.arange(0, 250, 7).byte(), torch.arange(-120, 130, 7).char()
    same(lambda a, b: (a + b, a * b, a < b, torch.maximum(a, b), a & b, a - b), a, b)
    same(lambda a, b: (torch.where(a > b, a, b), a / b, b.short() * a), a, b)


@pytest.mark.parametrize("name", ["int64", "int32", "int8", "uint8"])
def test_floats_that_are_known_become_whole_numbers_as_others_do(name: str) -> None:
    """Torch leaves those open that no whole number of the type is."""
    kind = getattr(torch, name)
    floats = (math.nan, math.inf, -math.inf, 300.7, -1.5, 2.9)

    def both(x: Any) -> tuple[Any, ...]:
        known = torch.stack([torch.full((), f) for f in floats]).to(kind)
        each = [torch.full((2,), f).to(kind).long() + x[4:].long() for f in floats]
        return x.to(kind), known, torch.stack(each), x.to(kind).long()

    x = torch.tensor(floats)
    plan = plan_of(Formula(both), (x,))
    made, known, each, wide = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    assert torch.equal(made, known)
    assert torch.equal(each, (wide[:, None] + x[4:].long()).expand(6, 2))


def test_a_number_that_an_element_type_lacks_is_none_of_it() -> None:
    a = torch.arange(0, 250, 7).byte()
    same(lambda a: (a * 1000, a - 7, a + 300, a.char() * 200), a)


POSITIONS = {
    "one of 32 bits": lambda x: (torch.arange(40, dtype=torch.int32) > 3) * x,
    "a triangle of 16 bits": lambda x: x * (
        torch.arange(6, dtype=torch.int16)[:, None]
        >= torch.arange(40, dtype=torch.int16)
    ),
    "an identity": lambda x: torch.eye(40)[:6] * x,
    "arithmetic": lambda x: (torch.arange(40, dtype=torch.int16) * 3 - 1) * x,
    "a length": lambda x: x * (
        torch.arange(40, dtype=torch.int32)
        < torch.tensor([[3, 9, 2, 40, 1, 0]], dtype=torch.int32).t()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_in_few_bits_are_proved(name: str) -> None:
    for step in same(POSITIONS[name], X).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_positions_that_do_not_fit_wrap() -> None:
    def wrapped(x: Any) -> Any:
        return (torch.arange(300).to(torch.int8) > 3) * x

    same(wrapped, torch.ones(300))


SCANS = {
    "of what is true": lambda x: (x > 0).cumsum(1),
    "of what is not padding": lambda x: (x != 0).int().cumsum(1).float(),
    "largest": lambda x: x.cummax(1),
    "least, of columns": lambda x: x.abs().cummin(0),
    "largest whole numbers": lambda x: (x * 3).long().cummax(1),
    "of one element": lambda x: (x[:, :1].cumsum(1), x[:1].cumprod(0) * 2),
}


@pytest.mark.filterwarnings("ignore::argus.diagnostics.errors.ArgusWarning")
@pytest.mark.parametrize(
    "name",
    few(SCANS, "of what is true", "largest", "least, of columns", "of one element"),
)
def test_scans_are_refused_by_no_proof(name: str) -> None:
    found = argus.compile(Formula(SCANS[name]), (X,))
    assert not found.plan.left
    wanted = SCANS[name](X)
    torch.testing.assert_close(found(X), wanted)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int64])
def test_arithmetic_that_wraps_is_proved(kind: Any) -> None:
    """The reference says where few bits wrap; 64 bits wrap in it, too."""
    torch.manual_seed(0)
    a, b = (torch.randint(-100, 100, (6, 40)).to(kind) for _ in range(2))
    few = kind != torch.int64

    def call(a: Any, b: Any) -> tuple[Any, ...]:
        decides = ((a + b) > a, (a * 3) >> 1) if few else ()
        return a + b, a * b, -a, a << 2, abs(a - b), *decides

    for step in same(call, a, b).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def of_one_type(a: Any, b: Any) -> tuple[Any, ...]:
    number = torch.tensor(300)
    return (
        a > 300, a == -1, a < -5, a >= 256, a.ne(2.5), a.remainder(-4), a.fmod(300),
        200 // b, 300 % b, a & 511, a | 300, a ^ 777, a > number, a % number,
        torch.maximum(a, number), a * number, a * 300 - 1000,
        torch.div(a, 300, rounding_mode="trunc"),
        torch.div(300, b, rounding_mode="floor"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16])
def test_numbers_become_elements_of_their_tensor_first(kind: Any) -> None:
    least = torch.iinfo(kind).min
    a = torch.arange(least, least + 256).reshape(4, 64).to(kind)
    same(of_one_type, a, torch.arange(1, 65).to(kind))


def test_what_a_reduction_scales_is_cut_in_its_kernel() -> None:
    """What is left of such numbers is known; of whole numbers that are added up not."""

    def quantized(x: Any) -> Any:
        scale = x.abs().amax(1, keepdim=True) / 100
        return (x / scale).round().to(torch.int8)

    (step,) = same(quantized, X).kernels
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    (clamped,) = same(lambda x: (x * 300).clamp(-128, 127).to(torch.int8), X).kernels
    assert "%" not in clamped.source.text
    assert len(same(lambda a: a.sum(1) % 7, (X * 10).long()).kernels) == 2
