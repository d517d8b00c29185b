"""Kernels have one text in each process, and plans one key: both are kept by them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import argus  # noqa: E402
from few import EVERY  # noqa: E402

PLANNED = """
import torch
from torch.nn import functional
from argus.programs.planning.plan import plan_of
from programs.modules import Formula

torch.manual_seed(0)
CASES = [
    (lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1), (4, 32, 9, 9),
     (32, 32, 3, 3)),
    (lambda x, w: functional.conv_transpose3d(x, w, None, 2, 1), (4, 32, 5, 9, 9),
     (32, 32, 3, 3, 3)),
    (lambda x, w: functional.conv2d(x, w, None, 1, 1).tanh(), (2, 32, 9, 9),
     (32, 32, 3, 3)),
    (lambda x, w: functional.pad(x, (1, -2)).sum(1) + w, (3, 8), (3,)),
    (lambda x, w: torch.softmax(x @ w, -1) @ w.T, (2, 64, 32), (32, 48)),
]
for function, *shapes in CASES:
    plan = plan_of(Formula(function), tuple(torch.randn(s) for s in shapes))
    for step in plan.kernels:
        print(step.source.name, step.source.sizes, step.source.text)
"""
KEPT = """
import sys
import torch, argus
from argus.programs.planning import kept_plans

kept_plans.plan_program = None
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Softmax(-1))
x = torch.arange(32.0).reshape(4, 8) / 32
torch.testing.assert_close(argus.compile(model, (x,))(x), model(x))
print("kept", file=sys.stderr)
"""
"""With other parameters than here, which are not in the plan."""
# Sets of names have another order in each process; never the one of this process.
SEEDS = [s for s in ("1", "2", "3") if s != os.environ.get("PYTHONHASHSEED")]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """What other processes print: the texts, and whether a plan of this one is kept."""
    root = str(tmp_path_factory.mktemp("plans"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARGUS_CACHE_DIR", root)
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Softmax(-1))
        x = torch.arange(32.0).reshape(4, 8) / 32
        argus.compile(model, (x,))(x)
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        processes = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", PLANNED + KEPT],
                env={**os.environ, "PYTHONHASHSEED": seed},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for seed in SEEDS[: 2 if EVERY else 1]
        ]
    return [process.communicate(timeout=120) for process in processes]


def test_texts_do_not_depend_on_the_process(others: list[tuple[str, str]]) -> None:
    with redirect_stdout(io.StringIO()) as here:
        exec(PLANNED, {})
    assert "@ag.kernel" in here.getvalue()
    for text, _ in others:
        assert text == here.getvalue()


def test_another_process_does_not_plan_again(others: list[tuple[str, str]]) -> None:
    for _, said in others:
        assert said.splitlines()[-1:] == ["kept"], said
