"""What commands print, in a narrow and in a wide terminal."""

import os
import re
import subprocess
import sys

import pytest

WIDTHS = pytest.mark.parametrize("width", [60, 100])
GOLDEN = {
    "list": ["list"],
    "list-gemm": ["list", "gemm"],
    "check-right": ["check", "scale.py", "--no-proof"],
    "check-wrong": ["check", "wrong.py"],
    "explain-tile": ["explain", "scale.py", "--stage", "tile"],
    "explain-code": ["explain", "ag0301"],
    "explain-no-code": ["explain", "AG0399"],
    "run-file": ["run", "scale.py", "--size", "M=3", "--size", "N=100"],
    "run-entry": ["run", "softmax", "--interpret"],
    "test-no-reference": ["test", "scale.py"],
    "bench-no-gpu": ["bench", "gemm"],
    "unknown-name": ["run", "gem"],
    "unknown-file": ["check", "absent.py"],
    "unknown-static": ["check", "scale.py", "--set", "BX=64"],
}


@WIDTHS
@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.usefixtures("no_gpu")
def test_golden(argus, golden, name: str, width: int) -> None:
    ran = argus(*GOLDEN[name], width=width)
    out = re.sub(r"\d+\.\d\d s\b", "0.00 s", ran.out)
    text = f"$ argus {' '.join(GOLDEN[name])}\n{out}"
    if ran.err:
        text += f"--- stderr\n{ran.err}"
    golden(f"{name}-{width}.txt", f"{text}--- exit {ran.code}\n")


@WIDTHS
@pytest.mark.parametrize(
    "words",
    [
        ["list", "grouped"],
        ["check", "rope"],
        ["run", "attention", "--interpret", "--case", "2"],
        ["doctor"],
        pytest.param(["demo"], marks=pytest.mark.compiler),
        pytest.param(["build", "gemm"], marks=pytest.mark.compiler),
    ],
    ids=lambda words: "-".join(words) if isinstance(words, list) else None,
)
@pytest.mark.usefixtures("no_gpu")
def test_no_line_is_wider_than_the_terminal(
    argus, words: list[str], width: int
) -> None:
    ran = argus(*words, width=width)
    lines = (ran.out + ran.err).splitlines()
    assert lines
    # A path cannot be broken, and stays usable.
    wide = [x for x in lines if len(x) > width and "/" not in x]
    assert wide == []


def _help(*words: str) -> str:
    """In a process of its own: the test runner fixes the width of help at 80."""
    code = "from argus.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "60"},
    ).stdout


def test_help_fits_a_narrow_terminal() -> None:
    whole = _help()
    for name in (
        "check",
        "explain",
        "test",
        "bench",
        "list",
        "doctor",
        "export",
        "demo",
    ):
        assert f"\n  {name} " in whole
    assert "..." not in whole.partition("Commands:")[2]  # nothing is cut
    for text in (whole, *map(_help, ("check", "run", "bench", "export"))):
        assert max(map(len, text.splitlines())) <= 60


@pytest.mark.compiler
@pytest.mark.usefixtures("no_gpu")
def test_the_demo_says_that_nothing_was_timed(argus) -> None:
    ran = argus("demo")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert "nothing was timed" in text
    assert "wgmma" in text
    assert "ok     200x136x72" in ran.out


def test_explain_is_not_wrapped(argus) -> None:
    narrow = argus("explain", "scale.py", width=40)
    assert narrow.code == 0
    assert narrow.out == argus("explain", "scale.py", width=200).out


@pytest.mark.compiler
@pytest.mark.parametrize("stage", ["tile", "placed", "cuda", "sass"])
def test_every_stage(argus, stage: str) -> None:
    words = {
        "tile": "program scale",
        "placed": "placed",
        "cuda": "__global__ void",
        "sass": "EXIT",
    }
    ran = argus("explain", "scale.py", "--stage", stage)
    assert ran.code == 0
    assert words[stage] in ran.out
    assert ran.err == ""
