"""`argus check` proves, remembers, writes reports; calling a kernel may check it."""

import json
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus import compiler
from argus.cli.app import app
from argus.compiler import prove, require_proved
from argus.diagnostics import ArgusError
from argus.evaluation.proving import proved
from argus.ir import ops as o
from argus.verify import verifier
from argus.verify.evidence import Counterexample, Place
from argus.verify.verdict import Obligation, Verdict

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
            found = Counterexample("it is wrong", "here", Place("math"), sizes)
        reason = "no idea" if verdict is Verdict.UNKNOWN else ""
        yield Obligation("AG0305", "it is right", span, verdict, "z3", reason, found)

    def available(name: str):
        return find if name == "tags" else lambda program: []

    monkeypatch.setattr(verifier, "available", available)
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path / "cache"))
    return chosen


def argus(*words: str):
    env = {"COLUMNS": "100", "NO_COLOR": "1"}
    return CliRunner().invoke(app, list(words), env=env, prog_name="argus")


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
    assert "error[AG0305]: it is wrong" in ran.stdout
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
    assert [d["code"] for d in data["diagnostics"]] == ["AG0305"]


def test_no_proof(file: str, analyses) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("check", file, "--no-proof")
    assert ran.exit_code == 0
    assert ran.stdout == "ok      gemm: 384 threads, 98352 bytes shared\n"
    assert CALLS == []


def test_files(file: str, analyses, tmp_path: Path) -> None:
    analyses["verdict"] = Verdict.REFUTED
    ran = argus("check", file, "--sarif", "out/a.sarif", "--html", "out/a.html")
    assert ran.exit_code == 1
    log = json.loads((tmp_path / "out" / "a.sarif").read_text())
    assert log["runs"][0]["results"][0]["ruleId"] == "AG0305"
    assert "it is wrong" in (tmp_path / "out" / "a.html").read_text()


def test_an_incomplete_installation_does_not_say_proved(file: str, monkeypatch) -> None:
    whole = verifier.available

    def available(name: str):
        return None if name == "order" else whole(name)

    monkeypatch.setattr(verifier, "available", available)
    ran = argus("check", file)
    assert ran.exit_code == 0
    assert ran.stdout.startswith("ok      gemm")
    assert "only tags, performance ran" in " ".join(ran.stdout.split())


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
    def test_what_is_not_proved_is_raised(self, tmp_path: Path, analyses) -> None:
        require_proved(request(tmp_path, GEMM))
        for verdict, code in [(Verdict.REFUTED, "AG0305"), (Verdict.UNKNOWN, "AG0390")]:
            analyses["verdict"] = verdict
            folder = tmp_path / code
            folder.mkdir()
            with pytest.raises(ArgusError) as caught:
                require_proved(request(folder, GEMM))
            assert caught.value.code == code

    def test_the_switch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ARGUS_CHECK", raising=False)
        assert not compiler._checking()
        monkeypatch.setenv("ARGUS_CHECK", "1")
        assert compiler._checking()
        monkeypatch.setenv("ARGUS_CHECK", "yes")
        with pytest.raises(ArgusError, match="AG0908"):
            compiler._checking()


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
