"""`argus test` and `argus run` of files on a device."""

import json
from pathlib import Path

import pytest

from argus.cli.app import app
from command_line import Commands

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["layernorm", "convolution", "embedding"])
def test_an_example_is_its_reference(name: str) -> None:
    words = ["test", str(ROOT / "examples" / f"{name}.py"), "--json"]
    ran = Commands().invoke(app, words, prog_name="argus")
    made = json.loads(ran.stdout)
    assert made["where"] == "gpu"
    assert ran.exit_code == 0, made
    [kernel] = made["kernels"]
    assert {row["verdict"] for row in kernel["rows"]} <= {"right", "refused"}


def test_default_sizes_are_admitted() -> None:
    words = ["run", str(ROOT / "examples" / "convolution.py"), "--json"]
    ran = Commands().invoke(app, words, prog_name="argus")
    assert ran.exit_code == 0, ran.stdout
    assert json.loads(ran.stdout)["where"] == "gpu"
