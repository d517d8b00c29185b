"""Which kernels gradients of convolutions of usual models are.

Nothing is computed: plans say which kernels they have, the model how long they take.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula  # noqa: E402

Case = tuple[tuple[int, ...], tuple[int, ...], int, int, int, int]

CASES: dict[str, Case] = {
    "resnet 1x1": ((8, 64, 56, 56), (256, 64, 1, 1), 1, 0, 1, 1),
    "resnet 1x1, many channels": ((8, 2048, 7, 7), (512, 2048, 1, 1), 1, 0, 1, 1),
    "resnet 1x1, every second pixel": ((8, 256, 56, 56), (512, 256, 1, 1), 2, 0, 1, 1),
    "the same of a small image": ((8, 1024, 14, 14), (2048, 1024, 1, 1), 2, 0, 1, 1),
    "resnet 3x3": ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1, 1),
    "resnet 3x3, a small image": ((8, 512, 7, 7), (512, 512, 3, 3), 1, 1, 1, 1),
    "resnet 3x3, every second pixel": ((8, 128, 56, 56), (128, 128, 3, 3), 2, 1, 1, 1),
    "convnext patches": ((8, 96, 56, 56), (192, 96, 2, 2), 2, 0, 1, 1),
    "convnext stem": ((8, 3, 224, 224), (96, 3, 4, 4), 4, 0, 1, 1),
    "vit stem": ((8, 3, 224, 224), (768, 3, 16, 16), 16, 0, 1, 1),
    "resnext groups": ((4, 256, 28, 28), (256, 32, 3, 3), 1, 1, 1, 8),
    "deeplab, taps apart": ((4, 128, 28, 28), (128, 128, 3, 3), 1, 2, 2, 1),
    "whisper": ((8, 80, 3000), (384, 80, 3), 1, 1, 1, 1),
    "whisper, every second frame": ((8, 384, 1500), (384, 384, 3), 2, 1, 1, 1),
    "unet of volumes": ((2, 32, 8, 28, 28), (64, 32, 3, 3, 3), 1, 1, 1, 1),
    "1x1 in groups, every second pixel": ((4, 64, 28, 28), (64, 32, 1, 1), 2, 0, 1, 2),
}
"""Input, filters, stride, padding, dilation, groups, of 16 channels or more."""

TRIED = few(
    CASES,
    "resnet 1x1, every second pixel", "resnet 3x3", "resnet 3x3, a small image",
    "convnext patches", "vit stem", "resnext groups", "deeplab, taps apart",
    "whisper, every second frame", "unet of volumes",
)  # fmt: skip
"""Those left out have other sizes, or two of what these have each."""

DEPTHWISE: dict[str, tuple[Case, float]] = {
    "convnext": (((8, 96, 56, 56), (96, 1, 7, 7), 1, 3, 1, 96), 150),
    "convnext, a small image": (((8, 768, 7, 7), (768, 1, 7, 7), 1, 3, 1, 768), 100),
    "efficientnet": (((8, 32, 112, 112), (32, 1, 3, 3), 1, 1, 1, 32), 120),
    "efficientnet, strided": (((8, 144, 56, 56), (144, 1, 5, 5), 2, 2, 1, 144), 80),
    "no border": (((8, 32, 112, 112), (32, 1, 3, 3), 1, 0, 1, 32), 120),
    "few channels of a group": (((4, 128, 28, 28), (128, 4, 3, 3), 1, 1, 1, 32), 60),
    "mamba": (((8, 768, 1024), (768, 1, 4), 1, 3, 1, 768), 80),
}
"""And microseconds of the gradient of filters on an H200: twice what is predicted.
Blocks of a tap each, which walk all pixels one after the other, take 100 times as long.
"""


@cache
def _gradient(case: Case, number: int) -> ProgramPlan:
    """Of the input (0), or of the filters (1)."""
    x, weight, stride, padding, dilation, groups = case
    count = len(x) - 2
    space = [
        (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for n, k in zip(x[2:], weight[2:], strict=True)
    ]
    each = [[v] * count for v in (stride, padding, dilation)]
    wanted = [number == 0, number == 1, False]

    def call(given: Any, x: Any, weight: Any) -> Any:
        back = torch.ops.aten.convolution_backward(
            given, x, weight, None, *each, False, [0] * count, groups, wanted
        )
        return back[number]

    given = (x[0], weight[0], *space)
    return plan_of(Formula(call), tuple(torch.zeros(s) for s in (given, x, weight)))


@pytest.fixture(autouse=True)
def _tf32() -> Iterator[None]:
    """What torch multiplies by default on a GPU."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = True
    yield
    torch.backends.cudnn.allow_tf32 = before


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", TRIED)
def test_tensor_cores_compute_gradients(name: str, number: int) -> None:
    plan = _gradient(CASES[name], number)
    assert not plan.left
    products = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    assert len(products) == 1
    for step in plan.kernels:  # what is beside it is made of maps and short sums
        if step not in products:
            assert not step.group.lowered or not step.group.lowered.products


@pytest.mark.parametrize("name", TRIED)
def test_gradients_of_filters_fill_a_gpu(name: str) -> None:
    """The sum is long and the result small: parts of the sum are results first."""
    plan = _gradient(CASES[name], 1)
    (product,) = [s for s in plan.kernels if isinstance(s.group.form, ProductForm)]
    assert prediction_of(product).microseconds < 60


@pytest.mark.parametrize("name", DEPTHWISE)
def test_filters_of_few_channels_are_summed_by_many_blocks(name: str) -> None:
    case, most = DEPTHWISE[name]
    plan = _gradient(case, 1)
    assert not plan.left
    assert sum(prediction_of(s).microseconds for s in plan.kernels) < most
