"""`argus check` proves, remembers, writes reports; calling a kernel may check it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from argus import calls, compiler, requests
from argus.cli.app import app
from argus.compiler import prove
from argus.diagnostics import ArgusError, ArgusWarning
from argus.evaluation.proving import proved
from argus.ir import ops as o
from argus.runtime.arguments import TensorArg
from argus.verify import verifier
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.verdict import Obligation, Verdict
from command_line import Commands

sys.path.insert(0, str(Path(__file__).parent))
from reports import GEMM, HEAD, first, request

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def analyses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Analyses of our own, and an empty cache: `verdict` is what they find."""
    chosen = {"verdict": Verdict.PROVED}
    CALLS.clear()

    def find(program):
        CALLS.append(program.name)
        span = first(program, o.Dot).span
        verdict = chosen["verdict"]
        found = None
        if verdict is Verdict.REFUTED:
            sizes = {"M": 128, "N": 128, "K": 64}
            found = Counterexample("it is wrong", "here", ThreadPlace("math"), sizes)
        reason = "no idea" if verdict is Verdict.UNKNOWN else ""
        yield Obligation("AG0314", "it is right", span, verdict, "z3", reason, found)

    def available(name: str):
        return find if name == "tags" else lambda program, *more: []

    monkeypatch.setattr(verifier, "available", available)
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path / "cache"))
    return chosen


def argus(*words: str):
    env = {"COLUMNS": "100", "NO_COLOR": "1"}
    return Commands().invoke(app, list(words), env=env, prog_name="argus")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "k.py").write_text(HEAD + GEMM)
    monkeypatch.chdir(tmp_path)
    return "k.py"


def test_proved(file: str) -> None:
    ran = argus("check", file)
    assert ran.exit_code == 0
    assert ran.stdout.startswith("proved  gemm: 384 threads, 98352 bytes shared; 1 ")


