"""Gradients of convolutions are kernels, and those of torch.

Kernels run in the interpreter; what is exact is computed in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs import backend, compiled  # noqa: E402
from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.planning import grouping  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

Sizes = tuple[int, ...]
CASES: dict[str, tuple[Callable[..., Any], Sizes, Sizes, bool]] = {
    "same size": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1),
        (2, 8, 6, 7), (16, 8, 3, 3), True,
    ),
    "steps that leave a rest": (
        lambda x, w: functional.conv2d(x, w, None, 2, 1),
        (2, 8, 7, 8), (16, 8, 3, 3), True,
    ),
    "one tap": (
        lambda x, w: functional.conv2d(x, w, None, 2), (2, 8, 7, 8), (16, 8, 1, 1), True
    ),
    "patches": (
        lambda x, w: functional.conv2d(x, w, None, 4),
        (2, 3, 8, 12), (16, 3, 4, 4), True,
    ),
    "groups": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1, 1, 2),
        (2, 16, 5, 6), (16, 8, 3, 3), True,
    ),
    "a filter for each channel": (
        lambda x, w: functional.conv2d(x, w, None, 2, 1, 1, 8),
        (2, 8, 5, 6), (8, 1, 3, 3), True,
    ),
    "taps and steps of several sizes": (
        lambda x, w: functional.conv2d(x, w, None, (1, 2), (2, 1), (2, 1)),
        (2, 4, 9, 8), (8, 4, 3, 2), False,
    ),
    "one dimension": (
        lambda x, w: functional.conv1d(x, w, None, 2, 1), (2, 8, 12), (16, 8, 3), True
    ),
    "three dimensions in groups": (
        lambda x, w: functional.conv3d(x, w, None, 2, 1, 1, 2),
        (1, 4, 4, 5, 3), (8, 2, 3, 3, 3), True,
    ),
    "every second pixel": (
        lambda x, w: functional.conv2d(x, w, None, 2),
        (2, 16, 7, 8), (24, 16, 1, 1), True,
    ),
    "every third pixel, with a border": (
        lambda x, w: functional.conv2d(x, w, None, (3, 2), (1, 2)),
        (2, 16, 9, 7), (16, 16, 1, 1), True,
    ),
    "every second pixel, in groups": (
        lambda x, w: functional.conv2d(x, w, None, 2, 0, 1, 2),
        (2, 32, 6, 7), (32, 16, 1, 1), True,
    ),
    "patches of many channels": (
        lambda x, w: functional.conv2d(x, w, None, 2),
        (2, 16, 7, 8), (24, 16, 2, 2), True,
    ),
    "patches with gaps and a border": (
        lambda x, w: functional.conv2d(x, w, None, (3, 4), 1),
        (2, 16, 10, 9), (16, 16, 2, 3), True,
    ),
    "patches of volumes": (
        lambda x, w: functional.conv3d(x, w, None, 2, (1, 0, 1)),
        (1, 16, 4, 5, 6), (16, 16, 2, 1, 2), True,
    ),
    "every second frame": (
        lambda x, w: functional.conv1d(x, w, None, 2), (2, 16, 9), (16, 16, 1), True
    ),
    "many taps of each channel": (
        lambda x, w: functional.conv2d(x, w, None, 1, 3, 1, 4),
        (2, 4, 8, 9), (4, 1, 7, 7), True,
    ),
    "many taps of channels that lie side by side": (
        lambda x, w: functional.conv2d(
            x.permute(0, 3, 1, 2), w, None, 1, 2, 1, 4
        ).permute(0, 2, 3, 1),
        (2, 24, 24, 4), (4, 1, 3, 3), True,
    ),
    "few channels of a group": (
        lambda x, w: functional.conv2d(x, w, None, 1, 1, 1, 2),
        (2, 8, 8, 10), (8, 4, 3, 3), True,
    ),
    "a long sum": (
        lambda x, w: functional.conv2d(x, w), (4, 16, 16, 32), (16, 16, 1, 1), True
    ),
    "transposed patches": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 3, 1, (1, 2)),
        (2, 16, 4, 5), (16, 16, 2, 3), True,
    ),
    "transposed": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1),
        (2, 8, 4, 5), (8, 4, 3, 3), True,
    ),
    "transposed, taps apart": (
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1, 1, 3),
        (2, 8, 4, 5), (8, 4, 3, 3), True,
    ),
    "transposed in groups": (
        lambda x, w: functional.conv_transpose1d(x, w, None, 2, 1, 1, 2),
        (2, 8, 6), (8, 8, 3), True,
    ),
}  # fmt: skip
"""Function, sizes of input and filters, and whether nothing stays in torch."""

PROVED = few(
    (
        "every second pixel", "every third pixel, with a border",
        "every second pixel, in groups", "patches with gaps and a border",
        "patches of volumes", "every second frame", "many taps of each channel",
        "many taps of channels that lie side by side", "few channels of a group",
        "a long sum", "transposed patches",
    ),
    "every third pixel, with a border", "many taps of each channel",
    "few channels of a group", "a long sum",
)  # fmt: skip
"""Of the others dimensions, or a step, or the order of channels are others.

