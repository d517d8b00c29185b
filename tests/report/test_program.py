"""The page of a program: every step in its place, and nothing from strangers."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("torch")

from argus.agent.tasks.program import (
    ChosenProgram,
    key_of,
    program_tasks,
    with_kernels,
)
from argus.programs.planning.plan import KernelStep
from argus.report.program import HEIGHT, picture_of, program_page

MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 256)

    def forward(self, x, y):
        z = torch.relu(self.first(x))
        return torch.softmax(z, -1) + torch.special.bessel_j0(y)


def get_inputs():
    return [torch.randn(96, 64), torch.randn(96, 256)]
"""


@pytest.fixture
def chosen(tmp_path: Path) -> ChosenProgram:
    path = tmp_path / "<b>net.py"
    path.write_text(MODEL)
    found = program_tasks(path)
    kernel = next(k for k in found.kernels if k.task is not None)
    assert kernel.task is not None
    start = kernel.task.start
    knob = next(k for k, v in start.statics.items() if isinstance(v, int) and v > 16)
    value = int(start.statics[knob]) // 2
    other = start.model_copy(
        update={
            "statics": {**start.statics, knob: value},
            "design": {**start.design, knob: value},
        }
    )
    return with_kernels(found, {kernel.task.name: other}, measured=True)


class Counted(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(str(value))
            if name == "href" and str(value).startswith("#"):
                self.links.append(str(value)[1:])


def test_each_step_is_below_what_it_reads(chosen: ChosenProgram) -> None:
    picture = picture_of(chosen, {key_of(k.planned.step): k for k in chosen.kernels})
    plan = chosen.plans.plan
    kinds = [box.kind for box in picture.boxes]
    assert kinds.count("input") == 2
    assert kinds.count("torch") == len(plan.left) == 1
    assert len(picture.boxes) == 2 + len(plan.steps)
    places = {(box.x, box.y) for box in picture.boxes}
    assert len(places) == len(picture.boxes)
    for line in picture.lines:
        start, end = line.path.split(" C ")
        bottom = int(start.split()[2])
        top = int(end.split(", ")[-1].split()[1])
        assert bottom < top and bottom % (HEIGHT + 40) == HEIGHT
    assert sum(box.part for box in picture.boxes) == pytest.approx(1.0)
    changed = [k for k in chosen.kernels if k.design]
    assert kinds.count("faster") == sum(k.planned.count for k in changed)


def test_the_page_is_whole(chosen: ChosenProgram) -> None:
    task = next(k.planned.task for k in chosen.kernels if k.planned.task is not None)
    text = program_page(chosen, {task.name: "20260101-run"}, measured=False)
    page = Counted()
    page.feed(text)
    assert "script" not in page.tags and "b" in page.tags
    assert set(page.links) <= page.ids
    assert "&lt;b&gt;net.py" in text and "<b>net" not in text
    assert 'href="20260101-run.html"' in text
    steps = [s for s in chosen.plans.plan.steps if isinstance(s, KernelStep)]
    assert all(step.source.name in text for step in steps)
    assert "predicted" in text and "There was no GPU" in text
