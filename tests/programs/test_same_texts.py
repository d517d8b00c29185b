"""Kernels have one text in each process: proofs and builds are kept by it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

pytest.importorskip("torch")

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


def test_texts_do_not_depend_on_the_process() -> None:
    """Sets of names have another order in each (`PYTHONHASHSEED`), and in this one."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PLANNED],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONHASHSEED": seed,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    with redirect_stdout(io.StringIO()) as here:
        exec(PLANNED, {})
    texts = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert "@ag.kernel" in texts[0]
    assert texts[0] == texts[1] == here.getvalue()
