"""`argus plan`: text for people, one object for tools."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from argus.cli.app import app
from command_line import Commands

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


NET = """
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return (x * 2).geqrf()[0].softmax(-1)


def get_inputs():
    import torch

    return [torch.rand(64, 256)]
"""


@dataclass(frozen=True)
class Said:
    """What a command wrote, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def planned(folder: Path, text: str, *words: str, width: int = 80) -> Said:
    """`argus plan` of a file, in this process: another one imports torch again."""
    file = folder / "model.py"
    file.write_text(text)
    env = {"COLUMNS": str(width), "NO_COLOR": "1", "FORCE_COLOR": None}
    done = Commands().invoke(
        app, ["plan", str(file), *words], env=env, prog_name="argus"
    )
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def test_it_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    code = "import sys; from argus.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "plan", str(file), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found, here = (
        json.loads(run.stdout),
        json.loads(planned(tmp_path, MODEL, "--json").stdout),
    )
    assert found["kernels"] == here["kernels"]


def test_a_plan_is_one_object(tmp_path: Path) -> None:
    data = json.loads(planned(tmp_path, MODEL, "--json").stdout)
    assert (data["command"], data["ok"], data["left"]) == ("plan", True, [])
    (kernel,) = data["kernels"]
    assert kernel["sizes"] == {"I": 64, "J": 256}
    assert "@ag.reference" in kernel["source"]
    assert 1 < kernel["predicted_us"] == data["predicted_us"] < 20
    assert data["workspace_bytes"] == 0


def test_a_plan_says_what_is_left(tmp_path: Path) -> None:
    text = planned(tmp_path, NET, width=60).stdout
    assert max(map(len, text.splitlines())) <= 60
    assert "in torch  aten.geqrf.default: it has no translation" in text
    assert "2 kernels, 1 left in torch" in text
    assert " µs predicted for" in text


def test_what_is_no_program_is_said(tmp_path: Path) -> None:
    found = planned(tmp_path, NET.replace("get_inputs", "inputs"))
    assert found.returncode == 2
    assert "AG1040" in found.stderr
    assert "has no `get_inputs`" in found.stderr


def test_out_writes_a_model_that_runs(tmp_path: Path) -> None:
    import torch

    run = planned(tmp_path, NET, "--out", str(tmp_path / "new.py"), "--json")
    data = json.loads(run.stdout)
    assert data["out"]["file"] == str(tmp_path / "new.py")
    assert len(list(Path(data["out"]["kernels"]).iterdir())) == len(data["kernels"])
    names: dict[str, Any] = {}
    exec((tmp_path / "new.py").read_text(), names)
    (x,) = names["get_inputs"]()
    assert torch.allclose(names["ModelNew"]()(x), names["Net"]()(x))


def test_out_is_not_the_file_of_the_model(tmp_path: Path) -> None:
    run = planned(tmp_path, NET, "--out", str(tmp_path / "model.py"))
    assert run.returncode == 2
    assert "the file of the model itself" in " ".join(run.stderr.split())
    assert (tmp_path / "model.py").read_text() == NET
