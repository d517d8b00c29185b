"""Mistakes of users: a diagnostic and an exit code, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import argus
from argus.codegen import CodegenError
from argus.ir.check import InvalidProgramError
from few import rest

KERNELS = Path(__file__).parent / "kernels"

USAGE = [
    (["run", "gem"], "AG0909"),
    (["check", "absent.py"], "AG0901"),
    (["check", "."], "AG0901"),
    (["test", "."], "AG0901"),
    (["check", "kernels"], "AG0909"),
    (["check", "scale.py", "--kernel", "absent"], "AG0908"),
    (["equal", "scale.py", "-k", "scale", "-k", "scale"], "AG0908"),
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


REPLACING = [
    ["check", "scale.py", "--html", "scale.py"],
    ["check", "scale.py", "--sarif", "./scale.py"],
    ["build", "scale.py", "-o", "scale.py"],
    ["optimize", "scale.py", "--size", "M=8", "--size", "N=8", "-o", "scale.py"],
]


@pytest.mark.parametrize("words", REPLACING, ids=lambda x: str(x))
def test_results_do_not_replace_the_source(
    argus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    text = (Path(__file__).parent / "kernels" / "scale.py").read_text()
    text += "\n\n@ag.reference\ndef scale_reference(X, a):\n    return X * a\n"
    source = tmp_path / "scale.py"
    source.write_text(text)
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    ran = argus(*[str(source) if "scale.py" in w else w for w in words])
    assert (ran.code, "error[AG0908]" in ran.err) == (2, True)
    assert source.read_text() == text


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


LONG = "9" * 5000
"""More digits than Python converts to a number (`sys.get_int_max_str_digits`)."""
ODD = ["", ".", "/", "a\0b", "x" * 300, "x" * 5000, "/".join(["x" * 200] * 30)]
"""Paths that no file has."""
NUMBERS = ["", "-1", "1.5", "²", "٣", "1_0", "0x", "nan", "inf", "1e999", LONG]


@pytest.mark.parametrize("option", ["--size", "--set", "--case", "--shape", "runs"])
@pytest.mark.usefixtures("no_gpu")
def test_no_number(argus, run: str, option: str) -> None:
    """What somebody types for a number is refused, or is one; never a bug."""
    scalars = ["run", "scalars.py", "--interpret", "--size", "N=8"]
    for text in NUMBERS:
        commands = {
            "--size": [["run", "scale.py", "--interpret", "--size", f"M={text}"]],
            "--set": [
                ["check", "scale.py", "--no-proof", "--set", f"BN={text}"],
                [*scalars, "--set", f"n={text}"],
                [*scalars, "--set", f"a={text}"],
            ],
            "--case": [["check", "gemm", "--no-proof", "--case", text or "?"]],
            "--shape": [["session", "start", "gemm", "--shape", text or "?"]],
            "runs": [["runs", "diff", f"{run}:{text or '?'}", run]],
        }[option]
        for words in commands:
            ran = argus(*words)
            assert ran.code in (0, 1, 2), (words, ran.err)
            assert "AG0913" not in ran.err + ran.out, (words, ran.err)


def test_whole_numbers_are_exact(argus) -> None:
    words = ["run", "scalars.py", "--interpret", "--size", "N=8", "--json"]
    ran = argus(*words, "--set", f"big={2**53 + 1}")
    assert ran.json["kernels"][0]["scalars"]["big"] == 2**53 + 1
    for name, value in (("n", 2**31), ("big", -(2**63) - 1), ("a", "1e39")):
        refused = argus(*words, "--set", f"{name}={value}")
        assert refused.json["diagnostics"][0]["code"] == "AG0813"


@pytest.mark.parametrize("path", ODD, ids=range(len(ODD)))
@pytest.mark.usefixtures("no_gpu")
def test_odd_paths(argus, path: str) -> None:
    """Wherever a path is read or written, one that cannot be is a mistake."""
    reading = [["check", path], ["check", f"{path}.py"], ["explain", f"./{path}.py"]]
    reading += [["report", path or "?"]]
    writing = [
        ["check", "scale.py", "--html", path],
        ["check", "scale.py", "--sarif", path],
    ]
    if "x" in path or "\0" in path:
        writing.append(["export", "scale.py", "-o", path])
        reading.append(["mcp", "--root", path])
    for words in reading + writing:
        ran = argus(*words)
        assert ran.code == 2, (words, ran.err)
        assert "AG0913" not in ran.err


def test_a_source_without_end(argus) -> None:
    for command in ("check", "run", "equal", "test", "explain"):
        ran = argus(command, "/dev/zero")
        assert ran.code == 2
        assert "error[AG09" in ran.err


def test_a_source_from_a_pipe(argus) -> None:
    """It is read once; what is wrong with it is told, not what it is."""
    for text, code, said in (
        ((KERNELS / "scale.py").read_text(), 0, ""),
        ("def f(:\n", 1, "error[AG0001]"),
        ("import os\n", 1, "error[AG0022]"),
    ):
        begin, end = os.pipe()
        os.write(end, text.encode())
        os.close(end)
        ran = argus("check", "--no-proof", f"/dev/fd/{begin}")
        os.close(begin)
        assert (ran.code, said in ran.err) == (code, True), ran.err


def test_names_that_are_not_utf8(argus, tmp_path: Path) -> None:
    """Such a name of a kernel's file reaches pages, SARIF, JSON and exports."""
    source = (Path(__file__).parent / "kernels" / "scale.py").read_bytes()
    path = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.py")
    Path(path).write_bytes(source)
    out = tmp_path / "out"
    for words in (
        ["check", path, "--html", f"{out}/k.html", "--sarif", f"{out}/k.sarif"],
        ["check", path, "--json"],
        ["export", path, "-o", str(out)],
    ):
        ran = argus(*words)
        assert ran.code == 0, ran.err
    for name in ("k.html", "k.sarif", "scale.cu"):
        (out / name).read_text("utf-8")