def test_refuted(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("check", file)
    assert ran.exit_code == 1
    assert "refuted gemm" in ran.stdout
    assert "error[AG0314]: it is wrong" in ran.stdout
    assert "sizes: M = 128, N = 128, K = 64" in ran.stdout


def test_unknown_fails(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.UNKNOWN
    ran = argus("check", file)
    assert ran.exit_code == 1
    assert "error[AG0390]: it is not known whether it is right" in ran.stdout
    assert "no idea" in ran.stdout


def test_json(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.REFUTED
    data = json.loads(argus("check", file, "--json").stdout)
    (kernel,) = data["kernels"]
    assert (data["ok"], kernel["ok"]) == (False, False)
    assert kernel["proof"]["verdict"] == "refuted"
    assert [d["code"] for d in data["diagnostics"]] == ["AG0314"]


def test_no_proof(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("check", file, "--no-proof")
    assert ran.exit_code == 0
    assert ran.stdout == "placed  gemm: 384 threads, 98352 bytes shared\n"
    assert CALLS == []


def test_files(file: str, analyses, tmp_path: Path) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("check", file, "--sarif", "out/a.sarif", "--html", "out/a.html")
    assert ran.exit_code == 1
    log = json.loads((tmp_path / "out" / "a.sarif").read_text())
    assert log["runs"][0]["results"][0]["ruleId"] == "AG0314"
    assert "it is wrong" in (tmp_path / "out" / "a.html").read_text()


WRONG = """

@ag.kernel
def askew(A: bf16["M K"], C: bf16["M N"]):
    a = ag.load(A[0:, 0:], (64, 32))
    C[0:, 0:] = ag.dot(a, a).to(bf16)
"""


def _files(tmp_path: Path, *words: str) -> tuple[int, list[str], str]:
    """The exit code, the rules of the SARIF log, and the page."""
    ran = argus("check", *words, "--sarif", "a.sarif", "--html", "a.html")
    log = json.loads((tmp_path / "a.sarif").read_text())
    rules = [r["ruleId"] for r in log["runs"][0]["results"]]
    return ran.exit_code, rules, (tmp_path / "a.html").read_text()


def test_files_have_kernels_that_are_not_placed(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(HEAD + GEMM + WRONG)
    code, rules, html = _files(tmp_path, file)
    assert (code, rules) == (1, ["AG0204"])
    assert "askew" in html and "the last dimension of" in html
    assert "ag.dot(a, a)" in html


def test_files_have_what_no_kernel_is_read_for(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(HEAD + GEMM + "def f(:\n")
    code, rules, html = _files(tmp_path, file)
    assert (code, rules) == (1, ["AG0001"])
    assert ">:</mark>" in html


def test_files_of_usage_are_not_written(file: str, tmp_path: Path) -> None:
    """A mistake of the command line is no finding of the source."""
    ran = argus("check", "absent.py", "--sarif", "a.sarif")
    assert ran.exit_code == 2
    assert not (tmp_path / "a.sarif").exists()


def test_files_have_kernels_that_were_only_placed(file: str, tmp_path: Path) -> None:
    code, rules, html = _files(tmp_path, file, "--no-proof")
    assert (code, rules) == (0, [])
    assert "98352 bytes shared" in html and ">placed<" in html


def test_an_incomplete_installation_fails(file: str, monkeypatch) -> None:
    whole = verifier.available

    def available(name: str):
        return None if name == "order" else whole(name)

    monkeypatch.setattr(verifier, "available", available)
    ran = argus("check", file)
    assert ran.exit_code == 1
    assert ran.stdout.startswith("unknown gemm")
    assert "lacks the order analysis" in " ".join(ran.stdout.split())


@pytest.mark.compiler
def test_what_is_refuted_is_not_built(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("build", file)
    assert ran.exit_code == 1
    assert "it is wrong" in ran.output and "registers" not in ran.output
    ran = argus("build", file, "--no-proof")
    assert ran.exit_code == 0
    assert "registers" in ran.output


class TestTheCache:
    def test_an_unchanged_kernel_is_not_proved_again(self, tmp_path: Path) -> None:
        ask = request(tmp_path, GEMM)
        one, other = proved(ask), proved(ask)
        assert CALLS == ["gemm"]
        assert one == other
        assert proved(ask, fresh=True).report.obligations == one.report.obligations
        assert CALLS == ["gemm", "gemm"]

    def test_a_changed_kernel_is(self, tmp_path: Path) -> None:
        proved(request(tmp_path, GEMM))
        proved(request(tmp_path, GEMM.replace("BM=128", "BM=64")))
        assert len(CALLS) == 2

    def test_replays_are_done_once(self, tmp_path, analyses, monkeypatch) -> None:
        from argus.evaluation import proving

        analyses["verdict"] = Verdict.REFUTED
        runs: list[int] = []
        inner = proving.replayed

        def counted(*args):
            runs.append(1)
            return inner(*args)

        monkeypatch.setattr(proving, "replayed", counted)
        ask = request(tmp_path, GEMM)
        assert proved(ask) == proved(ask)
        assert runs == [1]

    def test_it_takes_no_time(self, tmp_path: Path) -> None:
        ask = request(tmp_path, GEMM)
        proved(ask)
        times: list[float] = []
        for _ in range(5):
            begin = time.perf_counter()
            proved(ask)
            times.append(time.perf_counter() - begin)
        assert min(times) < 0.02


class TestCalling:
    """What a call does before it builds; `compiler._build` is where it would go on."""

    @pytest.fixture(autouse=True)
    def built(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        made: list[str] = []

        class Loaded:
            def __init__(self, spec, image) -> None:
                made.append(spec)

        def build(ask, key):
            return compiler.BuiltKernel(ask.kernel.name, SimpleNamespace(image=b""))

        monkeypatch.setattr(compiler, "_build", build)
        monkeypatch.setattr("argus.runtime.launch.LoadedKernel", Loaded)
        monkeypatch.delenv("ARGUS_CHECK", raising=False)
        return made

    def make(self, ask: requests.Request, checking: bool = True) -> None:
        """A call in a process of its own."""
        calls._Builds().make(("key",), ask, checking)

    def test_a_proof_is_made_once(self, tmp_path: Path, built) -> None:
        ask = request(tmp_path, GEMM)
        self.make(ask)
        self.make(ask)
        assert CALLS == ["gemm"]
        assert built == ["gemm", "gemm"]

    def test_what_is_refuted_is_raised(self, tmp_path: Path, analyses, built) -> None:
        analyses["verdict"] = Verdict.REFUTED
        ask = request(tmp_path, GEMM)
        for _ in range(2):
            with pytest.raises(ArgusError, match="it is wrong") as caught:
                self.make(ask)
            assert caught.value.code == "AG0314"
        assert (CALLS, built) == (["gemm"], [])

    def test_what_is_unknown_is_a_warning(self, tmp_path, analyses, built) -> None:
        analyses["verdict"] = Verdict.UNKNOWN
        ask = request(tmp_path, GEMM)
        for _ in range(2):
            with pytest.warns(ArgusWarning, match="AG0390.*no idea.*argus check") as w:
                self.make(ask)
            assert len(w) == 1
            assert w[0].filename == __file__
        assert (CALLS, built) == (["gemm"], ["gemm", "gemm"])

    def test_the_switches(self, tmp_path, analyses, built, monkeypatch) -> None:
        analyses["verdict"] = Verdict.REFUTED
        ask = request(tmp_path, GEMM)
        self.make(ask, checking=False)
        monkeypatch.setenv("ARGUS_CHECK", "0")
        self.make(ask)
        assert (CALLS, built) == ([], ["gemm", "gemm"])
        monkeypatch.setenv("ARGUS_CHECK", "yes")
        with pytest.raises(ArgusError, match="AG0908"):
            self.make(ask)

    def test_calls_say_whether_they_check(self, tmp_path, monkeypatch) -> None:
        kernel = request(tmp_path, GEMM).kernel
        seen: list[bool] = []

        def make(self, key, ask, checking):
            seen.append(checking)
            return lambda *values: None

        monkeypatch.setattr(calls._Builds, "make", make)
        monkeypatch.setattr(calls, "_target_of_device", lambda tensor: "sm_90a")
        # numpy has no bf16.
        described = TensorArg(64, "bf16", (64, 64), (64, 1), ("cuda", 0))
        monkeypatch.setattr(calls, "described", lambda name, value: described)
        rows = [np.zeros((64, 64), np.float16) for _ in range(3)]
        for call in (kernel, kernel.unchecked):
            with pytest.raises(AttributeError, match="spec"):
                call(*rows)
        assert seen == [True, False]


def test_calls_do_not_wait_for_what_they_do_not_need(tmp_path: Path) -> None:
    """Neither a warm call nor the proof of a product imports Z3."""
    code = """
import sys
from argus import calls, compiler, requests
from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
entry = LIBRARY["gemm"]
request, _ = request_for(entry, entry.large[0], "sm_90a")
if sys.argv[1] == "cold":
    assert str(compiler.prove(request).report.verdict) == "proved"
    assert "argus.verify.tags" in sys.modules
else:
    assert compiler._known_right(requests.key_of(request))
    assert "argus.verify" not in sys.modules
assert "z3" not in sys.modules
"""
    environment = {**os.environ, "ARGUS_CACHE_DIR": str(tmp_path)}
    for word in ("cold", "warm"):
        command = [sys.executable, "-c", code, word]
        subprocess.run(command, check=True, env=environment)


def test_a_build_is_needed_only_for_what_it_decides(tmp_path: Path) -> None:
    line = "    M, K = A.shape\n"
    cheap = GEMM.replace(line, line + "    ag.expect(bank_conflicts=0)\n")
    assert prove(request(tmp_path, cheap)).report.verdict is Verdict.PROVED


@pytest.mark.compiler
def test_expectations_about_machine_code(tmp_path: Path) -> None:
    line = "    M, K = A.shape\n"
    wanted = GEMM.replace(line, line + "    ag.expect(spills=0, registers=24)\n")
    report = prove(request(tmp_path, wanted)).report
    said = {o.claim: o.verdict for o in report.obligations if o.rule == "AG0513"}
    assert said["at most 0 bytes spilled per thread"] is Verdict.PROVED
    assert said["at most 24 registers per thread"] is Verdict.REFUTED
