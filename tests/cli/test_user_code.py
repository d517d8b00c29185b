"""Code of the user's that is executed: what it prints, raises, and never ends."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from few import few, rest

CHATTY = """import argus as ag
from argus import f32


@ag.kernel
def double(X: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 32))
    Y[i * 32 :] = ag.load(X[i * 32 :], (32,)) * 2.0


@ag.reference
def reference(X):
    import os
    import warnings

    from argus.diagnostics import ArgusWarning

    print("a line of the reference")
    os.write(1, b"another one")
    warnings.warn("AG0907: something is damaged", ArgusWarning)
    return X * 2
"""


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    """Code of the user's that is executed may print, by Python or without it."""
    (tmp_path / "k.py").write_text(CHATTY)
    main = "from argus.cli import main; main()"
    words = [sys.executable, "-c", main, "test", str(tmp_path / "k.py"), "--json"]
    words += ["--size", "N=3", "--seeds", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    data = json.loads(done.stdout)
    assert data["ok"]
    assert "a line of the reference" in done.stderr
    assert "another one" in done.stderr


@pytest.mark.filterwarnings("always")
def test_warnings_are_diagnostics(argus, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a text says on stderr is in JSON, and has no line of Argus' own source."""
    from argus.diagnostics.warning import warn
    from argus.lower import place

    def told(program: object) -> object:
        warn("AG0907", "an entry is damaged")
        return place(program)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr("argus.lower.place", told)
    words = ("explain", "scale.py", "--stage", "placed")
    ran = argus(*words, "--json")
    assert ran.err == ""
    (found,) = ran.json["diagnostics"]
    assert (found["code"], found["severity"]) == ("AG0907", "warning")
    assert ran.json["ok"]
    text = argus(*words)
    assert "warning[AG0907]: an entry is damaged" in text.err
    assert ".py:" not in text.err


def test_what_a_module_raises_has_its_line(argus, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("get_inputs = list\n\nraise ValueError('not now')\n")
    ran = argus("plan", str(path), width=200)
    assert ran.code == 2
    assert "raises ValueError: not now, at line 3 of model.py" in ran.err


MODEL = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(8, 64)]
"""
WRONG_MODELS = {
    "exits": (MODEL + "\nraise SystemExit(3)\n", "SystemExit: 3, at line 16 of m.py"),
    "exits in inputs": (
        MODEL.replace("return [", "raise SystemExit  # ["),
        "get_inputs() of `m.py` raises SystemExit, at line 14 of m.py",
    ),
    "exits in forward": (
        MODEL.replace("torch.relu(self.linear(x))", "exit(self.linear(x).shape[1])"),
        "cannot be read: SystemExit: 32, at line 10 of m.py",
    ),
    "other sizes": (MODEL.replace("8, 64", "8, 65"), "[8, 65] X [64, 32]"),
    "no inputs": (MODEL.replace("[torch.randn(8, 64)]", "[]"), "missing a required"),
}


@pytest.mark.parametrize("name", few(WRONG_MODELS, "exits in forward"))
def test_a_module_that_does_not_run(tmp_path: Path, name: str) -> None:
    """One diagnostic, and nothing of what torch logs; no line of Python's library."""
    pytest.importorskip("torch")
    text, said = WRONG_MODELS[name]
    (tmp_path / "m.py").write_text(text)
    main = [sys.executable, "-c", "from argus.cli import main; main()"]
    done = subprocess.run(
        [*main, "plan", "m.py"], cwd=tmp_path, capture_output=True, text=True
    )
    shown = " ".join(done.stderr.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert shown.startswith("error[AG10") and said in shown
    assert "inspect.py" not in shown and "Traceback" not in shown


def test_what_a_reference_raises_has_its_line(argus, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(CHATTY.partition("    import os")[0] + "    return X * missing\n")
    for command in ("check", "test", "equal"):
        ran = argus(command, str(path), width=200)
        assert ran.code == 1
        said = " ".join((ran.out + ran.err).split())
        assert "NameError: name 'missing' is not defined, at line 13" in said, command


ENDLESS = CHATTY.partition("    import os")[0]


@pytest.mark.parametrize("command", ["check", "equal", "test"])
def test_a_reference_that_exits(argus, tmp_path: Path, command: str) -> None:
    path = tmp_path / "k.py"
    path.write_text(f"{ENDLESS}    import sys; sys.exit(3)\n")
    ran = argus(command, str(path), width=200)
    assert ran.code == 1
    said = " ".join((ran.out + ran.err).split())
    wanted = "SystemExit: 3, at line 13 of k.py"
    assert (
        wanted if command != "equal" else "imports sys, which is not traced"
    ) in said


@pytest.mark.parametrize("command", ["check", "equal", "test"])
def test_a_reference_that_does_not_end(
    argus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for place in ("equivalence.references", "specification.calling"):
        monkeypatch.setattr(f"argus.{place}.SECONDS", 0.2)
    path = tmp_path / "k.py"
    path.write_text(f"{ENDLESS}    while len(X):\n        pass\n    return X * 2\n")
    ran = argus(command, str(path), width=200)
    assert ran.code == 1
    said = " ".join((ran.out + ran.err).split())
    assert re.search(r"did not end within 0\.2 s of computing, at line \d+ of", said)


@pytest.mark.parametrize("command", ["check", *rest("equal", "test")])
def test_an_interrupt_says_what_was_running(tmp_path: Path, command: str) -> None:
    path = tmp_path / "k.py"
    begun = tmp_path / "begun"
    path.write_text(
        f"{ENDLESS}    import time\n    open({str(begun)!r}, 'w').close()\n"
        "    time.sleep(200)\n    return X * 2\n"
    )
    main = "from argus.cli import main; main()"
    for option in ([], ["--json"]):
        begun.unlink(missing_ok=True)
        words = [sys.executable, "-c", main, command, str(path), *option]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            while not begun.exists() and process.poll() is None:
                time.sleep(0.02)
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert process.returncode == 130, err
        said = json.loads(out)["running"] if option else err
        assert re.match(r"interrupted while \w+ing .*`reference` was running", said)
        assert "at line 15 of k.py" in said
        assert "Traceback" not in err
