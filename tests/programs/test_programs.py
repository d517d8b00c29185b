"""Modules of torch become kernels that give what torch does, and are proved."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import argus  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.compiled import CompiledProgram  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.program_data import KernelFiles, plan_of_data  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tiles.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few, rest  # noqa: E402
from programs.modules import MODULES, Formula  # noqa: E402

EQUAL = (
    "per channel", "transposed", "maps", "borders", "places", "one walk", "scans",
    "running products", "scans of few rows",
)  # fmt: skip
"""Of these every kernel is shown equal to its reference, too."""


@cache
def planned(name: str) -> tuple[Any, tuple[Any, ...], ProgramPlan]:
    """A module of `MODULES`, its inputs and its plan: the same for each test."""
    make, inputs, _ = MODULES[name]
    torch.manual_seed(0)
    model = make().eval()
    return model, inputs, plan_of(model, inputs)


def interpreted(plan: ProgramPlan, inputs: tuple[Any, ...]) -> list[Any]:
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    return list(made) if isinstance(made, tuple | list) else [made]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_becomes_kernels_that_give_what_torch_does(name: str) -> None:
    model, inputs, plan = planned(name)
    kernels = MODULES[name][2]
    assert [(s.what, s.why) for s in plan.left] == []
    assert len(plan.kernels) == kernels
    with torch.no_grad():
        expected = model(*inputs)
    results = list(expected) if isinstance(expected, tuple) else [expected]
    for got, wanted in zip(interpreted(plan, inputs), results, strict=True):
        assert got.dtype == wanted.dtype
        torch.testing.assert_close(got, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", EQUAL)
def test_kernels_are_equal_to_their_references(name: str) -> None:
    for step in planned(name)[2].kernels:
        report = proof_of(step)
        assert report.verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("name", ["reductions", "softmax", "norms", "pools"])
def test_kernels_are_proved(name: str) -> None:
    for step in planned(name)[2].kernels:
        assert proof_of(step).verdict >= Verdict.PROVED, step.source.text


def test_windows_with_a_border_are_equal_to_their_references() -> None:
    """Also where a map is before the pool: then it is a kernel of its own."""
    x, w = torch.randn(2, 3, 9), torch.randn(2, 3, 3)
    functional = torch.nn.functional
    for model, inputs in (
        (lambda x: functional.max_pool1d(torch.relu(x), 3, 2, 1), (x,)),
        (lambda x, w: functional.conv1d(x, w, None, 1, 1), (x, w)),
        (lambda x, w: functional.conv_transpose1d(x, w.swapaxes(0, 1)), (x, w)),
    ):
        for step in plan_of(Formula(model), inputs).kernels:
            report = proof_of(step)
            assert report.verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("allowed", [True, False])
def test_a_convolution_is_as_precise_as_torch_is_told_to_be(
    allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
    model = torch.nn.Conv2d(16, 17, (2, 3), 2, 1, dilation=2, bias=False).eval()
    # In full it is interpreted element by element.
    inputs = (torch.randn(1, 16, *((7, 9) if allowed else (5, 7))),)
    plan = plan_of(model, inputs)
    (step,) = plan.kernels
    assert ("tf32" in step.source.text) == allowed
    (got,) = interpreted(plan, inputs)
    near = 2e-3 if allowed else 2e-6
    torch.testing.assert_close(got, model(*inputs).detach(), rtol=near, atol=near)


def test_products_over_windows_are_proved() -> None:
    x, w = torch.randn(1, 4, 2, 17).bfloat16(), torch.randn(4, 16, 4, 3).bfloat16()
    functional = torch.nn.functional
    for model in (
        Formula(lambda x, w: functional.conv_transpose2d(x, w, None, 2)),
        Formula(lambda x, w: functional.conv2d(x, w.swapaxes(0, 1), None, 1, (1, 0))),
    ):
        steps = plan_of(model, (x, w)).kernels
        (step,) = [s for s in steps if isinstance(s.group.form, ProductForm)]
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_products_over_windows_with_channels_first_are_proved() -> None:
    x, w = torch.randn(1, 4, 1, 15).bfloat16(), torch.randn(4, 16, 4, 3).bfloat16()
    model = Formula(lambda x, w: torch.nn.functional.conv_transpose2d(x, w, None, 2))
    (step, *_) = plan_of(model, (x, w)).kernels
    assert "ag.dot" in step.source.text and "ag.ring" not in step.source.text
    assert proof_of(step).verdict >= Verdict.PROVED, step.source.text


def test_what_follows_a_convolution_is_in_its_kernel() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 16, 7, 19)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(16, 17, 3, (2, 1), 1), torch.nn.ReLU()
    ).eval()
    plan = plan_of(model, (x,))
    *copies, product = plan.kernels
    assert isinstance(product.group.form, ProductForm)
    assert "maximum" in product.computes
    assert {step.computes for step in copies} == {"nearest_tf32"}
    (got,) = interpreted(plan, (x,))
    torch.testing.assert_close(got, model(x).detach(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("taps", [(3, 3), *rest((2, 1, 3))])
def test_convolutions_of_few_channels_are_in_full_f32(taps: tuple[int, ...]) -> None:
    """As cuDNN's: three products as tf32, over three times the channels."""
    torch.manual_seed(0)
    kind = torch.nn.Conv2d if len(taps) == 2 else torch.nn.Conv3d
    model = kind(6, 16, taps, padding=1).eval()
    inputs = (torch.randn(1, 6, *(2,) * (len(taps) - 1), 18),)
    plan = plan_of(model, inputs)
    (product,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    assert 'precision="tf32"' in product.source.text
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    (got,) = interpreted(plan, inputs)
    torch.testing.assert_close(got, model(*inputs).detach(), rtol=2e-6, atol=2e-6)


def _windows_of_rows(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    functional = torch.nn.functional
    turned = w.swapaxes(0, 1)
    deep, taps = torch.stack([x, -x], 2), torch.stack([turned, turned, -turned], 2)
    return (
        functional.conv2d(x, w, None, (1, 2), (1, 2)),
        functional.conv2d(x, w, None, 1, 1, (1, 2)),
        functional.conv1d(x[:, :, 0], w[:, :, 0], None, 1, 2, 3),
        functional.conv_transpose2d(x, turned, None, (2, 3), (0, 1)),
        functional.conv_transpose1d(x[:, :, 1], turned[:, :, 1], None, 1, 2, 0, 1, 2),
        functional.conv_transpose3d(deep, taps, None, 2, 1),
        functional.conv2d(x, w[:, :8], None, 1, 1, 1, 2),
    )


@pytest.mark.parametrize("dtype", few([torch.float32, torch.bfloat16], torch.bfloat16))
def test_convolutions_with_channels_last_are_those_of_torch(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 16, 3, 20).to(dtype), torch.randn(16, 16, 2, 3).to(dtype))
    plan = plan_of(Formula(_windows_of_rows), inputs)
    products = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    assert len(products) == 7
    exact = _windows_of_rows(*(x.double() for x in inputs))
    for got, wanted in zip(interpreted(plan, inputs), exact, strict=True):
        near = 1e-2 if dtype == torch.float32 else 2e-2
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), wanted, rtol=near, atol=near)


