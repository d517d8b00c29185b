"""Convolutions whose pixels are one dimension: short rows, planes and phases."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.convolutions import flat_convolutions  # noqa: E402
from argus.programs.convolutions.channels_last import channels_of  # noqa: E402
from argus.programs.convolutions.flat_convolutions import Reading, flat_space  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.tensor_program import ContractPrimitive  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional

CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...], float]] = {
    "few channels": (functional.conv3d, (2, 3, 5, 6, 7), (16, 3, 3, 3, 3), 1e-6),
    "padding": (
        lambda x, w: functional.conv3d(x, w, None, 1, (1, 0, 2)),
        (1, 8, 4, 6, 9), (24, 8, 3, 2, 3), 1e-6,
    ),
    "long windows": (
        lambda x, w: functional.conv3d(x, w, None, 1, (1, 2, 3)),
        (1, 16, 2, 4, 8), (17, 16, 3, 3, 7), 2e-3,
    ),
    "a small image": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1),
        (2, 40, 7, 7), (48, 40, 3, 3), 2e-3,
    ),
    "a tiny image": (
        lambda x, w: functional.conv2d(x, w, None, 1, (0, 2)),
        (3, 20, 5, 4), (17, 20, 3, 5), 2e-3,
    ),
    "dilation": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1, (1, 2)),
        (2, 16, 9, 9), (32, 16, 3, 3), 2e-3,
    ),
    "transposed": (
        lambda x, w: functional.conv_transpose3d(x, w, None, 2, 1, 1),
        (1, 3, 4, 4, 5), (3, 16, 3, 3, 3), 2e-3,
    ),
    "transposed, strides": (
        lambda x, w: functional.conv_transpose3d(x, w, None, (2, 1, 3), (1, 0, 2)),
        (1, 16, 3, 5, 5), (16, 16, 3, 2, 5), 2e-3,
    ),
    "groups": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1, 1, 2),
        (2, 16, 8, 9), (16, 8, 3, 3), 1e-6,
    ),
    "transposed, groups": (
        lambda x, w: functional.conv_transpose3d(x, w, None, 2, (1, 2, 3), 1, 2),
        (1, 16, 4, 4, 5), (16, 8, 3, 5, 7), 2e-3,
    ),
    "transposed, two dimensions": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 3, 1, 1),
        (2, 16, 7, 10), (16, 20, 4, 3), 2e-3,
    ),
}  # fmt: skip


@pytest.fixture
def always_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a launch is too small to gain from it."""
    monkeypatch.setattr(flat_convolutions, "_GAIN", 0.0)


Planned = tuple[ProgramPlan, tuple[Any, ...], Any, float]


def _planned(name: str) -> Planned:
    return _planned_for(name, flat_convolutions._GAIN)


@cache
def _planned_for(name: str, gain: float) -> Planned:
    """``gain``: what the plan depends on, beside the case."""
    function, x, w, near = CASES[name]
    torch.manual_seed(0)
    inputs = (torch.randn(x), torch.randn(w))
    plan = plan_of(Formula(function), inputs)
    return plan, inputs, function(*(t.double() for t in inputs)), near


