"""Layers that are equal have one kernel text, proof and prediction between them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from argus.equivalence import programs  # noqa: E402
from argus.programs.planning import alike, grouping, merging, predictions, proofs  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402


class Layer(nn.Module):
    """A normalisation, its scale, and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(96))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        halves = torch.softmax(x / length * self.scale, -1)
        return x + halves.sum(0, keepdim=True)


def layers(count: int) -> ProgramPlan:
    model = nn.Sequential(*(Layer() for _ in range(count)))
    return plan_of(model.eval(), (torch.randn(64, 96),))


planned = cache(layers)
"""Where what is done to plan them is not the point."""
FEW, MANY = 7, 13
"""Layers of which each has a kernel of its own, and none a text.

Kernels end at the same places of each third layer.
"""


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    calls: list[object] = []
    original = getattr(module, name)

    def call(first: object, *others: object, **named: object) -> object:
        calls.append(first)
        return original(first, *others, **named)

    monkeypatch.setattr(module, name, call)
    return calls


def test_texts_say_nothing_of_the_layer() -> None:
    few, many = planned(FEW), planned(MANY)
    assert len(many.kernels) - len(few.kernels) >= MANY - FEW
    assert {s.source.text for s in many.kernels} == {s.source.text for s in few.kernels}


def test_a_name_is_one_text() -> None:
    kernels = planned(FEW).kernels
    texts = {s.source.name: s.source.text for s in kernels}
    assert len(texts) == len({s.source.text for s in kernels}) < len(kernels)
    assert all(texts[s.source.name] == s.source.text for s in kernels)


def test_planning_further_layers_lowers_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = [
        counted(monkeypatch, grouping, "lowered"),
        counted(monkeypatch, merging, "lowered"),
        counted(monkeypatch, grouping, "source_of"),
        counted(monkeypatch, alike, "source_of"),
    ]
    found: list[list[int]] = []
    for count in (FEW, MANY):
        for one in calls:
            one.clear()
        layers(count)
        found.append([*map(len, calls)])
    assert found[0] == found[1]
    assert all(found[0])


def test_a_kernel_of_another_layer_reads_and_writes_its_own_values() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(5))).eval()
    x = torch.randn(8, 96)
    plan = plan_of(model, (x,))
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, model(x), rtol=2e-5, atol=2e-5)


def test_equal_kernels_are_proved_and_predicted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path))
    proved = counted(monkeypatch, proofs, "proved")
    placed = counted(monkeypatch, predictions, "placed_program")
    found: list[tuple[int, int]] = []
    for count in (FEW, MANY):
        proofs.forget()
        predictions.forget()
        for folder in tmp_path.iterdir():
            folder.rename(tmp_path.parent / f"{count}_{folder.name}")
        proved.clear()
        placed.clear()
        for step in planned(count).kernels:
            proofs.proof_of(step)
            predictions.prediction_of(step)
        found.append((len(proved), len(placed)))
    assert found[0] == found[1]


def test_a_report_is_read_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path))
    proofs.forget()
    step = layers(1).kernels[0]
    made = proofs.proof_of(step)
    proofs.forget()
    proved = counted(monkeypatch, proofs, "proved")
    assert proofs.proof_of(step) == made
    assert not proved


def test_all_that_is_asked_of_a_kernel_is_asked_of_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data flow and order, the search for a difference, and its terms."""
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path))
    proofs.forget()
    made = counted(monkeypatch, programs, "programs_of")
    model = nn.Softmax(-1).eval()
    (step,) = plan_of(model, (torch.rand(5, 40),)).kernels
    report = proofs.proof_of(step)
    assert "reference" in report.seconds and report.equality is not None
    assert len(made) == 1
