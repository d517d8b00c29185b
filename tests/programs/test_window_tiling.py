"""Tiles of reductions over windows: read side by side, stored side by side."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import KernelStep, plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tiles.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

functional = torch.nn.functional


def _pooled_product(x: Any, w: Any) -> Any:
    return functional.conv2d(functional.max_pool2d(x, 3, 2, 1), w)


CASES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "depthwise": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1, 1, 5),
        ((2, 5, 12, 13), (5, 1, 3, 3)),
    ),
    "depthwise, strides": (
        lambda x, w: functional.conv2d(x, w, None, 2, 2, 1, 5),
        ((2, 5, 12, 13), (5, 1, 5, 5)),
    ),
    "pool without a border": (
        lambda x: functional.max_pool2d(torch.relu(x), 2),
        ((3, 5, 10, 10),),
    ),
    "windows that overlap": (
        lambda x: functional.max_pool2d(x, 3, 2),
        ((3, 5, 13, 13),),
    ),
    "pool to channels last": (_pooled_product, ((2, 20, 17, 19), (16, 20, 1, 1))),
}


@cache
def _windowed(name: str) -> tuple[KernelStep, Any, Any, Any]:
    """The kernel over windows; the plan, its inputs and what torch computes."""
    function, shapes = CASES[name]
    torch.manual_seed(0)
    inputs = tuple(torch.randn(s) for s in shapes)
    plan = plan_of(Formula(function), inputs)
    found = [
        k
        for k in plan.kernels
        if isinstance(k.group.form, GroupTiling) and k.group.form.taps
    ]
    assert len(found) == 1, plan.kernels
    return found[0], plan, inputs, function(*inputs)


@pytest.mark.parametrize("name", CASES)
def test_windows_are_walked_tap_by_tap(name: str):
    step, plan, inputs, wanted = _windowed(name)
    assert step.source.text.count("unroll=") == 2
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    assert (found - wanted).abs().max() < 2e-3 * wanted.abs().max()


def test_results_lie_across_windows():
    """A warp reads pixels, and writes channels: through shared memory in between."""
    step, *_ = _windowed("pool to channels last")
    assert step.source.text.count("ag.shared(") == 1
    form = step.group.form
    assert isinstance(form, GroupTiling)
    along = {n for n, c in step.group.lowered.stores[0].offset.terms if c == 1}
    across, vector = (a.loop for a in form.axes)
    assert along == {across}
    source = next(e for e in step.group.lowered.elements if vector in e.whole.loops)
    assert source.whole.factor(vector) == 2
    assert min(a.size for a in form.axes) >= 16


@pytest.mark.parametrize("side", [17, 33, 20, 63])
def test_tiles_leave_little_of_odd_sides_empty(side: int):
    """A side of 17 in tiles of 16 would be more than three times as many results."""
    inputs = (torch.empty(8, 64, 2 * side, 2 * side, device="meta"),)
    plan = plan_of(Formula(lambda x: functional.max_pool2d(torch.tanh(x), 2)), inputs)
    (step,) = plan.kernels
    form, sizes = step.group.form, step.group.lowered.sizes
    assert isinstance(form, GroupTiling)
    filled = math.prod(-(-sizes[a.loop] // a.size) * a.size for a in form.axes)
    assert filled <= 1.5 * math.prod(sizes[a.loop] for a in form.axes)
    assert form.axes[-1].size >= 4  # 32 bytes of a row of pairs


def test_short_sums_of_products_are_taken_without_tensor_cores():
    """In full, and not as products of parts with copies before them."""
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 12, 13), torch.randn(20, 3, 1, 1))
    model = Formula(lambda x, w: torch.relu(functional.conv2d(x, w)))
    plan = plan_of(model, inputs)
    (step,) = plan.kernels
    assert isinstance(step.group.form, GroupTiling)
    assert len(step.group.form.axes) == 2  # what is read is used by several channels
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, model(*inputs), rtol=1e-5, atol=1e-6)


def _of_a_border(x: Any) -> Any:
    """A sum over a border, that of a row beside zeros, and one of what is cropped."""
    beside = functional.pad(x[:, None], (0, 0, 15, 0)).sum((0, 1))
    return beside, functional.pad(x, (2, -3)).sum(1), functional.pad(x, (1, 1)).sum(0)


def _cropped(back: Any, x: Any, w: Any) -> Any:
    """The gradient of a convolution of which one result more was left out."""
    back = functional.pad(back, (0, 1))
    return torch.ops.aten.convolution_backward(
        back, x, w, None, (1,), (4,), (1,), False, (0,), 2, (True, False, False)
    )[0]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (_of_a_border, ((2, 32),)),
        (_cropped, ((2, 8, 13), (2, 8, 13), (8, 4, 8))),
    ],
)
def test_conditions_on_positions_inside_of_windows(function: Any, shapes: Any) -> None:
    inputs = tuple(torch.randn(s) for s in shapes)
    plan = plan_of(Formula(function), inputs)
    assert plan.whole
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in plan.kernels)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = function(*inputs)
    pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_a_sum_over_a_border_of_zeros_is_one_of_what_is_inside() -> None:
    plan = plan_of(Formula(_of_a_border), (torch.randn(2, 32),))
    assert "where" not in plan.kernels[0].computes.split(", ")


def test_a_map_of_a_product_is_not_computed_anew_for_each_window() -> None:
    """It is stored in the product's place, where windows overlap."""

    def function(x: Any, wide: Any, w: Any) -> Any:
        wide = functional.relu6(functional.conv2d(x, wide))
        return functional.conv2d(wide, w, None, 2, 2, 1, 16)

    inputs = tuple(
        torch.randn(s) for s in ((2, 8, 16, 16), (16, 8, 1, 1), (16, 1, 5, 5))
    )
    plan = plan_of(Formula(function), inputs)
    before, over = plan.kernels
    assert before.computes.endswith("maximum, minimum")
    assert over.computes == "mul, sum of products"
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in plan.kernels)