@pytest.mark.usefixtures("always_flat")
@pytest.mark.parametrize(
    "name",
    few(
        CASES,
        *CASES.keys()
        - {"a small image", "transposed", "transposed, strides", "groups"},
    ),
)
def test_results_are_those_of_torch(name: str) -> None:
    plan, inputs, wanted, near = _planned(name)
    assert any(
        isinstance(v.made, ContractPrimitive) and v.made.alone
        for v in plan.program.values
    )
    (product,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    assert product.computes == "sum of products"
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    error = (got.double() - wanted).abs().max() / wanted.abs().max()
    assert error < near


@pytest.mark.usefixtures("always_flat")
@pytest.mark.parametrize("name", ["padding", "transposed, two dimensions"])
def test_kernels_are_equal_to_their_references(name: str) -> None:
    plan, *_ = _planned(name)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_what_is_read_for_nothing_lies_inside_of_the_input() -> None:
    f32 = plan_of(Formula(lambda x: x + 1), (torch.ones(3),)).program.values[-1].dtype
    for width in range(3, 40):
        for channels in (4, 8, 12, 16, 64):
            readings = [Reading(n, 3, 1, (1, 1)) for n in (5, 7, width)]
            flat = flat_space((5, 7, width), readings, channels, f32)
            last = flat.first + flat.length - 1
            last += sum((n - 1) * s for n, s in zip(flat.taps, flat.steps, strict=True))
            assert last < flat.sizes[0] * flat.steps[0]
            assert flat.length % 4 == 0
            assert flat.taps[-1] >= 3


def test_numbers_in_full_have_two_parts() -> None:
    f32 = plan_of(Formula(lambda x: x + 1), (torch.ones(3),)).program.values[-1].dtype
    assert [channels_of(f32, n, "f32") for n in (1, 2, 3, 8)] == [4, 4, 8, 16]
    assert [channels_of(f32, n, "tf32") for n in (1, 3, 4, 5)] == [4, 4, 4, 8]


@pytest.mark.usefixtures("always_flat")
def test_sums_over_an_image_read_it_without_gaps() -> None:
    """What is left out of a product is left out by the kernel before."""
    model = Formula(lambda x, w: functional.conv3d(x, w).var((1, 2, 3, 4)))
    inputs = (torch.randn(2, 3, 5, 6, 7), torch.randn(16, 3, 3, 3, 3))
    plan = plan_of(model, inputs)
    (last,) = [s for s in plan.kernels if "div" in s.computes]
    group = last.group.lowered
    assert group is not None and len(group.columns) == 1
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, model(*inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("size", "flat"), [(7, True), (14, True), (128, False)])
def test_rows_that_fill_tiles_are_tiles(size: int, flat: bool) -> None:
    model = Formula(lambda x, w: functional.conv2d(x, w, None, 1, 1))
    with torch.device("meta"):
        inputs = (torch.empty(256, 128, size, size), torch.empty(128, 128, 3, 3))
    plan = plan_of(model, inputs)
    made = [v.made for v in plan.program.values]
    assert flat == any(isinstance(m, ContractPrimitive) and m.alone for m in made)


def test_long_epilogues_are_kernels_of_their_own_where_there_are_many() -> None:
    """Where a launch is small they stay in the product's kernel."""

    def twice(x: Any) -> Any:
        return functional.mish(functional.mish(x))

    def kernels(batch: int, function: Any) -> list[str]:
        model = Formula(lambda x, w: function(functional.conv2d(x, w, None, 1, 1)))
        with torch.device("meta"):
            inputs = (torch.empty(batch, 64, 128, 128), torch.empty(64, 64, 3, 3))
        return [step.computes for step in plan_of(model, inputs).kernels]

    assert kernels(32, twice)[-2] == "sum of products"
    assert kernels(1, twice)[-1].startswith("sum of products, ")
    assert kernels(32, torch.tanh)[-1] == "sum of products, tanh"
    assert kernels(32, torch.relu)[-1] == "sum of products, maximum"


def test_rows_of_windows_are_added_up_at_the_end() -> None:
    plan = plan_of(Formula(lambda x: functional.avg_pool2d(x, 11)), inputs := (
        torch.randn(2, 3, 36, 47),
    ))  # fmt: skip
    (step,) = plan.kernels
    lines = step.source.text.splitlines()
    (total,) = [line for line in lines if "ag.sum(" in line]
    assert total.startswith("    sum")  # not in the loop
    assert proof_of(step).verdict is Verdict.EQUAL
    got = run_plan(plan, inputs, {}, in_interpreter)
    torch.testing.assert_close(got, functional.avg_pool2d(inputs[0], 11))
