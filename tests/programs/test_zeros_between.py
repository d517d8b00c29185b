"""Transposed convolutions with zeros between elements of inputs or results."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.convolutions import zeros_between  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few, rest  # noqa: E402
from programs.modules import Formula  # noqa: E402

_transposed1d = torch.nn.functional.conv_transpose1d
_transposed2d = torch.nn.functional.conv_transpose2d
_transposed3d = torch.nn.functional.conv_transpose3d


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where few zeros are multiplied."""
    monkeypatch.setattr(zeros_between, "_MULTIPLIED", 1.0)


def _run(plan: ProgramPlan, inputs: Any) -> Any:
    return run_plan(plan, inputs, plan.program.tensors, in_interpreter)


def _meta(shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    return tuple(torch.empty(shape, device="meta") for shape in shapes)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("stride", [2, *rest(3, 4)])
def test_lines(stride: int) -> None:
    """Every padding, dilation and length behind: what is no multiple is zero."""
    torch.manual_seed(0)
    for dilation, padding, more in product((2, 3, 4, 6), range(4), (0, 1)):
        if more >= max(stride, dilation):
            continue
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        function = partial(_transposed1d, **options, output_padding=more)
        inputs = (torch.randn(2, 3, 4), torch.randn(3, 2, 3))
        plan = plan_of(Formula(function), inputs)
        wanted = function(*inputs)
        found = _run(plan, inputs)
        assert found.shape == wanted.shape
        torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)


IMAGES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "all dimensions": (
        partial(_transposed3d, stride=2, padding=1, dilation=2),
        (1, 16, 2, 3, 4), (16, 16, 3, 3, 3),
    ),
    "one of them": (
        partial(_transposed2d, stride=(2, 3), padding=(1, 2), dilation=(2, 1)),
        (1, 32, 5, 6), (32, 16, 3, 5),
    ),
    "groups, and more behind": (
        partial(_transposed2d, stride=4, dilation=6, output_padding=3, groups=2),
        (2, 32, 3, 4), (32, 8, 2, 3),
    ),
    "nothing divides both": (
        partial(_transposed2d, stride=5, padding=1, dilation=2),
        (1, 16, 3, 4), (16, 16, 3, 3),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", few(IMAGES, "one of them", "groups, and more behind"))
def test_images(name: str) -> None:
    function, x, w = IMAGES[name]
    torch.manual_seed(0)
    inputs = (torch.randn(x), torch.randn(w))
    plan = plan_of(Formula(function), inputs)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    wanted = function(*inputs)
    error = (_run(plan, inputs) - wanted).abs().max() / wanted.abs().max()
    assert error < 2e-3


def test_zeros_are_not_multiplied_where_there_are_many() -> None:
    """Of eight results one is no zero; 1-D ones take less time than their copies."""
    function = partial(_transposed3d, stride=2, padding=1, dilation=2)
    shapes = ((16, 32, 16, 32, 32), (32, 64, 3, 3, 3))
    results = prod(function(*_meta(shapes)).shape)
    plan = plan_of(
        Formula(function), tuple(torch.empty(s, device="meta") for s in shapes)
    )
    (step,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    lowered = step.group.lowered
    assert lowered is not None
    assert prod(lowered.sizes[n] for n in lowered.rows) < results / 6
    line = partial(_transposed1d, stride=2, padding=1, dilation=2)
    shapes = ((16, 32, 131072), (32, 64, 3))
    plan = plan_of(Formula(line), _meta(shapes))
    assert len(plan.kernels) == 4
