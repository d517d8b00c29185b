"""Products of matrices become kernels for tensor cores, in torch's precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.ir.dtypes import DType, bf16, f32  # noqa: E402
from argus.programs.planning import grouping  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.products.product_tiles import parts_of_sum  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula  # noqa: E402


@pytest.fixture(autouse=True)
def precise() -> Iterator[None]:
    """The flag is the process's; others see it as it was."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    made = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=made).to(dtype)


def half(*shape: int) -> Any:
    return random(*shape, dtype=torch.bfloat16)


def planned(function: Callable[..., Any], inputs: tuple[Any, ...]) -> ProgramPlan:
    return plan_of(Formula(function), inputs)


def forms(plan: ProgramPlan) -> list[ProductForm]:
    return [s.group.form for s in plan.kernels if isinstance(s.group.form, ProductForm)]


def result(plan: ProgramPlan, inputs: tuple[Any, ...]) -> Any:
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    return made[0] if isinstance(made, tuple | list) else made


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "epilogue": (
        lambda a, b, c, s: (functional.gelu(a @ b) * s + c).float(),
        (half(40, 24), half(24, 48), half(40, 48), half(40, 1)),
        1,
    ),
    "both transposed": (lambda a, b: a.T @ b.T, (half(24, 40), half(56, 24)), 1),
    "batch, repeated": (
        lambda a, b: torch.matmul(a, b),
        (random(2, 3, 20, 24), random(3, 24, 17)),
        3,
    ),
    "four dimensions": (
        lambda a, b: torch.einsum("bijl,lk->bijk", a, b),
        (random(2, 3, 5, 24), random(24, 16)),
        3,
    ),
    "triangle of a square": (lambda a: torch.triu(a @ a.T), (random(40, 24),), 2),
    "rows that TMA cannot address": (lambda a, b: a @ b, (half(9, 7), half(7, 5)), 3),
    "a long sum": (
        lambda a, b: torch.relu(a @ b) + 1,
        (half(24, 6144), half(6144, 16)),
        2,
    ),
    "scaled summands": (
        lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2.0),
        (half(3, 1, 48), half(3, 40, 24), half(3, 24, 48)),
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_is_a_kernel_with_its_epilogue(name: str) -> None:
    function, inputs, kernels = CASES[name]
    plan = planned(function, inputs)
    assert [(s.what, s.why) for s in plan.left] == []
    assert len(plan.kernels) == kernels
    assert len(forms(plan)) == 1
    got, wanted = result(plan, inputs), function(*inputs)
    assert got.dtype == wanted.dtype
    bound = 2e-6 if inputs[0].dtype is torch.float32 else 2e-2
    torch.testing.assert_close(got, wanted, rtol=bound, atol=bound)


def test_products_of_f32_are_as_near_as_those_of_torch() -> None:
    inputs = (random(33, 130), random(130, 20))
    plan = planned(torch.matmul, inputs)
    (form,) = forms(plan)
    assert len(form.terms) == 6
    exact = inputs[0].double() @ inputs[1].double()
    ours = (result(plan, inputs).double() - exact).norm()
    assert float(ours / exact.norm()) < 2e-7  # torch's: 1e-7 to 2e-7


