"""Transposed convolutions whose phases are columns, of pixels of several rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.convolutions.convolution_phases import ConvolutionPhases  # noqa: E402
from argus.programs.planning.plan import KernelStep, ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.pixel_tiles import PixelTile  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional
NEAR = 1e-5
"""Of numbers that TF32 has."""

CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "windows of whole strides": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1),
        (2, 16, 8, 9), (16, 20, 4, 4),
    ),
    "odd windows": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1),
        (1, 16, 8, 16), (16, 32, 3, 3),
    ),
    "long rows": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1),
        (1, 16, 3, 126), (16, 17, 4, 4),
    ),
    "more padding than a stride": (
        lambda x, w: functional.conv_transpose2d(x, w, None, (3, 2), (2, 3), (1, 0)),
        (1, 16, 7, 16), (16, 16, 5, 6),
    ),
    "four phases": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 4, 1, 3),
        (1, 16, 8, 9), (16, 16, 7, 6),
    ),
    "dilation along rows": (
        lambda x, w: functional.conv_transpose2d(x, w, None, (1, 2), 1, 0, 1, (3, 1)),
        (1, 16, 9, 10), (16, 16, 3, 4),
    ),
    "followed, cropped at both ends": (
        lambda x, w: torch.tanh(
            functional.conv_transpose2d(x, w, w[0, :, 0, 0], 2, 1, 1) * 0.5
        ),
        (1, 16, 7, 11), (16, 16, 4, 4),
    ),
    "a softmax follows": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1).softmax(1),
        (1, 16, 7, 11), (16, 16, 4, 4),
    ),
    "three dimensions": (
        lambda x, w: functional.conv_transpose3d(x, w, None, 2, 1),
        (1, 16, 3, 8, 9), (16, 16, 4, 4, 4),
    ),
    "one dimension, rows of images": (
        lambda x, w: functional.conv_transpose1d(x, w, None, 2, 1, 1),
        (2, 16, 70), (16, 16, 4),
    ),
}  # fmt: skip


def _product(plan: ProgramPlan) -> tuple[KernelStep, PixelTile]:
    steps = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    (step,) = steps
    form = step.group.form
    assert isinstance(form, ProductForm) and form.pixels is not None
    return step, form.pixels


@cache
def _planned(name: str) -> tuple[ProgramPlan, tuple[Any, ...], Any]:
    function, x, w = CASES[name]
    torch.manual_seed(0)
    inputs = tuple((torch.randn(n) * 64).round() / 64 for n in (x, w))
    wanted = function(*(t.double() for t in inputs))
    return plan_of(Formula(function), inputs), inputs, wanted


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    plan, inputs, wanted = _planned(name)
    step, pixels = _product(plan)
    assert bool(pixels.above) == (name != "long rows")
    assert (step is plan.kernels[-1]) == (name != "a softmax follows")
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert got.shape == wanted.shape
    error = (got.double() - wanted).abs().max() / wanted.abs().max()
    assert error < NEAR


def test_kernels_are_equal_to_their_references() -> None:
    plan, *_ = _planned("followed, cropped at both ends")
    step, _ = _product(plan)
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_products_in_parts_with_phases_between_rows() -> None:
    """Each part of a factor is a tensor; their dimensions have one name."""

    def function(x: Any, w: Any) -> Any:
        return (x @ w.mT).view(2, 4, 24).transpose(1, 2).contiguous()

    inputs = (torch.randn(8, 64), torch.randn(24, 64))
    plan = plan_of(Formula(function), inputs)
    step, _ = _product(plan)
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - function(*(t.double() for t in inputs))).abs().max() < NEAR


def test_pixels_that_are_one_but_for_a_border_are_none() -> None:
    """Rows of heads behind one row: where a border begins, the next is not read."""

    def function(x: Any, w: Any) -> Any:
        rows = functional.pad(x @ w.mT, (0, 0, 0, 7))
        return rows.view(2, 8, 4, 4).transpose(1, 2).contiguous()

    inputs = (torch.randn(2, 1, 10), torch.randn(16, 10))
    plan = plan_of(Formula(function), inputs)
    assert not plan.left
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (got.double() - function(*(t.double() for t in inputs))).abs().max() < NEAR


def test_windows_of_whole_strides_have_no_tap_for_nothing() -> None:
    plain = ConvolutionPhases(8, 4, 2, 1, 1, 0)
    few = plain.with_few_taps(8, 4, 1, 1, 0)
    assert (plain.sizes, few.sizes) == ((8, 2, 3), (9, 2, 2))
    assert few.length == plain.length == 16 and few.front == 1
    assert few.cropped and not plain.cropped
    odd = ConvolutionPhases(8, 3, 2, 1, 1, 1)
    assert odd.with_few_taps(8, 3, 1, 1, 1) is odd


def test_windows_do_not_begin_earlier_where_that_is_a_copy() -> None:
    inputs = (torch.randn(1, 32, 8, 9), torch.randn(32, 16, 4, 4))
    function = functional.conv_transpose2d
    plan = plan_of(Formula(lambda x, w: function(x, w, None, 2, 1, 0, 2)), inputs)
    assert len(plan.kernels) == 4  # operands, the product, and its phases in order


def test_sums_of_few_channels_are_those_of_all_taps() -> None:
    """A step of so few elements takes as long as one that is full."""
    shapes = (128, 3, 16, 32, 32), (3, 16, 3, 3, 3)
    inputs = tuple(torch.empty(n, device="meta") for n in shapes)
    function = functional.conv_transpose3d
    plan = plan_of(Formula(lambda x, w: function(x, w, None, 2, 1)), inputs)
    (form,) = (
        s.group.form for s in plan.kernels if isinstance(s.group.form, ProductForm)
    )
    assert form.pixels is None


@pytest.mark.parametrize(
    ("length", "pitch", "pixels", "most"), [(17, 17, 64, 5), (65, 66, 128, 3)]
)
def test_a_tile_reaches_into_so_many_rows(
    length: int, pitch: int, pixels: int, most: int
) -> None:
    tile = PixelTile("t", 2, "q", pitch, 9 * pitch + length)
    spans = [
        (start + pixels - 1) // pitch - start // pitch + 1 for start in range(pitch)
    ]
    assert max(spans) == most == tile.segments(pixels)