Loops over those of a video are proved below.
"""
ROUNDED = few(
    [name for name in CASES if name not in PROVED],
    "same size", "a filter for each channel", "transposed",
)  # fmt: skip
"""In 16 bits, too: one of each kind of product and sum."""

TRIED = few(
    CASES,
    *CASES.keys() - {
        "one tap", "every second pixel", "every second pixel, in groups",
        "every second frame", "one dimension", "transposed, taps apart",
    },
)  # fmt: skip
"""Those left out have fewer dimensions, or two of what others have each."""

F32, BF16 = torch.float32, torch.bfloat16
BOTH = [
    (name, dtype)
    for name in TRIED
    for dtype in ((F32, BF16) if name in ROUNDED else (F32,))
]


@pytest.mark.parametrize(("name", "dtype"), BOTH)
def test_gradients_are_those_of_torch(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of those that are proved, kernels are equal to their references."""
    function, *sizes, whole = CASES[name]
    plans: list[ProgramPlan] = []

    def called(plan: ProgramPlan, *rest: Any) -> Any:
        plans.append(plan)
        return compiled.called(plan, *rest)

    monkeypatch.setattr(backend, "called", called)
    torch._dynamo.reset()
    reports: list[GraphReport] = []
    given = [random(*s).to(dtype).requires_grad_() for s in sizes]
    options = {"interpret": True, "report": reports.append}
    call = torch.compile(function, backend=argus_backend, options=options)
    result = call(*given)
    back = random(*result.shape).to(dtype)
    found = torch.autograd.grad(result, given, back)
    exact = [x.detach().double().requires_grad_() for x in given]
    wanted = torch.autograd.grad(function(*exact), exact, back.double())
    for f, w in zip(found, wanted, strict=True):
        off = float((f - w).norm() / w.norm())
        # TF32 rounds factors to 11 bits, bf16 the result to 8.
        assert off < (1e-3 if dtype == F32 else 3e-3), (name, off)
    assert [r.role for r in reports] == ["forward", "backward"]
    if whole:
        assert not any(r.left or r.whole for r in reports)
    if name not in PROVED:
        return
    assert len(plans) == 2
    for step in plans[1].kernels:
        verdicts = {Verdict.EQUAL}
        if step.source.name == "copy":  # beside zeros, which no reference is traced for
            verdicts.add(Verdict.PROVED)
        assert proof_of(step).verdict in verdicts, step.source.text


def test_patches_of_a_video_whose_times_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loops that no dimension walks alone are one for TMA, in steps that it takes."""
    # So few elements are copied side by side; of more this is how they are read.
    monkeypatch.setattr(grouping, "no_short_sums", lambda *_: None)

    def filters(back: Any, x: Any, w: Any) -> Any:
        back = back.transpose(1, 2).reshape(1, 16, 2, 2, 2)
        return torch.ops.aten.convolution_backward(
            back, x, w, None, (2, 8, 8), (0, 0, 0), (1, 1, 1), False, (0, 0, 0), 1,
            (False, True, False),
        )[1]  # fmt: skip

    shapes = (1, 8, 16), (1, 4, 3, 16, 16), (16, 3, 2, 8, 8)
    back, video, w = (random(*s).bfloat16() for s in shapes)
    inputs = (back, video.transpose(1, 2), w)
    plan = plan_of(Formula(filters), inputs)
    (step,) = plan.kernels
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = filters(*(t.double() for t in inputs))
    assert float((got - wanted).norm() / wanted.norm()) < 3e-3


def test_few_filters_whose_gradients_lie_channels_last_are_sums_along_lines() -> None:
    """Heads of detectors show boxes so: 855 microseconds for 6 filters of 64 x 64."""

    def of_filters(given: Any, x: Any) -> Any:
        filters = torch.empty(given.shape[1], x.shape[1], 3, 3)
        ways = [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
        backward = torch.ops.aten.convolution_backward
        return backward(given, x, filters, None, *ways)[1]

    def turned(*shape: int) -> Any:
        return torch.randn(shape).to(memory_format=torch.channels_last)

    inputs = (turned(4, 6, 32, 32), torch.randn(4, 32, 32, 32))
    plan = plan_of(Formula(of_filters), inputs)
    assert plan.whole
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 60
    small = (turned(2, 3, 5, 6), torch.randn(2, 4, 5, 6))
    plan = plan_of(Formula(of_filters), small)
    got = run_plan(plan, small, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, of_filters(*small), rtol=3e-3, atol=3e-3)  # TF32