def test_parts_of_a_factor_are_made_once() -> None:
    """Though several products read it, and through other views."""

    def function(x: Any, v: Any, w: Any) -> Any:
        rows = x.view(2, 40, 3, 32)  # by heads, as attention has them
        one, other = torch.einsum("bshd,bthd->bhst", v, rows), rows.transpose(1, 2)
        return one.relu() @ other, x.view(80, 96) @ w, x.view(80, 96).T @ x.view(80, 96)

    inputs = (torch.randn(2, 40, 96), torch.randn(2, 40, 3, 32), torch.randn(96, 64))
    plan = plan_of(Formula(function), inputs)
    (source, *_) = plan.program.values
    split = [k for k in plan.kernels if source in k.read]
    assert len(split) == 1
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    for got, wanted in zip(found, function(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_short_sums_that_no_neighbour_lies_along_take_tensor_cores() -> None:
    """Elements one by one would lie a whole sum apart."""

    def function(x: Any, w: Any) -> Any:
        return x @ w

    apart = torch.empty(8, 64, 16, device="meta"), torch.empty(8, 64, 16, device="meta")
    plan = plan_of(Formula(lambda x, w: x @ w.transpose(1, 2)), apart)
    assert isinstance(plan.kernels[-1].group.form, ProductForm)
    plan = plan_of(Formula(function), (apart[0], apart[1].view(8, 16, 64)))
    assert not isinstance(plan.kernels[-1].group.form, ProductForm)


def test_few_rows_and_long_sums_of_f32_are_split_in_the_kernel() -> None:
    inputs = (random(66, 4100), random(70, 4100))
    plan = planned(lambda a, b: torch.relu(a @ b.T) + 1, inputs)
    (form,) = forms(plan)
    assert form.tile.split
    assert 'role("split"' in plan.kernels[0].source.text
    exact = torch.relu(inputs[0].double() @ inputs[1].double().T) + 1
    off = (result(plan, inputs).double() - exact).norm() / exact.norm()
    assert float(off) < 3e-7
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_with_torchs_flag_they_are_of_tf32() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    inputs = (random(20, 24), random(16, 24))
    plan = planned(lambda a, b: a @ b.T, inputs)
    (form,) = forms(plan)
    assert (len(plan.kernels), len(form.terms)) == (1, 1)
    assert 'precision="tf32"' in plan.kernels[0].source.text
    wanted = inputs[0] @ inputs[1].T
    torch.testing.assert_close(result(plan, inputs), wanted, rtol=1e-2, atol=1e-2)


def test_each_element_used_once_needs_no_tensor_cores() -> None:
    inputs = (random(20, 50), random(50))
    plan = planned(lambda a, b: torch.relu(a @ b), inputs)
    assert (len(plan.kernels), forms(plan), plan.left) == (1, [], ())
    wanted = torch.relu(inputs[0] @ inputs[1])
    torch.testing.assert_close(result(plan, inputs), wanted, rtol=2e-6, atol=2e-6)


def test_products_of_whole_numbers_stay_in_torch() -> None:
    inputs = (torch.arange(30).reshape(5, 6), torch.arange(42).reshape(6, 7))
    plan = planned(torch.matmul, inputs)
    assert [s.what for s in plan.left] == ["product"]
    assert torch.equal(result(plan, inputs), inputs[0] @ inputs[1])


def test_kernels_of_a_product_of_f32_are_equal_to_their_references() -> None:
    inputs = (random(40, 24), random(24, 48), random(48))
    for step in planned(lambda a, b, c: torch.relu(a @ b + c), inputs).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("threshold", ["20.0", "21.0"])
def test_what_compares_sums_is_equal_where_they_are(threshold: str) -> None:
    """A sum whose first step is taken before the loop is the sum of the reference."""
    inputs = tuple(x.bfloat16() for x in (random(40, 24), random(48, 24), random(48)))
    mish = torch.nn.functional.mish
    function = torch.nn.functional.linear
    (step,) = planned(lambda a, b, c: mish(function(a, b, c)), inputs).kernels
    kernel, _, reference = step.source.text.partition("@ag.reference")
    assert "> 20.0" in kernel
    assert "> 20.0" in reference
    changed = "@ag.reference".join((kernel, reference.replace("20.0", threshold)))
    source = replace(step.source, text=changed)
    verdict = proof_of(replace(step, source=source)).verdict
    assert (verdict is Verdict.EQUAL) == (threshold == "20.0")


@pytest.mark.parametrize("taps", few([1, 3], 3))
def test_operands_of_tf32_are_the_nearest_numbers(taps: int) -> None:
    """Cutting bits off, as the instruction does, errs by 8e-4."""
    x, w = random(2, 32, 12, 20), random(32, 32, taps, taps)
    convolution = torch.nn.functional.conv2d
    plan = planned(convolution, (x, w))
    assert any('precision="tf32"' in s.source.text for s in plan.kernels)
    exact = convolution(x.double(), w.double())
    off = (result(plan, (x, w)).double() - exact).norm() / exact.norm()
    assert 1e-4 < float(off) < 4e-4
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_sum_is_cut_where_that_is_predicted_to_be_faster() -> None:
    for element, terms in ((bf16, 1), (f32, 1), (bf16, 6)):

        def parts(*sizes: int, element: DType = element, terms: int = terms) -> int:
            found = parts_of_sum(*sizes, element=element, terms=terms)
            assert found[0] == 1  # nothing else may be cut
            return found[1]

        assert parts(256, 256, 1 << 19, 1, 1) >= 32
        assert parts(4096, 4096, 4096, 1, 1) == 1
        assert parts(64, 64, 512, 1, 1) == 1
        assert 7 * 64 * 64 % (parts(64, 64, 7 * 64 * 64, 1, 1) * 64) == 0


def test_a_sum_of_several_products_is_cut_between_them_too() -> None:
    """Filters of few channels, of 8 images of 56 x 56 pixels, would fill few blocks."""
    images, rest = parts_of_sum(256, 64, 56 * 56, 1, 8, element=f32, repeats=8)
    assert images == 8 and 56 * 56 % (rest * 64) == 0
    assert parts_of_sum(256, 64, 56 * 56, 1, 8, element=f32)[0] == 1
    assert parts_of_sum(4096, 4096, 4096, 1, 8, element=f32, repeats=8) == (1, 1)


def test_windows_of_a_grid_are_summed_as_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read where they lie, a sum has four elements at a time, of a step of 128."""

    def weights(x: Any, y: Any) -> Any:
        grid = x.view(2, 2, 4, 2, 4, 16).permute(0, 2, 4, 1, 3, 5).reshape(-1, 16)
        return grid.t() @ y

    inputs = (torch.randn(2, 8, 8, 16).bfloat16(), torch.randn(128, 24).bfloat16())
    wanted = weights(*(t.double() for t in inputs))
    for kernels in (2, 1):
        plan = plan_of(Formula(weights), inputs)
        assert len(plan.kernels) == kernels
        got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
        assert float((got - wanted).norm() / wanted.norm()) < 3e-3
        # What is summed in steps stays a dimension by itself where there is no copy.
        monkeypatch.setattr(grouping, "no_short_sums", lambda *_: None)


def test_factors_that_lie_along_different_sums_are_split_along_one() -> None:
    """As in the gradient of a filter of one pixel, before a norm of groups."""

    def summed(x: Any, y: Any, w: Any) -> Any:
        back = torch.ops.aten.convolution_backward
        given = (x[:, :8], y, w, [8], [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        return back(*given, [False, True, False])[1]

    shapes = ((2, 32, 12, 10), (2, 4, 12, 10), (8, 4, 1, 1))
    inputs = tuple(torch.randn(*n) for n in shapes)
    plan = plan_of(Formula(summed), inputs)
    assert not plan.left
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = summed(*(t.double() for t in inputs))
    assert (got.double() - wanted).norm() < 1e-6 * wanted.norm()
