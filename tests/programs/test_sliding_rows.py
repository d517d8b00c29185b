"""Windows with channels last: a thread holds a row, of which its taps are slices."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tiles.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import random  # noqa: E402

nn = torch.nn
LAST = torch.channels_last
LAST_3D = torch.channels_last_3d


def _depthwise(channels: int, size: int, **named: Any) -> Any:
    return nn.Conv2d(channels, channels, size, groups=channels, **named)


class AlongTime(nn.Module):
    """Sequences whose channels lie side by side, as a conformer has them."""

    def __init__(self) -> None:
        super().__init__()
        self.across = nn.Conv1d(64, 64, 7, padding=3, groups=64)

    def forward(self, x: Any) -> Any:
        return nn.functional.silu(self.across(x.transpose(1, 2)).transpose(1, 2))


Case = tuple[Any, Any, tuple[int, int] | None]

CASES: dict[str, Case] = {
    "7x7": (_depthwise(64, 7, padding=3), random(2, 64, 9, 17), (4, 64)),
    "bf16": (
        _depthwise(96, 5, padding=2, bias=False).bfloat16(),
        random(1, 96, 9, 9).bfloat16(),
        (3, 128),
    ),
    "strides": (_depthwise(64, 3, padding=1, stride=2), random(2, 64, 11, 19), (4, 64)),
    "dilation": (
        _depthwise(64, 5, padding=4, dilation=2),
        random(2, 64, 9, 15),
        (4, 64),
    ),
    "extremes": (nn.MaxPool2d(3, 2, 1), random(2, 64, 11, 19), (4, 64)),
    "means": (
        nn.AvgPool2d(3, 1, 1, count_include_pad=False),
        random(2, 64, 9, 7),
        (3, 64),
    ),
    "volumes": (
        nn.Conv3d(64, 64, 3, padding=1, groups=64),
        random(1, 64, 4, 5, 6),
        (3, 64),
    ),
    "sequences": (AlongTime(), random(2, 20, 64), (4, 64)),
    "few channels": (_depthwise(13, 3, padding=1), random(2, 13, 9, 9), None),
    "many taps": (_depthwise(64, 13, padding=6), random(1, 64, 9, 9), None),
}
PROVED = few(CASES, "strides", "extremes", "sequences")


def _planned(name: str) -> tuple[ProgramPlan, Any, Any]:
    model, x, _ = CASES[name]
    if x.ndim > 3:
        layout = LAST if x.ndim == 4 else LAST_3D
        model, x = model.to(memory_format=layout), x.to(memory_format=layout)
    with torch.no_grad():
        return plan_of(model.eval(), (x,)), x, model(x)


@pytest.mark.parametrize("name", CASES)
def test_rows_are_read_once(name: str) -> None:
    plan, x, wanted = _planned(name)
    forms = [s.group.form for s in plan.kernels]
    sizes = [
        tuple(a.size for a in form.axes)
        for form in forms
        if isinstance(form, GroupTiling) and form.slide
    ]
    assert (sizes or [None]) == [CASES[name][2]]
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("name", PROVED)
def test_they_are_equal_to_their_references(name: str) -> None:
    for step in _planned(name)[0].kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    ("taps", "step", "dtype", "sizes"),
    [
        (7, 1, torch.bfloat16, (14, 128)),
        (7, 1, torch.float32, (14, 64)),
        (7, 2, torch.float32, (7, 64)),
        (3, 1, torch.bfloat16, (7, 128)),
    ],
)
def test_large_images_have_long_rows(
    taps: int, step: int, dtype: Any, sizes: tuple[int, int]
) -> None:
    model = _depthwise(384, taps, padding=taps // 2, stride=step, bias=False)
    model = model.to(dtype).to(memory_format=LAST)
    x = torch.zeros(32, 384, 28, 28, dtype=dtype).to(memory_format=LAST)
    *_, step_ = plan_of(model.eval(), (x,)).kernels
    form = step_.group.form
    assert isinstance(form, GroupTiling) and form.slide is not None
    assert tuple(a.size for a in form.axes) == sizes
