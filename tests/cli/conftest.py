"""Running commands in this process, at a chosen width of the terminal."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sample_run
from argus.cli.app import app
from command_line import Commands

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Ran:
    """One command. ``out`` and ``err`` with the folder of the kernels left out."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Argus = Callable[..., Ran]


@pytest.fixture
def argus(monkeypatch: pytest.MonkeyPatch) -> Argus:
    """`argus("check", FILE, width=60)`."""
    monkeypatch.chdir(KERNELS)

    def call(*words: str, width: int = 100) -> Ran:
        # The width of a terminal, and none of the settings of the one we are in.
        env = {"COLUMNS": str(width), "NO_COLOR": "1", "FORCE_COLOR": None}
        result = Commands().invoke(app, list(words), env=env, prog_name="argus")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a finished run, the only one there is."""
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    return sample_run.make(tmp_path / "home" / "runs")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a driver, wherever the test runs."""
    from argus.diagnostics import fail
    from argus.evaluation import device

    def missing() -> None:
        raise fail("AG0903", None, "the CUDA driver sees no device")

    monkeypatch.setattr(device, "cuda_driver", missing)
