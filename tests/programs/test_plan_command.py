"""`argus plan` in another process: text for people, one object for tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

MODEL = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.float() * 2, dim=-1)


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return []
"""


def planned(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    file = folder / "model.py"
    file.write_text(MODEL)
    code = "import sys; from argus.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "plan", str(file), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_a_plan_is_one_object(tmp_path: Path) -> None:
    data = json.loads(planned(tmp_path, "--json").stdout)
    assert (data["command"], data["ok"], data["left"]) == ("plan", True, [])
    (kernel,) = data["kernels"]
    assert kernel["sizes"] == {"I": 64, "J": 256}
    assert "@ag.reference" in kernel["source"]


def test_a_plan_says_what_is_left(tmp_path: Path) -> None:
    assert "1 kernel, 0 left in torch" in planned(tmp_path).stdout
