"""Convolutions to few channels, and those of one window, are products of matrices.

Sums over all channels and taps one after the other, for each channel of the result,
took 4 to 10 times as long: the last layer of a generator, decoder or discriminator.
"""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few, rest  # noqa: E402

Shape = tuple[int, ...]
LAYERS: dict[str, tuple[nn.Module, Shape]] = {
    "one channel": (nn.Conv2d(64, 1, 3, padding=1), (2, 64, 8, 8)),
    "few of a line": (nn.Conv1d(64, 2, 5, padding=4, dilation=2), (2, 64, 33)),
    "few of a group": (nn.Conv2d(64, 4, 3, padding=1, groups=2), (2, 64, 8, 8)),
    "an image": (nn.ConvTranspose2d(64, 3, 4, 2, 1), (2, 64, 8, 8)),
    "one channel in phases": (nn.ConvTranspose2d(32, 1, 3, 2, 1, 1), (2, 32, 8, 9)),
    "one channel of each": (nn.ConvTranspose2d(32, 1, 3, 1, 1), (2, 32, 8, 8)),
    "of one pixel": (nn.ConvTranspose2d(40, 32, 4, 1, 0), (3, 40, 1, 1)),
    "of one pixel, cropped": (nn.ConvTranspose2d(40, 32, 4, 3, 1, 1), (3, 40, 1, 1)),
    "of one row": (nn.ConvTranspose2d(40, 32, (3, 4), (2, 4), (0, 1)), (3, 40, 1, 5)),
    "one window": (nn.Conv2d(32, 20, 4), (5, 32, 4, 4)),
    "one window with borders": (
        nn.Conv2d(32, 40, 4, padding=1, groups=2, stride=3),
        (2, 32, 3, 4),
    ),
}
WHOLE: dict[str, tuple[nn.Module, Shape, float]] = {
    "decoder": (nn.ConvTranspose2d(64, 3, 4, 2, 1), (64, 64, 32, 32), 266),
    "patches": (nn.Conv2d(512, 1, 4, padding=1), (8, 512, 31, 31), 873),
    "generator": (nn.ConvTranspose2d(100, 512, 4, 1, 0), (64, 100, 1, 1), 103),
    "score": (nn.Conv2d(512, 1, 4), (64, 512, 4, 4), 868),
    "denoiser": (nn.Conv2d(64, 3, 3, padding=1), (16, 64, 64, 64), 254),
    "many taps": (nn.Conv2d(64, 3, 9, padding=4), (1, 64, 180, 320), 360),
}
"""And the microseconds that were predicted of loops."""


KEPT = few(
    LAYERS, "few of a line", "an image", "one channel in phases",
    "of one pixel, cropped", "one window with borders",
)  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_convolution_to_few_channels_is_a_product(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    layer, shape = LAYERS[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    plan = plan_of(layer, (x,))
    assert not plan.left
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    with torch.no_grad():
        wanted = layer(x)
    torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    forms = [step.group.form for step in plan_of(layer, (x,)).kernels]
    assert any(isinstance(form, ProductForm) for form in forms)


@pytest.mark.parametrize("name", ["one channel in phases", *rest("one channel")])
def test_such_products_are_proved(name: str) -> None:
    layer, shape = LAYERS[name]
    for step in plan_of(layer, (torch.empty(shape),)).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    "name", few(WHOLE, "decoder", "patches", "generator", "many taps")
)
def test_such_layers_take_no_longer_than_they_have_to(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    layer, shape, before = WHOLE[name]
    plan = plan_of(layer, (torch.empty(shape),))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < before / 2


LINES: dict[str, tuple[nn.Module, Shape, int]] = {
    # a layer, its input, columns of the product
    "an image": (nn.Conv2d(64, 3, 7, padding=3), (2, 64, 5, 24), 21),
    "dilated": (nn.Conv2d(40, 2, 5, padding=4, dilation=2), (1, 40, 9, 20), 10),
    "no borders": (nn.Conv2d(72, 1, (3, 5), bias=False), (1, 72, 6, 21), 5),
    "one border": (nn.Conv2d(64, 3, 3, padding=(0, 2)), (1, 64, 5, 20), 9),
    "a volume": (nn.Conv3d(32, 1, 3, padding=1), (1, 32, 3, 4, 18), 3),
}


@pytest.mark.parametrize("element", [torch.bfloat16, *rest(torch.float32)])
@pytest.mark.parametrize("name", few(LINES, "an image", "dilated", "a volume"))
def test_taps_of_a_line_are_columns(
    name: str, element: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    torch.manual_seed(0)
    layer, shape, columns = LINES[name]
    layer, x = copy.deepcopy(layer).to(element), torch.randn(shape, dtype=element)
    plan = plan_of(layer, (x,))
    (product,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    form = product.group.form
    assert isinstance(form, ProductForm)
    assert columns in (product.loops[form.row], product.loops[form.column])
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    with torch.no_grad():
        wanted = copy.deepcopy(layer).double()(x.double())
    error = float((made.double() - wanted).norm() / wanted.norm())
    assert error < {torch.bfloat16: 4e-3, torch.float32: 1e-5}[element]
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}


@pytest.mark.parametrize("element", [torch.bfloat16, torch.float32])
def test_short_sums_of_many_filters_are_products(
    element: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One channel of sound: 10 products each, for 64 filters."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    torch.manual_seed(0)
    layer = nn.Conv1d(1, 64, 10, stride=5).to(element)
    x = torch.randn(2, 1, 400, dtype=element)
    plan = plan_of(layer, (x,))
    assert any(isinstance(s.group.form, ProductForm) for s in plan.kernels)
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    with torch.no_grad():
        wanted = copy.deepcopy(layer).double()(x.double())
    error = float((made.double() - wanted).norm() / wanted.norm())
    assert error < {torch.bfloat16: 4e-3, torch.float32: 1e-6}[element]
    assert {proof_of(s).verdict for s in plan.kernels} == {Verdict.EQUAL}
