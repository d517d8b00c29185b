"""Mistakes of users: a diagnostic and an exit code, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from argus.codegen import CodegenError
from argus.ir.check import InvalidProgramError

USAGE = [
    (["run", "gem"], "AG0909"),
    (["check", "absent.py"], "AG0901"),
    (["check", "."], "AG0909"),
    (["check", "/"], "AG0901"),
    (["check", "gemm", "--target", "sm_70"], "AG0601"),
    (["check", "gemm", "--target", "sm_80"], "AG0602"),
    (["check", "scale.py", "--target", ""], "AG0601"),
    (["check", "scale.py", "--set", "BN"], "AG0908"),
    (["check", "scale.py", "--set", "BN=x"], "AG0813"),
    (["check", "scale.py", "--set", "BN=1", "--set", "BN=2"], "AG0908"),
    (["check", "scale.py", "--set", "BX=1"], "AG0813"),
    (["check", "scale.py", "--dtype", "X=i32"], "AG0908"),
    (["check", "scale.py", "--dtype", "Q=f32"], "AG0908"),
    (["check", "scale.py", "--size", "M=0"], "AG0908"),
    (["check", "scale.py", "--size", "M=-1"], "AG0908"),
    (["check", "scale.py", "--size", "Q=1"], "AG0908"),
    (["check", "scale.py", "--case", "1"], "AG0908"),
    (["check", "gemm", "--case", "99"], "AG0908"),
    (["check", "gemm", "--case", "²"], "AG0908"),
    (["check", "gemm", "--dtype", "A=f16"], "AG0908"),
    (["check", "gemm", "--set", "ACTIVATION=tanh"], "AG0813"),
    (["run", "gemm", "--interpret", "--size", "Q=1"], "AG0908"),
    (["build", "wrong.py", "-o", "x.cubin"], "AG0908"),
    (["export", "scale.py", "-o", "scale.py"], "AG0902"),
    (["bench", "gemm"], "AG0903"),
    (["bench", "gem"], "AG0909"),
    (["list", "gem"], "AG0909"),
]


@pytest.mark.parametrize(("words", "code"), USAGE, ids=lambda x: str(x))
@pytest.mark.usefixtures("no_gpu")
def test_usage(argus, words: list[str], code: str) -> None:
    ran = argus(*words)
    assert ran.code == 2
    assert f"error[{code}]" in ran.err
    assert ran.out == ""
    data = argus(*words, "--json")
    assert data.code == 2
    assert data.err == ""
    assert data.json["diagnostics"][0]["code"] == code
    assert data.json["ok"] is False


def test_sizes_that_the_kernel_refuses(argus) -> None:
    ran = argus("run", "softmax", "--interpret", "--case", "2", "--set", "BN=256")
    assert ran.code == 2
    assert "error[AG0808]" in ran.err
    assert "a row is held in registers" in " ".join(ran.err.split())


FILES = {
    "AG0001": "def f(:\n",
    "AG0003": "import argus as ag\nwhile True:\n    pass\n",
    "AG0011": "import argus as ag\n",
    "AG0022": "import os\n",
}


@pytest.mark.parametrize("code", FILES)
@pytest.mark.parametrize("command", ["check", "build", "explain", "run"])
def test_a_bad_file(argus, tmp_path: Path, command: str, code: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(FILES[code])
    ran = argus(command, str(path))
    assert ran.code == 1
    assert f"error[{code}]" in ran.err


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"", b"\x00", b"# -*- coding: nothing -*-\n"]
)
def test_a_file_that_is_no_source(argus, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.py"
    path.write_bytes(content)
    ran = argus("check", str(path))
    assert ran.code in (1, 2)
    assert ran.err.startswith("error[AG")


@pytest.mark.parametrize(
    "words",
    [[], ["frobnicate"], ["explain", "gemm", "--stage", "x"], ["run"], ["list", "--x"]],
)
def test_what_the_parser_rejects(argus, words: list[str]) -> None:
    ran = argus(*words)
    assert ran.code == 2
    assert "Usage: argus" in ran.out + ran.err


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True
    )


def test_help_is_fast_and_imports_no_compiler() -> None:
    code = (
        "import sys, time\nbegin = time.process_time()\nfrom argus.cli import main\n"
        "sys.argv = ['argus', '--help']\ntry:\n    main()\nexcept SystemExit:\n"
        "    heavy = {'torch', 'argus.lower', 'argus.calls', 'argus.compiler',\n"
        "        'argus.interpret'}\n"
        "    print(sorted(heavy & set(sys.modules)), time.process_time() - begin)\n"
    )
    loaded, seconds = _python("-c", code).stdout.splitlines()[-1].rsplit(maxsplit=1)
    assert loaded == "[]"
    assert float(seconds) < 2  # about 0.2 s on an idle machine


def test_a_closed_pipe_is_no_traceback() -> None:
    script = (
        "set -o pipefail; "
        f"'{sys.executable}' -c 'from argus.cli import main; main()' "
        "explain gemm | head -n 1"
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("program gemm_sm90")
    assert "Traceback" not in done.stderr


BROKEN = [
    CodegenError("a dot has no plan"),
    InvalidProgramError("tile x is used before it is defined"),
    ValueError("N of a wgmma instruction is 264 > 256"),
    AssertionError(),
]


@pytest.mark.parametrize("error", BROKEN, ids=lambda e: type(e).__name__)
def test_a_bug_of_the_compiler_is_named_as_one(
    argus, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(program: object) -> None:
        raise error

    monkeypatch.setattr("argus.lower.place", broken)
    ran = argus("explain", "scale.py", "--stage", "placed")
    assert ran.code == 3
    assert "error[AG0913]: this is a bug in Argus, not in the kernel" in ran.err
    assert type(error).__name__ in ran.err
    assert "raised at argus/compiler.py:" in ran.err
    assert "Traceback" not in ran.err
    data = argus("explain", "scale.py", "--stage", "placed", "--json")
    assert (data.code, data.err) == (3, "")
    assert data.json["ok"] is False
    assert [d["code"] for d in data.json["diagnostics"]] == ["AG0913"]
    shown = argus("--debug", "explain", "scale.py", "--stage", "placed", "--json")
    assert shown.code == 3
    assert "Traceback (most recent call last)" in shown.err
    assert shown.json == data.json


def test_an_interrupt_is_no_bug(argus, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(program: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("argus.lower.place", interrupted)
    ran = argus("explain", "scale.py", "--stage", "placed")
    assert ran.code == 130
    assert "AG0913" not in ran.err
