"""`argus session` and `argus policy`: text of any width, JSON of the schema, codes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import WRONG, FakeBench

from argus.agent.operations import OPERATIONS
from argus.agent.policy import Advice, Policy, Statistic, policy_file
from argus.agent.session import judges, results
from argus.cli.app import app
from argus.cli.session import session as group
from command_line import Commands

COMMON = {"version", "command", "ok", "diagnostics"}
ANSWERS = {
    "start": results.StartedRun,
    "next": results.Next,
    "knowledge": results.Found,
    "check": results.Checked,
    "build": results.Built,
    "explain": results.Explained,
    "test": results.Tested,
    "bench": results.Benched,
    "profile": results.Profiled,
    "submit": results.Submitted,
    "status": results.Standing,
    "finish": results.Ended,
}


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeBench:
    made = FakeBench()
    monkeypatch.setattr(judges.Judges.__init__, "__defaults__", (lambda gpu: made,))
    # What the page holds is not the matter here.
    monkeypatch.setattr("argus.report.page.page", lambda run, state: f"of {run.id}")
    monkeypatch.chdir(tmp_path)
    return made


def argus(*words: str, width: int = 80):
    env = {"COLUMNS": str(width), "NO_COLOR": "1"}
    done = Commands().invoke(app, list(words), env=env, prog_name="argus")
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def begin(*words: str) -> None:
    done = argus("session", "start", "softmax", "--shape", "64x256", "--cold", *words)
    assert done.exit_code == 0, done.output


def test_every_operation_is_a_command():
    assert [c.name or c.callback.__name__ for c in group.registered_commands] == list(
        OPERATIONS
    )


def test_json_is_the_answer(tmp_path: Path):
    """Each operation once; its object is the schema's, with what all commands have."""
    calls: dict[str, list[str]] = {
        "start": ["softmax", "--shape", "64x256", "--cold", "--trials", "3"],
        "next": ["--draft", "k.py", "--write", "parent.py"],
        "knowledge": ["online", "--run", "latest"],
        "check": ["k.py"],
        "build": ["k.py"],
        "explain": ["k.py", "--stage", "cuda"],
        "test": ["k.py"],
        "bench": ["k.py"],
        "profile": ["k.py"],
        "submit": ["k.py", "--note", "x", "--set", "WARPS=2"],
        "status": [],
        "finish": [],
    }
    assert list(calls) == list(OPERATIONS)
    for name, words in calls.items():
        done = argus("session", name, *words, "--json")
        assert done.exit_code == 0, done.output
        assert done.stderr == ""
        data = json.loads(done.stdout)
        assert set(data) >= COMMON
        assert data["command"] == f"session {name}"
        model = ANSWERS[name]
        own = {k: v for k, v in data.items() if k not in COMMON}
        if "ok" in model.model_fields:
            own["ok"] = data["ok"]
        made = model.model_validate(own)
        assert set(own) == set(model.model_fields)
        assert made.model_dump(mode="json") == own
    assert "@ag.kernel" in (tmp_path / "parent.py").read_text()


@pytest.mark.parametrize("width", [40, 80])
def test_text_fits(width: int):
    lines: list[str] = []

    def call(*words: str, code: int = 0) -> str:
        done = argus("session", *words, width=width)
        assert done.exit_code == code, done.output
        lines.extend(done.stdout.splitlines())
        return done.stdout

    call("start", "softmax", "--shape", "64x256", "--cold", "--write", "p.py")
    assert "speed-up" not in (told := call("next", "--draft", "k.py"))
    assert "trial 1: " in told
    call("knowledge", "online softmax", "-r", "latest")
    Path("wrong.py").write_text(Path("k.py").read_text() + WRONG)
    call("build", "k.py")
    call("test", "k.py")
    call("bench", "k.py")
    call("profile")
    call("submit", "k.py", "--note", "a note that is longer than forty characters are")
    call("next")
    assert "`argus report" in call("status", "--best", "best.py")
    end = call("finish", "--out", "best.py")
    (page,) = Path("home/runs/reports").resolve().iterdir()
    for told in (end, call("status")):
        assert str(page) in "".join(told.split())
    # A path is not cut, so that it can be copied: it has a line of its own.
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    wrong = argus("session", "check", "wrong.py", width=width)
    assert wrong.exit_code == 1
    assert "error[AG0310]" in wrong.stdout