LARGE: dict[str, tuple[Any, tuple[int, ...], int]] = {
    # function, shape, kernels
    "means": (lambda x: functional.avg_pool2d(x, 9, 1), (2, 3, 12, 13), 2),
    "with a border": (lambda x: functional.avg_pool2d(x, 9, 2, 4), (2, 3, 12, 13), 2),
    "largest": (lambda x: functional.max_pool2d(x, 7, 1, 3, 2), (2, 3, 16, 15), 2),
    "space": (lambda x: functional.max_pool3d(x, 5, 2, 2), (2, 3, 7, 8, 9), 3),
    "none shared": (lambda x: functional.avg_pool2d(x, 9), (2, 3, 18, 27), 1),
    "of different sizes": (
        lambda x: functional.avg_pool2d(x, 9, 2, 4, count_include_pad=False),
        (2, 3, 12, 13),
        1,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_windows_that_overlap_are_taken_in_along_one_dimension_at_a_time(
    name: str,
) -> None:
    function, shape, kernels = LARGE[name]
    torch.manual_seed(0)
    x = torch.randn(shape)
    plan = plan_of(Formula(function), (x,))
    assert len(plan.kernels) == kernels
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(x), rtol=1e-5, atol=1e-5)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_filters_of_channels_that_lie_last_are_put_side_by_side() -> None:
    """Of each tap a warp read 32 sectors of filters: 599 us, and 50 now."""
    x = torch.empty(32, 768, 7, 7, dtype=torch.bfloat16)
    x = x.to(memory_format=torch.channels_last)
    w = torch.empty(768, 1, 7, 7, dtype=torch.bfloat16)
    plan = plan_of(
        Formula(lambda x, w: functional.conv2d(x, w, padding=3, groups=768)), (x, w)
    )
    assert len(plan.kernels) == 2
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 100