TURNED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "tiles of 8 bytes and of 4": (
        lambda t, x, y: (
            torch.where(t.T > 0, x.T, y)[None].expand(3, -1, -1).contiguous()
        ),
        (torch.arange(8).view(4, 2) - 3, torch.randn(4, 2), torch.randn(2, 4)),
    ),
    "tiles of 2 bytes and of 4": (
        lambda h, x, y: (h.T * x.T + y)[None].expand(3, -1, -1).contiguous(),
        (torch.randn(40, 16).half(), torch.randn(40, 16), torch.randn(16, 40)),
    ),
    "a factor of one column with a border": (
        lambda x, y: torch.nn.functional.pad(x, (1, 1)) @ y,
        (torch.randn(3, 1), torch.randn(3, 4)),
    ),
    "numbers beside a border": (
        lambda x, y: torch.nn.functional.pad(x, (1, 1), value=2.5)[:, None] * y.sum(1),
        (torch.randn(3, dtype=torch.float64), torch.randint(-4, 5, (5, 9)).float()),
    ),
    "wide numbers beside a border": (
        lambda x, y: (torch.nn.functional.pad(x, (1, 1))[:, None] * y).sum(1),
        (torch.randn(3).double(), torch.randn(5, 9).double()),
    ),
    "numbers that run backwards": (
        lambda x, y: x.flip(0)[:, None] + y,
        (torch.randn(3), torch.randn(2, 3, 4)),
    ),
    "truth beside a border": (
        lambda t, u: (torch.nn.functional.pad(t, (1, 1))[:, None] & u).any(1),
        (torch.randn(3) > 0, torch.randn(5, 9) > 0),
    ),
    "the sign of 0 beside a border": (
        lambda x, y: (torch.nn.functional.pad(x, (1, 1))[:, None] * y).prod(1).sign(),
        (torch.tensor([-0.0, 2.0, -0.0]), torch.ones(5, 9)),
    ),
}