def test_tensors_larger_than_the_machine(argus) -> None:
    """Not by asking for the memory: a grant that is written to ends the process."""
    for sizes in (["M=2147483647", "N=2147483647"], ["M=1048576", "N=1048576"]):
        options = [word for size in sizes for word in ("--size", size)]
        ran = argus("run", "scale.py", "--interpret", *options)
        assert ran.code == 2
        assert "AG0908" in ran.err
    options = [word for d in "MNK" for word in ("--size", f"{d}=2000000000")]
    ran = argus("run", "gemm", "--interpret", *options)
    assert ran.code == 2
    assert "AG0908" in ran.err


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


@pytest.mark.parametrize(
    "words",
    [["frobnicate"], ["check"], ["run", "gemm", "--seed", "-1"], ["session", "check"]],
)
def test_what_the_parser_rejects_is_json(argus, words: list[str]) -> None:
    ran = argus(*words, "--json")
    assert (ran.code, ran.err, ran.json["ok"]) == (2, "", False)
    assert [d["code"] for d in ran.json["diagnostics"]] == ["AG0908"]
    assert ran.json["diagnostics"][0]["message"]


SWALLOWED = [
    ["check", "scale.py", "--html", "--json"],
    ["check", "scale.py", "--sarif", "--no-proof"],
    ["check", "--kernel", "--json", "scale.py"],
    ["check", "scale.py", "-k", "--target=sm_80"],
    ["--debug", "build", "scale.py", "-o", "--no-proof"],
    ["runs", "show", "--trial", "--json"],
    ["run", "scale.py", "--set", "-h"],
]


@pytest.mark.parametrize("words", SWALLOWED, ids=lambda x: " ".join(x))
def test_an_option_is_no_value(
    argus, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else `--html --json` writes a file of that name, and no JSON."""
    (tmp_path / "scale.py").write_text((KERNELS / "scale.py").read_text())
    monkeypatch.chdir(tmp_path)
    ran = argus(*words)
    said = ran.json["diagnostics"][0]["message"] if "--json" in words else ran.err
    assert ran.code == 2
    assert "has no value" in said and "is an option" in said
    assert [p.name for p in tmp_path.iterdir()] == ["scale.py"]


def test_a_value_may_look_like_an_option(
    argus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "scale.py").write_text((KERNELS / "scale.py").read_text())
    monkeypatch.chdir(tmp_path)
    ran = argus("check", "scale.py", "--no-proof", "--html=--json")
    assert (ran.code, (tmp_path / "--json").exists()) == (0, True)
    ran = argus("run", "scale.py", "--set", "-1")
    assert "has no value" not in ran.err


def test_a_question_that_nobody_answers(
    argus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no verdict of a kernel, which 1 would be."""
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path))
    (tmp_path / "policy.json").write_text("{}")
    ran = argus("policy", "reset")
    assert ran.code == 2
    assert "error[AG0908]: it was not confirmed" in ran.err
    assert (tmp_path / "policy.json").exists()


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


def test_the_version_needs_no_command() -> None:
    shown = _python("-m", "argus", "--version").stdout
    assert shown == f"argus {argus.__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ["check", "wrong.py"],
        ["list", "--json"],
        *rest(
            ["check", "scale.py", "--no-proof"],
            ["check", "scale.py", "--no-proof", "--json"],
            ["explain", "scale.py"],
            ["list"],
        ),
    ],
    ids=" ".join,
)
def test_a_full_standard_output_is_no_bug(words: list[str]) -> None:
    main = [sys.executable, "-c", "from argus.cli import main; main()"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*main, *words], cwd=KERNELS, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2, done.stderr
    assert "error[AG0902]: standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_the_module_is_the_command_line() -> None:
    assert _python("-m", "argus", "--help").stdout.startswith("Usage: argus [OPTIONS]")


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
    assert "raised at argus/requests.py:" in ran.err
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


@pytest.mark.usefixtures("no_gpu")
def test_an_interrupted_run_is_not_done(
    argus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that goes on with its kernel would go on with any."""
    from argus.evaluation.judge import Judge

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Judge, "evaluate", interrupted)
    ran = argus("optimize", "gemm", "--shape", "64x64x64", "--trials", "2")
    assert ran.code == 130
    assert "(interrupted)" in ran.out and "--resume" in ran.out


def test_an_interrupt_is_told_in_json(argus, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(program: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("argus.lower.place", interrupted)
    ran = argus("explain", "scale.py", "--json")
    assert ran.code == 130
    assert (ran.json["ok"], ran.json["interrupted"]) == (False, True)


def test_an_interrupt_while_modules_are_imported() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'argus.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from argus.cli import main\nmain()\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