def test_a_bug_of_the_report_ends_no_session(monkeypatch: pytest.MonkeyPatch):
    def broken(run: object, state: str) -> str:
        raise RuntimeError("oh")

    monkeypatch.setattr("argus.report.page.page", broken)
    begin()
    done = argus("session", "finish", "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["report"] is None
    assert any("not written: oh; `argus report" in note for note in data["notes"])
    monkeypatch.setattr("argus.report.page.page", lambda run, state: "a page")
    # Who asks again gets it, and no old page passes for one about the run.
    path = Path(json.loads(argus("session", "finish", "--json").stdout)["report"])
    assert path.read_text() == "a page"
    os.utime(path, (1.0, 1.0))
    assert json.loads(argus("session", "status", "--json").stdout)["report"] is None


def test_wrong_kernels_and_wrong_commands_have_other_codes():
    begin()
    argus("session", "next", "--draft", "k.py")
    Path("wrong.py").write_text(Path("k.py").read_text() + WRONG)
    for operation in ("check", "build", "test", "bench"):
        done = argus("session", operation, "wrong.py", "--json")
        assert done.exit_code == 1
        data = json.loads(done.stdout)
        assert data["ok"] is False
        assert data["verdict"]["findings"][0]["code"] == "AG0310"
        assert data["verdict"]["findings"][0]["counterexample"]
    for words, code in (
        (["submit", "none.py"], "AG0901"),
        (["submit", "k.py", "--run", "nothing"], "AG1001"),
        (["submit", "k.py", "--set", "WARPS"], "AG0908"),
        (["explain", "--topic", "AG9999"], "AG0910"),
        (["start", "softmax", "--size", "Q=4"], "AG0908"),
        (["start", "softmax", "--shape", "4xx"], "AG0908"),
    ):
        done = argus("session", *words, "--json")
        assert done.exit_code == 2, words
        assert json.loads(done.stdout)["diagnostics"][0]["code"] == code
    done = argus("session", "submit", "wrong.py", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["reward"] < 0


def test_help_of_every_operation():
    for name in OPERATIONS:
        done = argus("session", name, "--help")
        assert done.exit_code == 0
        assert "--json" in done.stdout


# ---- the policy ----------------------------------------------------------------------


def learnt() -> Policy:
    effects = {
        "gemm/roles/K=12 M=12 N=12/BM=128": Statistic(mean=0.1, count=2),
        "gemm/roles/K=13 M=13 N=13/BM=128": Statistic(mean=0.2, count=2),
        "softmax/held/M=6 N=8/WARPS=4": Statistic(mean=0.2, count=2),
    }
    return Policy(
        preferences={
            "memory/tma": Statistic(mean=0.25, count=3),
            "memory/wgmma": Statistic(mean=-0.5, count=1),
        },
        effects=effects,
        advice={
            "gemm/memory/tma": Advice(text="tma brought up to 28 %.", trials=(1, 2)),
            "softmax/memory/x": Advice(text="x made no difference.", trials=(3,)),
        },
        runs={"a-run": 5},
    )


def test_policy_is_shown_and_forgotten():
    assert "Nothing was learnt yet" in argus("policy", "show").stdout
    path = policy_file()
    path.parent.mkdir(parents=True)
    path.write_text(learnt().model_dump_json())
    told = argus("policy", "show", width=40).stdout
    assert max(map(len, told.splitlines())) <= 40 or str(path) in told
    assert "+0.250  tma, 3 trials" in told
    assert "gemm, form roles: 2 at 2 sizes" in told
    data = json.loads(argus("policy", "show", "--json").stdout)
    assert [p["optimisation"] for p in data["preferences"]] == ["tma", "wgmma"]
    assert data["runs"] == 1
    assert [e["effects"] for e in data["effects"]] == [2, 1]
    only = json.loads(
        argus("policy", "show", "--task-family", "softmax", "--json").stdout
    )
    assert [a["text"] for a in only["advice"]] == ["x made no difference."]
    assert [e["family"] for e in only["effects"]] == ["softmax"]
    assert argus("policy", "show", "--task-family", "nothing").exit_code == 2

    assert argus("policy", "reset", "--json").exit_code == 2  # nobody can be asked
    refused = Commands().invoke(app, ["policy", "reset"], input="n\n")
    assert refused.exit_code == 2
    assert path.exists()
    data = json.loads(argus("policy", "reset", "--yes", "--json").stdout)
    assert data["removed"] is True
    assert not path.exists()
    assert (
        json.loads(argus("policy", "reset", "-y", "--json").stdout)["removed"] is False
    )


@pytest.mark.filterwarnings("always")
def test_a_damaged_policy_can_be_forgotten():
    path = policy_file()
    path.parent.mkdir(parents=True)
    path.write_text("{")
    shown = argus("policy", "show")
    assert shown.exit_code == 0
    assert "warning[AG1004]" in shown.stderr
    assert argus("policy", "reset", "--yes").exit_code == 0
    assert argus("policy", "show").exit_code == 0


# ---- for real ------------------------------------------------------------------------


@pytest.mark.compiler
def test_a_scripted_agent_optimises_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The real judge, planner and knowledge base; no GPU.

    What submits is a process of its own: it goes on with what was begun here, and what
    it has written goes on here. That a program is not executed, and a dry run:
    tests/mcp.
    """
    monkeypatch.undo()  # nothing stands in for anything
    monkeypatch.chdir(tmp_path)
    program = shutil.which("argus", path=str(Path(sys.executable).parent))
    assert program is not None
    for name, value in (
        ("ARGUS_HOME", str(tmp_path / "home")),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("COLUMNS", "80"),
    ):
        monkeypatch.setenv(name, value)

    def process(*words: str, code: int = 0):
        done = subprocess.run(
            [program, "session", *words, "--json"],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    def call(*words: str, code: int = 0):
        done = argus("session", *words, "--json")
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    begun = call("start", "softmax", "--shape", "64x256", "--trials", "3")
    assert begun["verdict"]["time"]["kind"] == "predicted"
    asked = call("next", "--write", "k.py")
    assert asked["proposal"]["invariants"]
    kernel = tmp_path / "k.py"

    # The agent's first try has a mistake, which comes back with where it goes wrong.
    text = kernel.read_text()
    edited = text.replace("FOLD: bool = False", "FOLD: bool = True")
    wrong = edited.replace("Y[m:, n:] =", "Y[0:, n:] =")
    assert wrong != edited != text
    kernel.write_text(wrong)
    found = call("check", "k.py", code=1)
    mistake = found["verdict"]["findings"][0]
    assert mistake["code"] in ("AG0305", "AG0307")
    assert "Y[0:, n:] =" in wrong.splitlines()[mistake["line"] - 1]
    assert mistake["counterexample"]["replayed"] in (True, None)

    kernel.write_text(edited)
    done = process("submit", "k.py", "--note", "exponentials by powers of two")
    assert done["verdict"]["status"] == "correct"
    assert done["recognised"] is True
    assert done["verdict"]["error"] < 5e-3
    found = call("status")
    assert [r["status"] for r in found["trials"]] == ["correct", "correct"]
    assert found["spent"]["gpu_seconds"] == 0.0
    end = call("finish", "--out", "best.py", "--no-ablate")
    assert end["trials"] == 2
    assert (tmp_path / "best.py").read_text() == end["best_source"]["source"]
    assert "plot-trajectory" in Path(end["report"]).read_text()
    assert call("status")["report"] == end["report"]