@pytest.mark.parametrize("name", TURNED)
def test_tiles_in_another_order_and_single_numbers_can_be_read(name: str) -> None:
    function, inputs = TURNED[name]
    plan = plan_of(Formula(function), inputs)
    assert plan.whole
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    (got,) = interpreted(plan, inputs)
    torch.testing.assert_close(got, function(*inputs))


NARROW: dict[str, Callable[..., Any]] = {
    "rms_norm": lambda x: torch.nn.functional.rms_norm(x, (8,), x[0]),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (8,)),
    "norm": lambda x: x.norm(dim=1),
    "normalize": torch.nn.functional.normalize,
    "cosine": lambda x: torch.nn.functional.cosine_similarity(x, x.flip(0)),
    "variance": lambda x: x.std(1),
    "mean": lambda x: x.mean(1),
}
"""Whose squares and sums are too large for f16, and whose results are not."""


@pytest.mark.parametrize("name", NARROW)
def test_what_torch_computes_of_16_bits_in_32_bits(name: str) -> None:
    x = (torch.randn(4, 8) * 100 + 20000).half()
    (got,) = interpreted(plan_of(Formula(NARROW[name]), (x,)), (x,))
    wanted = NARROW[name](x.double()).half()
    torch.testing.assert_close(got, wanted, rtol=2e-3, atol=1e-4)


def test_what_has_no_kernel_stays_in_torch_with_its_reason() -> None:
    model = Formula(lambda x: torch.special.airy_ai(torch.relu(x)) + 1.0)
    inputs = (torch.randn(3, 9),)
    plan = plan_of(model, inputs)
    assert [(s.what, s.why) for s in plan.left] == [
        ("aten.special_airy_ai.default", "it has no translation")
    ]
    assert len(plan.kernels) == 2
    (got,) = interpreted(plan, inputs)
    torch.testing.assert_close(got, model(*inputs))


def test_random_numbers_are_torchs_and_slopes_that_nobody_draws_are_known() -> None:
    model = Formula(lambda x: torch.nn.functional.rrelu(x, 0.1, 0.5) + torch.rand(9))
    x = torch.randn(3, 9)
    plan = plan_of(model, (x,))
    assert [(s.what, s.why) for s in plan.left] == [
        ("aten.rand.default", "it draws random numbers")
    ]
    torch.manual_seed(3)
    (got,) = interpreted(plan, (x,))
    torch.manual_seed(3)
    torch.testing.assert_close(got, model(x))


def test_a_program_is_for_the_numbers_that_it_was_captured_with() -> None:
    from argus.programs.compiled import CompiledProgram

    x = torch.randn(4, 6)
    model = Formula(lambda x, s: torch.tril(x) * s)
    plan = plan_of(model, (x, 3.5))
    program = CompiledProgram(plan, strict=True, run=in_interpreter)
    torch.testing.assert_close(program(x, 3.5), model(x, 3.5))
    with pytest.raises(ArgusError) as caught:
        program(x, 4.5)
    assert caught.value.diagnostics[0].code == "AG0801"


