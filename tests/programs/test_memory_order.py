"""What is computed lies as what it is made of does, and nothing is turned between."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.ir.dtypes import f32  # noqa: E402
from argus.programs.capturing.capture import capture  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors import joining  # noqa: E402
from argus.programs.tensors.memory_order import common_order, order_of  # noqa: E402
from argus.programs.tensors.offsets import digits_through, offsets_through  # noqa: E402
from argus.programs.tensors.recorder import ProgramRecorder  # noqa: E402
from argus.programs.tensors.tensor_program import (  # noqa: E402
    GivenPrimitive,
    JoinedPrimitive,
    MapPrimitive,
    ViewedValue,
)
from argus.programs.tensors.views import (  # noqa: E402
    LinearView,
    ReshapedView,
    bordered,
    permuted,
    repeated,
    sliced,
)
from argus.verify.verdict import Verdict  # noqa: E402
from few import rest  # noqa: E402
from programs.modules import Formula  # noqa: E402

HALF = torch.bfloat16


def _given(*shape: int, name: str = "x") -> ViewedValue:
    strides = tuple(torch.empty(shape).stride())
    return ProgramRecorder().given(
        name, shape, f32, GivenPrimitive("input", 0, shape, strides)
    )


def _last(x: ViewedValue) -> ViewedValue:
    """(N, *space, C) seen as (N, C, *space)."""
    rank = len(x.shape)
    return x.through(permuted(x.shape, [0, rank - 1, *range(1, rank - 1)]))


VIEWS: dict[str, tuple[Callable[[], ViewedValue], tuple[int, ...]]] = {
    # operand, the shape of a value that lies so
    "as it is": (lambda: _given(2, 3, 4), (2, 3, 4)),
    "channels last": (lambda: _last(_given(2, 4, 5, 3)), (2, 4, 5, 3)),
    "one image": (lambda: _last(_given(1, 4, 5, 3)), (1, 4, 5, 3)),
    "in groups": (
        lambda: _last(_given(2, 4, 5, 6)).through(ReshapedView((2, 3, 40))),
        (2, 20, 3, 2),
    ),
    "backwards": (
        lambda: _last(_given(2, 4, 5, 3)).through(
            sliced((2, 3, 4, 5), [(0, 1, 2), (0, 1, 3), (3, -1, 4), (0, 1, 5)])
        ),
        (2, 4, 5, 3),
    ),
    "with a border": (
        lambda: _last(_given(2, 4, 5, 3)).through(
            bordered((2, 3, 4, 5), [(0, 0), (0, 0), (1, 1), (2, 0)], 0.0)
        ),
        (2, 6, 7, 3),
    ),
    "each pixel twice": (
        lambda: _last(_given(2, 4, 5, 3)).through(ReshapedView((2, 3, 4, 5, 1)))
        .through(repeated((2, 3, 4, 5, 1), (2, 3, 4, 5, 2)))
        .through(ReshapedView((2, 3, 4, 10))),
        (2, 4, 10, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_a_map_lies_as_its_operand(name: str) -> None:
    made, stored = VIEWS[name]
    operand = made()
    order = order_of(operand)
    assert order is not None and order.stored == stored
    again = order.shown(order.laid(operand))
    assert again.shape == operand.shape
    assert digits_through(again) == digits_through(operand)
    if name not in ("with a border", "each pixel twice"):
        found = offsets_through(order.laid(operand))
        assert found is not None
        steps = [abs(s) for n, s in zip(stored, found[0], strict=True) if n > 1]
        assert steps == sorted(steps, reverse=True)


def test_what_lies_as_it_is_stored_is_seen_through_no_view() -> None:
    value = _given(2, 4, 5, 3)
    order = order_of(_last(value))
    assert order is not None
    assert order.laid(_last(value)) == value


def test_a_number_of_each_channel_has_no_order() -> None:
    """A bias, a mean: beside an image whose pixels lie side by side they are none."""
    mean = _given(3, name="mean").through(ReshapedView((3, 1, 1)))
    spread = mean.through(repeated((3, 1, 1), (2, 3, 4, 5)))
    assert order_of(spread) is None
    image = _given(2, 3, 4, 5)
    found = common_order([spread, image])
    assert found is not None and found.natural
    last = common_order([spread, _last(_given(2, 4, 5, 3))])
    assert last is not None and last.stored == (2, 4, 5, 3)
    assert common_order([spread]) is None


def test_most_bytes_say_the_order_and_computed_ones_of_as_many() -> None:
    natural, last = _given(2, 3, 4, 5), _last(_given(2, 4, 5, 3))
    assert common_order([natural, natural, last]) == order_of(natural)
    recorder = ProgramRecorder(follows=True)
    computed = recorder.map("neg", last)
    assert common_order([natural, computed]) == order_of(last)


def test_somebody_may_count_on_the_order_of_dimensions() -> None:
    recorder, last = ProgramRecorder(follows=True), _last(_given(2, 4, 5, 3))
    assert recorder.map("neg", last).value.shape == (2, 4, 5, 3)
    with recorder.in_order_of_dimensions():
        assert recorder.map("exp", last).value.shape == (2, 3, 4, 5)
    assert recorder.reduce("max", last, (2,), False).value.shape == (2, 5, 3)
    view = LinearView((3, 2), (((1, 1),), ((0, 1),)), (0, 0))
    assert ProgramRecorder().map("neg", _given(2, 3).through(view)).value.shape == (
        3, 2,
    )  # fmt: skip


class Block(torch.nn.Module):
    """Two convolutions with norms of groups, a number of each channel, a residual."""

    def __init__(self, channels: int, groups: int, dtype: Any) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList(
            torch.nn.GroupNorm(groups, channels) for _ in range(2)
        )
        self.layers = torch.nn.ModuleList(
            torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)
        )
        for norm in self.norms:
            torch.nn.init.normal_(norm.weight)  # type: ignore[arg-type]
        self.to(dtype)

    def forward(self, x: Any, e: Any) -> Any:
        """(N, C, H, W), with (N, C) that is added between."""
        h = self.layers[0](functional.silu(self.norms[0](x))) + e[:, :, None, None]
        return self.layers[1](functional.silu(self.norms[1](h))) + x


def _right(plan: ProgramPlan, model: Any, given: tuple[Any, ...], near: float) -> None:
    with torch.no_grad():
        wanted = deepcopy(model).double()(*(t.double() for t in given))
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    assert got.stride() == wanted.stride()
    error = (got.double() - wanted).norm() / wanted.norm()
    assert float(error) < near
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    ("dtype", "last"),
    [(HALF, False), *rest((HALF, True), (torch.float32, False), (torch.float32, True))],
)
def test_nothing_is_turned_between_convolutions(dtype: Any, last: bool) -> None:
    """Products store what follows them; the input alone is turned, and the result."""
    torch.manual_seed(0)
    form = torch.channels_last if last else torch.contiguous_format
    x = torch.randn(1, 32, 9, 8, dtype=dtype).to(memory_format=form)
    given, model = (x, torch.randn(1, 32, dtype=dtype)), Block(32, 8, dtype)
    plan = plan_of(model, given)
    assert not plan.left
    boxes = [
        s for s in plan.kernels
        if isinstance(f := s.group.form, ProductForm) and f.box is not None
    ]  # fmt: skip
    assert len(boxes) == 2
    inner = boxes[0].written[0]
    assert isinstance(inner.made, MapPrimitive) and inner.shape[-1] == 32
    between = plan.kernels[plan.kernels.index(boxes[0]) + 1 :]
    large = [v for s in between for v in s.written if v.size == x.numel()]
    assert [v.shape[-1] for v in large[:-1]] == [32] * (len(large) - 1)
    _right(plan, model, given, 2e-2 if dtype == HALF else 2e-3)


FOLLOWING: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    # what follows a convolution, and how its result lies
    "pool": (lambda y: functional.max_pool2d(y, 2), (2, 4, 4, 16)),
    "mean of windows": (lambda y: functional.avg_pool2d(y, 2), (2, 4, 4, 16)),
    "norm": (lambda y: functional.group_norm(y, 2), (2, 8, 8, 16)),
    "a pixel of channels": (
        lambda y: torch.conv2d(y, torch.ones(8, 16, 1, 1, dtype=HALF)), (2, 8, 8, 8)
    ),
    "border of own elements": (
        lambda y: functional.pad(y, (1, 1, 1, 1), mode="reflect"), (2, 10, 10, 16)
    ),
    "enlarged": (lambda y: functional.interpolate(y, scale_factor=2), (2, 16, 16, 16)),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWING)
def test_what_follows_a_convolution_lies_as_its_result(name: str) -> None:
    function, stored = FOLLOWING[name]
    torch.manual_seed(0)
    form = torch.channels_last

    def call(x: Any, w: Any) -> Any:
        made = functional.relu(function(torch.conv2d(x, w, padding=1)))
        return made.to(memory_format=form)

    given = tuple(
        torch.randn(s, dtype=HALF).to(memory_format=form)
        for s in ((2, 16, 8, 8), (16, 16, 3, 3))
    )
    program = capture(Formula(call), given)
    made = [v for v in program.values if v.name.startswith("maximum")]
    assert made[-1].shape == stored
    plan = plan_of(Formula(call), given)
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, call(*given), rtol=5e-2, atol=5e-2)


def test_a_convolution_behind_an_enlarged_one_reads_pixels_as_they_lie() -> None:
    def call(x: Any, v: Any, w: Any) -> Any:
        made = functional.interpolate(torch.conv2d(x, v, padding=1), scale_factor=2)
        return torch.conv2d(made, w, padding=1)

    given = tuple(
        torch.randn(s, dtype=HALF).to(memory_format=torch.channels_last)
        for s in ((1, 16, 6, 8), (16, 16, 3, 3), (16, 16, 3, 3))
    )
    plan = plan_of(Formula(call), given)
    forms = [step.group.form for step in plan.kernels]
    assert sum(isinstance(f, ProductForm) and f.box is not None for f in forms) == 2


def test_groups_of_few_channels_are_turned_by_large_tiles() -> None:
    """Tiles of 32 pixels and 10 channels took 29 us, mostly empty."""
    x = torch.empty(2, 320, 64, 64, dtype=HALF)
    e = torch.empty(2, 320, dtype=HALF)
    plan = plan_of(Block(320, 32, HALF), (x, e))
    assert all(prediction_of(step).microseconds < 30 for step in plan.kernels)
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 165


def test_filters_that_each_pixel_reads_are_turned_once() -> None:
    """Elements 98 bytes apart for each tap of each pixel took 154 us."""
    x = torch.empty(8, 192, 28, 28, dtype=HALF).to(memory_format=torch.channels_last)
    w = torch.empty(192, 1, 7, 7, dtype=HALF)
    plan = plan_of(
        Formula(lambda x, w: torch.conv2d(x, w, padding=3, groups=192)), (x, w)
    )
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 80


@pytest.mark.parametrize("last", [True, False])
def test_a_join_lies_as_its_parts_or_as_the_result(
    monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    """Kernels store their parts in what is joined, and nothing is copied behind."""
    monkeypatch.setattr(joining, "_LEAST", 0)

    def call(x: Any, a: Any, b: Any) -> Any:
        wide = torch.relu(torch.conv2d(x, b, padding=1))
        made = torch.cat([torch.relu(torch.conv2d(x, a)), wide], 1)
        return made if last else made.contiguous()

    torch.manual_seed(0)
    given = tuple(
        torch.randn(s, dtype=HALF).to(memory_format=torch.channels_last)
        for s in ((2, 16, 8, 16), (16, 16, 1, 1), (24, 16, 3, 3))
    )
    plan = plan_of(Formula(call), given)
    homes = [v for v in plan.program.values if isinstance(v.made, JoinedPrimitive)]
    (home,) = homes
    assert home.shape == ((2, 8, 16, 40) if last else (2, 40, 8, 16))
    assert len(plan.kernels) == (2 if last else 3)
    assert home in plan.kernels[-1].written
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    wanted = call(*(t.double() for t in given))
    assert got.stride() == wanted.stride()
    assert float((got.double() - wanted).norm() / wanted.norm()) < 1e-2
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
