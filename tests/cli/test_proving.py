"""Commands that execute a kernel prove it first, and say what came of it."""

import io
import sys
import time
from pathlib import Path

import pytest

from argus.cli import waiting
from argus.cli.output import Output

RACE = '''
import argus as ag
from argus import f32


@ag.kernel
def shifted(X: f32["N"], Y: f32["N"]):
    """Element n gets X[n + 1]: past the end there is none."""
    i = ag.block(ag.cdiv(X.shape[0], 32))
    x = ag.load(X[i * 32 :], (32,))
    y = ag.load(Y[0:], (32,))
    Y[0:] = x + y
'''
"""All blocks write the same elements."""


@pytest.fixture
def refuted(tmp_path: Path) -> str:
    path = tmp_path / "refuted.py"
    path.write_text(RACE)
    return str(path)


def test_what_is_refuted_is_not_run(argus, refuted: str) -> None:
    ran = argus("run", refuted, "--interpret", "--size", "N=64")
    assert ran.code == 1
    assert "AG03" in ran.err and "elements" not in ran.out
    told = argus("run", refuted, "--interpret", "--size", "N=64", "--json")
    assert told.code == 1 and told.json["ok"] is False
    assert "kernels" not in told.json and told.json["diagnostics"]
    assert argus("build", refuted).code == ran.code


def test_what_is_refuted_is_run_if_that_is_wanted(
    argus, refuted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", refuted, "--interpret", "--size", "N=64"]
    ran = argus(*words, "--no-proof")
    assert "not checked" in ran.out and "Y: 64 elements" in ran.out
    monkeypatch.setenv("ARGUS_CHECK", "0")
    ran = argus(*words)
    assert "not checked" in ran.out and "Y: 64 elements" in ran.out


def test_the_verdict_is_said(argus) -> None:
    words = ["run", "scale.py", "--interpret", "--size", "M=3"]
    assert "; proved" in argus(*words).out
    (kernel,) = argus(*words, "--json").json["kernels"]
    assert kernel["proof"] == "proved"
    entry = ["run", "softmax", "--interpret", "--case", "2"]
    assert "; proved" in argus(*entry).out
    (case,) = argus(*entry, "--no-proof", "--json").json["cases"]
    assert case["proof"] == "not checked"
    # Its rules on data flow are settled by the reference of its file.
    assert "; equal" in argus("run", "cross_entropy", "--interpret", "-c", "0").out


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _shown(monkeypatch: pytest.MonkeyPatch, as_json: bool, work: float) -> str:
    screen = _Terminal()
    monkeypatch.setattr(waiting, "DELAY", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", screen)
        with waiting.doing(Output("check", as_json), "proving [red]gemm"):
            time.sleep(work)
    return screen.getvalue()


def test_a_terminal_is_told_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "proving [red]gemm · 0:00" in _shown(monkeypatch, False, 0.5)
    assert "proving" not in _shown(monkeypatch, False, 0.0)
    assert _shown(monkeypatch, True, 0.3) == ""


def test_nobody_else_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "DELAY", 0.0)
    with waiting.doing(Output("check", False), "proving"):
        time.sleep(0.2)
    assert capsys.readouterr().out == ""


def test_the_line_is_gone_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "DELAY", 0.0)
    screen = _Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", screen)
        out = Output("check", False)
        with pytest.raises(ValueError, match="no"), waiting.doing(out, "proving"):
            time.sleep(0.1)
            raise ValueError("no")
        before = screen.getvalue()
        time.sleep(0.3)
        assert screen.getvalue() == before
