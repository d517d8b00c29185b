"""Convolutions of pixels as they lie: boxes of lines and images, borders by TMA."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.ir.dtypes import bf16, f32  # noqa: E402
from argus.programs.convolutions import direct_convolutions  # noqa: E402
from argus.programs.convolutions.direct_convolutions import (  # noqa: E402
    channels_side_by_side,
)
from argus.programs.planning.plan import (  # noqa: E402
    KernelStep,
    ProgramPlan,
    plan_of,
)
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.box_tiles import (  # noqa: E402
    box_rows,
    box_sides,
    boxes_fill_tiles,
)
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.products.product_tiles import parts_of_channels  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.recorder import ProgramRecorder  # noqa: E402
from argus.programs.tensors.tensor_program import (  # noqa: E402
    GivenPrimitive,
    ViewedValue,
)
from argus.programs.tensors.views import permuted  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula  # noqa: E402

Case = tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any], int]
HALF, FULL = torch.bfloat16, torch.float32

CASES: dict[str, Case] = {
    # element, input, filters, arguments, kernels
    "as it lies": (HALF, (2, 16, 9, 11), (24, 16, 3, 3), {"padding": 1}, 1),
    "strided": (HALF, (2, 32, 13, 10), (16, 32, 3, 3), {"stride": 2, "padding": 1}, 1),
    "few steps": (HALF, (1, 16, 5, 305), (16, 16, 2, 4), {"stride": (1, 4)}, 1),
    "one tap, strided": (HALF, (3, 16, 8, 8), (16, 16, 1, 1), {"stride": 2}, 1),
    "dilated": (
        HALF, (1, 16, 12, 17), (16, 16, 3, 2), {"dilation": (2, 3), "padding": 2}, 1
    ),
    "nothing outside": (HALF, (2, 16, 9, 8), (16, 16, 2, 3), {}, 1),
    "volume": (HALF, (1, 16, 3, 6, 7), (16, 16, 3, 3, 3), {"padding": 1}, 1),
    "groups": (HALF, (2, 32, 6, 7), (32, 4, 3, 3), {"padding": 1, "groups": 8}, 2),
    "wide groups": (
        HALF, (1, 128, 5, 6), (64, 64, 3, 3), {"padding": 1, "groups": 2}, 1
    ),
    "few pixels": (HALF, (1, 512, 4, 5), (16, 512, 3, 3), {"padding": 1}, 2),
    "few pixels, rounded": (FULL, (2, 512, 4, 4), (16, 512, 3, 3), {"padding": 1}, 3),
    "rounded as it is read": (FULL, (2, 16, 9, 8), (16, 16, 3, 3), {"padding": 1}, 2),
}  # fmt: skip


@cache
def _planned(name: str) -> tuple[ProgramPlan, tuple[Any, Any], Any]:
    element, shape, filters, options, _ = CASES[name]
    function = {4: torch.conv2d, 5: torch.conv3d}[len(shape)]
    form = {4: torch.channels_last, 5: torch.channels_last_3d}[len(shape)]
    torch.manual_seed(0)
    inputs = tuple(
        torch.randn(s, dtype=element).to(memory_format=form) for s in (shape, filters)
    )

    def call(x: Any, w: Any) -> Any:
        return function(x, w, None, **options).to(memory_format=form)

    return plan_of(Formula(call), inputs), inputs, call(*(t.double() for t in inputs))


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_torchs(name: str) -> None:
    plan, inputs, wanted = _planned(name)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    near = {HALF: 1e-2, FULL: 2e-3}[inputs[0].dtype]
    error = (got.double() - wanted).norm() / wanted.norm()
    assert float(error) < near
    assert got.stride() == wanted.stride()


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_copied(name: str) -> None:
    plan, _, _ = _planned(name)
    assert not plan.left
    assert len(plan.kernels) == CASES[name][-1]
    forms = [step.group.form for step in plan.kernels]
    (product,) = [f for f in forms if isinstance(f, ProductForm)]
    assert product.box is not None


@pytest.mark.parametrize("name", few(CASES, "strided"))
def test_kernels_are_equal_to_their_references(name: str) -> None:
    plan, _, _ = _planned(name)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_copy_where_many_products_would_round() -> None:
    x = torch.randn(2, 32, 96, 96).to(memory_format=torch.channels_last)
    for filters, kernels in ((16, 2), (2048, 3)):
        w = torch.randn(filters, 32, 3, 3).to(memory_format=torch.channels_last)
        plan = plan_of(Formula(lambda x, w: torch.conv2d(x, w, padding=1)), (x, w))
        assert len(plan.kernels) == kernels


def test_what_follows_stays_channels_last() -> None:
    """A chain of convolutions with a residual: no copy turns what lies between."""

    def call(x: Any, v: Any, w: Any) -> Any:
        hidden = torch.relu(torch.conv2d(x, v, padding=1))
        return torch.relu(torch.conv2d(hidden, w, padding=1) + x)

    form = torch.channels_last
    given = [
        torch.randn(s, dtype=HALF).to(memory_format=form)
        for s in ((2, 16, 8, 8), (16, 16, 3, 3), (16, 16, 3, 3))
    ]
    plan = plan_of(Formula(call), tuple(given))
    assert len(plan.kernels) == 2
    wanted = call(*(t.double() for t in given))
    got = run_plan(plan, tuple(given), plan.program.tensors, in_interpreter)
    error = (got.double() - wanted).norm() / wanted.norm()
    assert float(error) < 1e-2


def test_boxes_leave_little_empty() -> None:
    near = (1, 1, 1)
    assert box_sides((32, 7, 7), near, 128) == (16, 1, 8)
    assert box_rows((32, 28, 28), near, 128) == 32 * 28 * 28
    assert box_rows((32, 28, 28), near, 96) == 0
    assert box_sides((1, 256), (1, 1), 128) == (1, 128)


def test_boxes_of_pixels_that_lie_apart_are_no_longer_than_tma_goes() -> None:
    assert box_sides((8, 128), (1, 2), 128) == (1, 128)
    assert box_sides((8, 128), (1, 3), 128) == (2, 64)
    assert box_sides((8, 128), (1, 8), 128) == (4, 32)
    assert box_rows((1, 128), (8, 8), 1 << 12) == 0


def test_few_groups_are_as_many_as_fill_a_step() -> None:
    assert direct_convolutions._together(32, 8) == 8
    assert direct_convolutions._together(6, 20) == 3
    assert direct_convolutions._together(4, 64) == 1


def test_what_is_added_may_lie_otherwise() -> None:
    """A residual with channels first is read through a view of its own."""

    def call(x: Any, w: Any, rest: Any) -> Any:
        made = torch.conv2d(x, w, padding=1) + rest
        return made.to(memory_format=torch.channels_last)

    form = torch.channels_last
    x, w = (
        torch.randn(s, dtype=HALF).to(memory_format=form)
        for s in ((2, 16, 8, 8), (16, 16, 3, 3))
    )
    given = (x, w, torch.randn(2, 16, 8, 8, dtype=HALF))
    plan = plan_of(Formula(call), given)
    assert not plan.left
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    wanted = call(*(t.double() for t in given))
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in plan.kernels)


def test_large_images_are_no_boxes() -> None:
    """A proof would walk all tiles of an image, whose sizes are known."""
    form = torch.channels_last
    x = torch.randn(1, 16, 512, 512, dtype=HALF).to(memory_format=form)
    w = torch.randn(16, 16, 3, 3, dtype=HALF)
    plan = plan_of(Formula(lambda x, w: torch.conv2d(x, w, padding=1)), (x, w))
    forms = [step.group.form for step in plan.kernels]
    (product,) = [f for f in forms if isinstance(f, ProductForm)]
    assert product.box is None


def test_lines_that_become_columns_are_stored_so() -> None:
    """A box is stored as it is read: another order of pixels takes another form."""

    def call(x: Any, w: Any) -> Any:
        made = torch.conv2d(x, w, padding=1).transpose(2, 3)
        return made.contiguous(memory_format=torch.channels_last)

    form = torch.channels_last
    given = tuple(
        torch.randn(s, dtype=HALF).to(memory_format=form)
        for s in ((2, 16, 8, 9), (16, 16, 3, 3))
    )
    plan = plan_of(Formula(call), given)
    assert not plan.left
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    wanted = call(*(t.double() for t in given))
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2


def test_tiles_of_few_filters_have_more_pixels() -> None:
    last = torch.channels_last
    x = torch.randn(4, 32, 64, 72).to(memory_format=last)
    w = torch.randn(32, 32, 3, 3).to(memory_format=last)
    plan = plan_of(Formula(lambda x, w: torch.conv2d(x, w, padding=1)), (x, w))
    (step,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    form = step.group.form
    assert isinstance(form, ProductForm)
    assert (form.tile.bm, form.tile.bn) == (256, 32)
    got = run_plan(plan, (x, w), plan.program.tensors, in_interpreter)
    wanted = torch.conv2d(x.double(), w.double(), padding=1)
    assert float((got.double() - wanted).norm() / wanted.norm()) < 2e-3
    assert proof_of(step).verdict is Verdict.EQUAL


def test_channels_are_cut_where_pixels_are_few() -> None:
    """Until all multiprocessors have some: 9 pixels, and not 200 000."""
    assert parts_of_channels((1, 3, 3), 512, 512, 9, bf16) > 3
    assert parts_of_channels((10, 14, 14), 32, 608, 9, f32) == 19
    assert parts_of_channels((64, 56, 56), 64, 512, 9, f32) == 1
    assert parts_of_channels((1, 3, 3), 32, 30, 9, f32) == 1
    for channels in range(32, 1024, 32):
        assert channels % parts_of_channels((2, 7, 7), 64, channels, 9, f32) == 0


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("element", [HALF, FULL])
def test_one_line_of_pixels_is_a_product_of_tiles(element: Any, stride: int) -> None:
    torch.manual_seed(0)
    shapes = ((1, 1024, 40), (64, 1024, 3))
    inputs = tuple(torch.randn(s, dtype=element) for s in shapes)

    def call(x: Any, w: Any) -> Any:
        return torch.conv1d(torch.relu(x), w, None, stride, 1)

    plan = plan_of(Formula(call), inputs)
    assert sum("product(slot" in s.source.text for s in plan.kernels) == 1
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = call(*(t.double() for t in inputs))
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2


def test_norms_over_channels_of_a_convolution_are_rows() -> None:
    """Several maps behind it, they are not cut into parts as columns are."""
    torch.manual_seed(0)
    x, w = torch.randn(1, 512, 1536).bfloat16(), torch.randn(512, 512, 3).bfloat16()

    def call(x: Any, w: Any) -> Any:
        made = torch.nn.functional.gelu(torch.conv1d(x, w, None, 2, 1))
        return torch.nn.functional.layer_norm(made.permute(0, 2, 1), (512,))

    plan = plan_of(Formula(call), (x, w))
    assert len(plan.kernels) == 4  # two turn the input and the filters


def test_steps_may_be_too_long_for_boxes() -> None:
    assert boxes_fill_tiles((1, 300), (1, 2))
    assert not boxes_fill_tiles((1, 300), (1, 3))
    assert boxes_fill_tiles((2, 300), (1, 3))
    assert not boxes_fill_tiles((1, 1), (1, 1))


def test_columns_of_a_tile_are_no_few_phases() -> None:
    """What lies side by side in the result are 5 phases; channels are the columns."""
    torch.manual_seed(0)
    inputs = tuple(torch.randn(s, dtype=HALF) for s in ((2, 64, 150), (64, 32, 10)))

    def call(x: Any, w: Any) -> Any:
        return torch.conv_transpose1d(x, w, stride=5)

    plan = plan_of(Formula(call), inputs)
    step = _product(plan)
    form = step.group.form
    assert isinstance(form, ProductForm)
    assert step.loops[form.column] == 32
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = call(*(t.double() for t in inputs))
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


def _product(plan: ProgramPlan) -> KernelStep:
    (step,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    return step


@pytest.mark.parametrize("filters", [144, 288, 512])
def test_tiles_leave_room_for_what_is_stored(filters: int) -> None:
    """Of a box slices are stored: tiles of 144 columns have none that fit."""
    last = torch.channels_last
    x = torch.empty(16, 512, 28, 28, dtype=HALF).to(memory_format=last)
    w = torch.empty(filters, 512, 3, 3, dtype=HALF)
    plan = plan_of(Formula(lambda x, w: torch.conv2d(x, w, padding=1)), (x, w))
    step = _product(plan)
    assert step.group.form.box is not None  # type: ignore[union-attr]
    assert prediction_of(step).microseconds > 0


@pytest.mark.parametrize("element", [HALF, FULL])
def test_lines_that_lie_apart_are_no_tiles_of_their_own(element: Any) -> None:
    """Every other pixel of every other line, and a result with channels first."""
    x, w = (
        torch.empty(s, dtype=element) for s in ((16, 512, 28, 28), (1024, 512, 1, 1))
    )
    plan = plan_of(Formula(lambda x, w: torch.conv2d(x, w, stride=2)), (x, w))
    assert _product(plan).group.form.box is not None  # type: ignore[union-attr]
    assert sum(prediction_of(s).microseconds for s in plan.kernels) < 60


def test_parts_of_the_only_window_are_added_in_f32() -> None:
    torch.manual_seed(0)
    x, w, b = (
        torch.randn(s, dtype=HALF) for s in ((2, 256, 7, 7), (64, 256, 7, 7), (64,))
    )
    plan = plan_of(Formula(lambda *t: torch.relu(torch.conv2d(*t))), (x, w, b))
    assert len(plan.kernels) == 2  # parts, and their sum
    got = run_plan(plan, (x, w, b), plan.program.tensors, in_interpreter)
    wanted = torch.relu(torch.conv2d(*(t.double() for t in (x, w, b))))
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


def test_numbers_of_channels_say_nothing_of_an_image() -> None:
    r = ProgramRecorder()

    def given(name: str, *shape: int) -> ViewedValue:
        steps = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
        return r.given(name, shape, bf16, GivenPrimitive("input", name, shape, steps))

    first, scale = given("first", 2, 32, 9, 8), given("scale", 1, 32, 1, 1)
    turned = permuted((2, 9, 8, 32), [0, 3, 1, 2])
    last = given("last", 2, 9, 8, 32).through(turned)
    for image, beside in ((first, False), (last, True)):
        normed = r.map("maximum", r.map("mul", image, scale), 0.0)
        assert channels_side_by_side(normed) is beside
        assert channels_side_by_side(image) is beside
    assert channels_side_by_side(r.map("add", first, last))
    assert not channels_side_by_side(r.map("add", r.map("add", first, last), first))


def test_channels_that_become_pixels_do_not_cut_its_tiles() -> None:
    """Two columns in tiles of 32: 1185 us, where both take 75 one after the other."""

    def call(x: Any, w: Any, v: Any) -> Any:
        larger = torch.pixel_shuffle(torch.conv2d(x, w, padding=1), 2)
        return torch.conv2d(larger, v, padding=1)

    with torch.device("meta"):
        x, w, v = (
            torch.empty(s, dtype=HALF, memory_format=torch.channels_last)
            for s in ((4, 64, 96, 96), (256, 64, 3, 3), (64, 64, 3, 3))
        )
    for step in plan_of(Formula(call), (x, w, v)).kernels:
        form = step.group.form
        if isinstance(form, ProductForm):
            assert step.loops[form.column] >= 64


def test_rows_with_room_behind_them_are_stored_without_tma() -> None:
    """TMA would write what lies between two rows of 5 elements: AG0603."""

    def call(x: Any, w: Any, y: Any, v: Any) -> Any:
        return torch.conv1d((torch.conv1d(x, w) + y).relu(), v)

    shapes = ((2, 4, 13), (5, 4, 1), (2, 5, 13), (16, 5, 1))
    given = tuple(torch.randn(s).to(HALF) for s in shapes)
    plan = plan_of(Formula(call), given)
    (step,) = (s for s in plan.kernels if "ag.persistent" in s.source.text)
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, given, {}, in_interpreter)
    torch.testing.assert_close(found, call(*given), rtol=2e-2, atol=2e-2)