def test_strict_programs_leave_nothing_to_torch() -> None:
    import argus

    model = Formula(lambda x: torch.special.airy_ai(x))
    with pytest.raises(ArgusError) as caught:
        argus.compile(model, (torch.randn(5),), strict=True)
    assert caught.value.diagnostics[0].code == "AG1043"


def test_other_shapes_than_those_of_the_plan_are_refused() -> None:

    plan = plan_of(Formula(torch.relu), (torch.randn(3, 9),))
    with pytest.raises(ArgusError) as caught:
        interpreted(plan, (torch.randn(9, 3),))
    assert caught.value.diagnostics[0].code == "AG0801"


FILE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(n))
        self.register_buffer("shift", torch.randn(n))

    def forward(self, x):
        return torch.relu(x * self.scale) + self.shift

def get_init_inputs():
    return [6]

def get_inputs():
    return [torch.randn(4, 6)]
"""


def test_a_plan_of_shapes_is_bound_to_the_weights_of_a_module(tmp_path: Path) -> None:
    from argus.programs.capturing.capture import capture_shapes
    from argus.programs.capturing.torch_file import load_file
    from argus.programs.compiled import CompiledProgram, bound
    from argus.programs.planning.plan import plan_program

    path = tmp_path / "model.py"
    path.write_text(FILE.replace("relu(x ", "minimum(torch.tensor(0.5), x "))
    plan = plan_program(capture_shapes(path))
    loaded = load_file(path, seed=3)
    program = CompiledProgram(bound(plan, loaded.model), run=in_interpreter)
    torch.testing.assert_close(program(*loaded.inputs), loaded.model(*loaded.inputs))
    with pytest.raises(ArgusError) as caught:
        bound(plan, torch.nn.Linear(6, 6))
    assert caught.value.diagnostics[0].code == "AG1041"


def test_a_file_may_look_at_elements_while_it_is_made(tmp_path: Path) -> None:
    from argus.programs.capturing.capture import capture_shapes
    from argus.programs.planning.plan import plan_program

    path = tmp_path / "model.py"
    path.write_text(
        FILE.replace("torch.randn(n))", "torch.randn(n) + torch.ones(1).item())", 1)
    )
    assert "item()" in path.read_text()
    plan = plan_program(capture_shapes(path))
    assert (len(plan.kernels), plan.left) == (1, ())


@dataclass
class Halves:
    """A result and an input that is no list, tuple or dict."""

    first: Any
    second: Any


@dataclass
class Unknown:
    """The same, of which torch knows nothing."""

    first: Any


def test_inputs_and_results_are_of_any_class_that_torch_takes_apart() -> None:
    torch.export.register_dataclass(Halves)

    def turned(x: Halves, factor: float) -> Halves:
        return Halves(x.second * factor, x.first)

    x = Halves(torch.randn(3), torch.randn(4))
    program = CompiledProgram(plan_of(Formula(turned), (x, 2.0)), run=in_interpreter)
    made = program(x, 2.0)
    assert isinstance(made, Halves)
    torch.testing.assert_close(made.first, x.second * 2.0)
    torch.testing.assert_close(made.second, x.first)
    with pytest.raises(ArgusError, match=r"input 2 is 3\.0"):
        program(x, 3.0)


def test_a_result_that_torch_cannot_take_apart_is_named() -> None:
    with pytest.raises(ArgusError, match="it returns `Unknown`") as caught:
        plan_of(Formula(Unknown), (torch.randn(3),))
    found = caught.value.diagnostics[0]
    assert found.code == "AG1041" and "register_dataclass" in (found.help or "")


def test_positions_of_a_dimension_are_tensors_of_their_own() -> None:
    """`unbind` walks an array, which ends where the dimension does."""
    x = torch.randn(2, 3, 5)

    def made(x: Any) -> Any:
        first, second, third = x.unbind(1)
        return first * second + third

    plan = plan_of(Formula(made), (x,))
    assert plan.whole and len(plan.kernels) == 1
    torch.testing.assert_close(interpreted(plan, (x,))[0], made(x))


def test_parts_of_a_tensor_are_replaced() -> None:
    """In zeros they have a border; elsewhere each element is one of two."""
    x, part, row = torch.randn(3, 9, 5), torch.randn(3, 4, 5), torch.randn(3, 5)
    aten = torch.ops.aten

    def made(x: Any, part: Any, row: Any) -> Any:
        alone = aten.slice_scatter(torch.zeros_like(x), part, 1, 3, 7)
        other = aten.select_scatter(aten.slice_scatter(x, part, 1, 5), row, 1, -1)
        return alone, other, aten.slice_scatter(x, part[:, :0], 1, 4, 4)

    inputs = (x, part, row)
    plan = plan_of(Formula(made), inputs)
    assert plan.whole and len(plan.kernels) == 1
    for got, wanted in zip(interpreted(plan, inputs), made(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_truth_value_of_a_whole_row_is_read_once() -> None:
    x, rows = torch.randn(3, 9, 40), torch.rand(9, 1) < 0.5
    plan = plan_of(Formula(lambda x, r: torch.where(r, x, -x)), (x, rows))
    (step,) = plan.kernels
    (got,) = interpreted(plan, (x, rows))
    torch.testing.assert_close(got, torch.where(rows, x, -x), rtol=0, atol=0)
    assert proof_of(step).verdict >= Verdict.PROVED, step.source.text


def test_what_is_written_where_truth_values_say_stays_in_torch() -> None:
    inputs = (torch.zeros(9, 5), torch.arange(9) % 3 == 1, torch.randn(3, 5))

    def made(x: Any, mask: Any, rows: Any) -> Any:
        return torch.ops.aten.index_put(x, [mask], rows, True) * 2

    plan = plan_of(Formula(made), inputs)
    (step,) = plan.left
    assert step.why == "elements written where truth values say"
    torch.testing.assert_close(interpreted(plan, inputs)[0], made(*inputs))


def test_constants_without_dimensions_are_numbers() -> None:
    """Also where torch has them on another device than the program."""
    x = torch.randn(4, 6)
    model = Formula(lambda x: torch.minimum(x, torch.tensor(0.25)) * 2)
    plan = plan_of(model, (x,))
    assert (len(plan.kernels), plan.left) == (1, ())
    assert "0.25" in plan.kernels[0].source.text
    (got,) = interpreted(plan, (x,))
    torch.testing.assert_close(got, model(x))
    same = plan_of(Formula(lambda x: (x * 2, torch.tensor(0.25))), (x,))
    torch.testing.assert_close(interpreted(same, (x,)), [x * 2, torch.tensor(0.25)])


def test_a_sum_counts_nothing_that_is_repeated() -> None:
    """A bias that is added before a mean is added by a kernel of its own."""
    x, bias = torch.randn(4, 6, 5), torch.randn(6)
    model = Formula(lambda x, b: (x * x + b[:, None]).mean((1, 2)))
    plan = plan_of(model, (x, bias))
    assert [step.computes for step in plan.kernels] == ["mul, add", "sum, div"]
    assert all(proof_of(step).verdict >= Verdict.PROVED for step in plan.kernels)
    (got,) = interpreted(plan, (x, bias))
    torch.testing.assert_close(got, model(x, bias))


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_places_are_those_of_the_first_of_equal_numbers(name: str, dim: int) -> None:
    """NaN comes before all numbers; of a row of infinities the first has the place."""
    x = torch.randint(-2, 3, (40, 44)).float()
    x[3, 30] = x[30, 3] = x[33, 3] = x[3, 36] = float("nan")
    x[7], x[:, 7] = -float("inf"), float("inf")
    x[8], x[:, 8] = float("inf"), -float("inf")
    plan = plan_of(Formula(lambda x: getattr(torch, name)(x, dim)), (x,))
    assert len(plan.kernels) == 1
    (got, at), (best, place) = interpreted(plan, (x,)), getattr(torch, name)(x, dim)
    torch.testing.assert_close(got, best, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(at, place)


def test_softmax_of_long_rows_with_infinities_and_nan_is_that_of_torch() -> None:
    x = torch.randn(133, 10240)
    x[1, :5000], x[2], x[3, 5], x[4, 6] = -torch.inf, -torch.inf, torch.nan, torch.inf
    x[5], x[5, 7] = -torch.inf, 1.0
    plan = plan_of(Formula(lambda x: x.softmax(1)), (x,))
    assert len(plan.kernels) == 1
    (got,) = interpreted(plan, (x,))
    torch.testing.assert_close(got, x.softmax(1), rtol=2e-6, atol=2e-6, equal_nan=True)


def test_moments_of_numbers_far_from_0_are_as_precise_as_those_of_torch() -> None:
    x = torch.randn(1, 133, 64, 136) + 1e4
    norm = torch.nn.functional.instance_norm
    plan = plan_of(Formula(norm), (x,))
    (got,) = interpreted(plan, (x,))
    exact = norm(x.double())
    error, of_torch = ((y.double() - exact).norm() for y in (got, norm(x)))
    assert error < 2 * of_torch
    (step,) = plan.kernels
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_positions_of_whole_numbers_are_proved() -> None:
    """Of 64 bits too, whose least number is the padding."""
    wide = torch.int64
    for dtype, dim in (
        *((torch.uint8, 2), (wide, 1)),
        *rest((torch.uint8, 1), (torch.int32, 2), (wide, 2)),
    ):
        x = torch.randint(0, 9, (3, 70, 40), dtype=dtype)
        plan = plan_of(Formula(lambda x, d=dim: x.argmin(d)), (x,))
        (got,) = interpreted(plan, (x,))
        assert torch.equal(got, x.argmin(dim))
        for step in plan.kernels:
            for o in proof_of(step).obligations:
                # Of places of padding by the least number terms do not tell.
                open_ = o.rule == "AG0322" and o.verdict is Verdict.UNKNOWN
                assert open_ or o.slow or o.verdict is Verdict.PROVED, o.reason


def test_windows_are_walked_tap_by_tap() -> None:
    """Results lie side by side; a row of windows that are apart is an axis."""
    functional = torch.nn.functional
    x = torch.randn(2, 3, 13, 26)
    for kernel, stride, window in ((3, 1, False), (3, 2, False), (6, 6, True)):
        model = Formula(lambda x, k=kernel, s=stride: functional.max_pool2d(x, k, s, 1))
        plan = plan_of(model, (x,))
        (step,) = plan.kernels
        form = step.group.form
        assert isinstance(form, GroupTiling)
        axes = {a.loop for a in form.axes}
        assert step.group.lowered is not None
        assert bool(axes & set(step.group.lowered.columns)) == window
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
        (got,) = interpreted(plan, (x,))
        torch.testing.assert_close(got, model(x))


def test_many_tensors_are_put_together_by_several_kernels() -> None:
    rows = [torch.randn(2, 5) for _ in range(70)]
    model = Formula(lambda *x: torch.stack(x, 1))
    plan = plan_of(model, tuple(rows))
    assert len(plan.kernels) == 4 and plan.whole
    assert max(len(step.source.tensors) for step in plan.kernels) <= 25
    torch.testing.assert_close(interpreted(plan, tuple(rows))[0], model(*rows))


def test_few_elements_are_added_tap_by_tap() -> None:
    x = torch.randn(4, 9, 3, 50)
    (step,) = plan_of(Formula(lambda x: x.mean((0, 2))), (x,)).kernels
    assert isinstance(step.group.form, GroupTiling)
    assert step.group.lowered is not None
    axes = {a.loop for a in step.group.form.axes}
    assert axes <= set(step.group.lowered.rows)
    assert proof_of(step).verdict is Verdict.EQUAL


def test_bits_of_whole_numbers() -> None:
    """Also shifts by negative amounts, and by more than there are bits."""
    a, b = torch.randint(-50, 50, (4, 5)), torch.randint(0, 70, (4, 5))
    b[0] = torch.tensor([-1, 0, 63, 64, 3])
    model = Formula(
        lambda a, b: (
            *((a ^ b) & 7, a << 1, a >> b, ~a, (a | 3) << b, (a > 2) ^ (b > 3)),
            (a.to(torch.uint8) << 1) | (b.to(torch.uint8) & 1),
            a.to(torch.int16) << 9,
        )
    )
    plan = plan_of(model, (a, b))
    assert plan.whole
    for got, wanted in zip(interpreted(plan, (a, b)), model(a, b), strict=True):
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)


def test_elements_that_kernels_lack_stay_in_torch() -> None:
    """The rest of the program has kernels; a written program says the same."""
    x, z = torch.randn(4, 6), torch.complex(torch.randn(4, 6), torch.randn(4, 6))
    model = Formula(
        lambda x, z: (
            torch.relu(x) + torch.fft.fft(x.double()).abs(),
            (x.double() * 2).t(),
            z.to(torch.complex32).t(),
            (z * z.conj()).real + x,
        )
    )
    plan = plan_of(model, (x, z))
    whys = [step.why for step in plan.left]
    assert set(whys) == {
        "kernels have no elements of type complex32",
        "cuFFT transforms faster than products of matrices would",
    }  # fmt: skip
    assert any("f64" in k.source.text for k in plan.kernels)
    files = KernelFiles()
    data = json.loads(json.dumps(files.plan_data(plan)))
    for each in (plan, plan_of_data(data, files.texts, "cpu")):
        for got, wanted in zip(interpreted(each, (x, z)), model(x, z), strict=True):
            assert got.dtype == wanted.dtype and got.stride() == wanted.stride()
            torch.testing.assert_close(got, wanted)


def test_a_compiled_module_on_the_cpu_is_proved_and_interpreted() -> None:
    x = torch.randn(5, 7)
    made = argus.compile(Formula(lambda x: torch.relu(x) * 2 + x.mean()), (x,))
    torch.testing.assert_close(made(x), torch.relu(x) * 2 + x.mean())
    away = plan_of(Formula(torch.relu), (x,))
    elsewhere = replace(away, program=replace(away.program, device="xpu:0"))
    with pytest.raises(ArgusError, match="AG1047"):
        CompiledProgram(elsewhere)(x)


def test_numbers_that_windows_add_are_counted() -> None:
    """Of what is added for each tap, a constant is added as often as there are taps."""
    x = torch.randn(2, 3, 12, 14)
    model = Formula(lambda x: torch.nn.functional.avg_pool2d(torch.tanh(x) - 0.2, 2))
    for step in plan_of(model, (x,)).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_numbers_among_what_torch_computes_are_known() -> None:
    """Torch says them without elements, so that kernels before and after stay."""
    library = torch.library.Library("argus_numbers", "DEF")
    library.define("halves(Tensor x) -> (Tensor, int)")
    library.impl("halves", lambda x: (x / 2, x.shape[0]), "CompositeExplicitAutograd")
    library.impl("halves", lambda x: (torch.empty_like(x), x.shape[0]), "Meta")

    def call(x: Any) -> Any:
        half, rows = torch.ops.argus_numbers.halves(torch.relu(x))
        return torch.exp(half) * rows, rows

    x = torch.randn(6, 5)
    plan = plan_of(Formula(call), (x,))
    assert len(plan.kernels) == 2 and len(plan.left) == 1
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    assert got[1] == 6
    torch.testing.assert_close(got[0], call(x)[0])


@pytest.mark.parametrize(
    ("model", "inputs", "said"),
    [
        (None, (), "`model` is to be a torch.nn.Module, given a NoneType"),
        (torch.relu, (), "`model` is to be a torch.nn.Module, given a builtin"),
        (torch.nn.Linear(2, 2), torch.ones(2, 2), "given a Tensor"),
        (torch.nn.Linear(2, 2), None, "given a NoneType"),
    ],
)
def test_what_is_no_module_and_no_inputs(model: Any, inputs: Any, said: str) -> None:
    with pytest.raises(ArgusError) as caught:
        argus.compile(model, inputs)
    assert caught.value.codes == ("AG0801",)
    assert said in " ".join(str(caught.value).split())
