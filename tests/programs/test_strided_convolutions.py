"""Convolutions with strides as those of pixels that have several neighbours."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.convolutions import strided_convolutions  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.tensor_program import ContractPrimitive  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few, rest  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional

Case = tuple[tuple[int, ...], tuple[int, ...], Any, Any, float]

CASES: dict[str, Case] = {
    "long windows": ((2, 3, 31, 35), (20, 3, 11, 11), 4, 2, 2e-3),
    "in full": ((2, 3, 12, 16), (16, 3, 3, 3), 2, 1, 1e-6),
    "one stride": ((2, 5, 9, 12), (16, 5, 3, 4), (1, 3), (1, 0), 2e-3),
    "a small image": ((2, 28, 14, 14), (40, 28, 3, 3), 2, 1, 2e-3),
    "what no window reads": ((1, 8, 12, 13), (16, 8, 3, 3), (2, 3), 0, 2e-3),
    "three dimensions": ((1, 16, 5, 7, 6), (16, 16, 3, 3, 3), 2, 1, 2e-3),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a launch is too small to gain from it."""
    monkeypatch.setattr(strided_convolutions, "_GAIN", 0.0)


PATCHES: dict[str, Case] = {
    "patches": ((2, 3, 32, 32), (24, 3, 8, 8), 8, 0, 2e-3),
    "few pixels": ((2, 28, 14, 14), (40, 28, 2, 2), 2, 0, 2e-3),
    "with borders": ((2, 16, 9, 11), (24, 16, 2, 3), (3, 3), (1, 2), 2e-3),
    "between windows nothing is read": ((1, 16, 13, 13), (24, 16, 2, 2), 4, 0, 2e-3),
    "lines of time": ((2, 16, 3, 8, 9), (16, 16, 1, 4, 4), (1, 4, 4), 0, 2e-3),
}


Planned = tuple[ProgramPlan, Any, Any, float]


def _planned(name: str, element: Any = None) -> Planned:
    return _planned_for(name, element, strided_convolutions._GAIN)


@cache
def _planned_for(name: str, element: Any, gain: float) -> Planned:
    """``gain``: what the plan depends on, beside the case."""
    shape, filters, stride, padding, near = (CASES | PATCHES)[name]
    function = [None, None, torch.conv1d, torch.conv2d, torch.conv3d][len(shape) - 1]
    torch.manual_seed(0)
    inputs = (torch.randn(shape, dtype=element), torch.randn(filters, dtype=element))

    def call(x: Any, w: Any) -> Any:
        return function(x, w, None, stride, padding)

    plan = plan_of(Formula(call), inputs)
    return plan, inputs, call(*(t.double() for t in inputs)), near


def _is_flat(plan: ProgramPlan) -> bool:
    made = [v.made for v in plan.program.values]
    (product,) = [m for m in made if isinstance(m, ContractPrimitive)]
    return product.alone


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    plan, inputs, wanted, near = _planned(name)
    assert _is_flat(plan)
    assert sum(isinstance(s.group.form, ProductForm) for s in plan.kernels) == 1
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert got.shape == wanted.shape
    error = (got.double() - wanted).abs().max() / wanted.abs().max()
    assert error < near


@pytest.mark.parametrize("name", few(PATCHES, *PATCHES.keys() - {"few pixels"}))
def test_windows_that_do_not_overlap_are_one_product(name: str) -> None:
    plan, inputs, wanted, near = _planned(name)
    (product,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    _, filters, *_ = PATCHES[name]
    assert product.source.sizes["K"] == prod(filters[1:])
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert got.shape == wanted.shape
    assert (got.double() - wanted).abs().max() / wanted.abs().max() < near
    assert all(
        proof_of(s).verdict in (Verdict.EQUAL, Verdict.PROVED) for s in plan.kernels
    )


@pytest.mark.usefixtures("always")
def test_of_sixteen_bits() -> None:
    plan, inputs, wanted, _ = _planned("a small image", torch.bfloat16)
    assert _is_flat(plan)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - wanted).abs().max() / wanted.abs().max() < 1e-2


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", ["in full", "one stride", *rest("long windows")])
def test_kernels_are_equal_to_their_references(name: str) -> None:
    plan, *_ = _planned(name)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_rows_that_are_too_short_for_tiles_are_one() -> None:
    """A stride halves the rows of a small image; long rows stay rows."""
    plan, *_ = _planned("a small image")
    assert _is_flat(plan)
    call = Formula(lambda x, w: torch.conv2d(x, w, None, 2, 1))
    inputs = (torch.randn(4, 64, 128, 128), torch.randn(128, 64, 3, 3))
    assert not _is_flat(plan_of(call, inputs))


def test_short_rows_of_patches_in_16_bits_are_copied_before_the_product() -> None:
    """Where it lies, a sum would have one row of a tap at a time: most of a step."""
    x, w = torch.randn(2, 3, 56, 56).bfloat16(), torch.randn(32, 3, 8, 8).bfloat16()
    call = functional.conv2d
    plan = plan_of(Formula(lambda x, w: call(x, w, None, 8)), (x, w))
    copy, product = plan.kernels
    form = product.group.form
    assert isinstance(form, ProductForm) and product.group.lowered is not None
    assert product.group.lowered.sizes[form.inner] == 3 * 8 * 8
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in (copy, product))
    got = run_plan(plan, (x, w), plan.program.tensors, in_interpreter)
    wanted = call(x.double(), w.double(), None, 8)
    assert float((got - wanted).norm() / wanted.norm()) < 3e-3
