"""`argus runs`: every command on a run, in a narrow terminal, and as JSON."""

import json
from pathlib import Path
from typing import Protocol

import pytest


class Ran(Protocol):
    code: int
    out: str
    err: str


def test_list(argus, run: str) -> None:
    ran = argus("runs", "list", width=60)
    assert ran.code == 0
    assert f"{run}  finished" in ran.out
    words = " ".join(ran.out.split())
    assert "best 185.0 µs measured (trial 2), 14.05x as fast as the start" in words
    assert max(map(len, ran.out.splitlines())) <= 60
    (row,) = argus("runs", "list", "--json").json["runs"]
    assert row["run"] == run and row["best_microseconds"] == 185.0 and row["measured"]


def test_no_run_yet(argus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path))
    assert "There is no run yet" in argus("runs", "list").out
    ran = argus("runs", "show")
    assert ran.code == 2 and "AG1001" in ran.err


def test_show(argus, run: str) -> None:
    ran = argus("runs", "show", run[-4:], width=60)
    assert ran.code == 0
    assert "0  2600.0 µs measured  +0.00  the start" in ran.out
    words = " ".join(ran.out.split())
    assert "1 refuted -1.00 cp-async STAGES=4: AG0301 elements that do not" in words
    assert "3 not judged +0.00 split-k STAGES=4: no design" in words
    assert "cluster-multicast 201.0 µs 1.09x as long" in words
    rows = argus("runs", "show", "--json").json["trials"]
    assert [r["status"] for r in rows] == ["correct", "refuted", "correct", None]
    assert rows[2]["predicted_microseconds"] == 180.0


def test_show_a_trial(argus, run: str) -> None:
    ran = argus("runs", "show", run, "--trial", "1")
    assert "error[AG0301]" in ran.out and "loads wait for the product" in ran.out
    assert "Step 2: a ring in shared memory" in ran.out
    data = argus("runs", "show", run, "--trial", "1", "--json").json
    assert [e["event"] for e in data["trial"]["events"]] == [
        "proposed", "lowered", "judged", "learned",
    ]  # fmt: skip
    ran = argus("runs", "show", run, "--trial", "9")
    assert ran.code == 2 and "has no trial 9" in ran.err


def test_diff(argus, run: str) -> None:
    ran = argus("runs", "diff", f"{run}:0", run)
    assert ran.code == 0
    assert "form: naive -> cluster" in ran.out and "STAGES: - -> 4" in ran.out
    assert '-"""Step 1: one tile of C per block' in ran.out
    assert f"{run}:2: 185.0 µs measured" in ran.out
    same = argus("runs", "diff", f"{run}:2", run)
    assert "The kernels are the same." in same.out
    assert argus("runs", "diff", f"{run}:3", run).code == 2
    assert "is not the number" in argus("runs", "diff", f"{run}:x", run).err


def test_export(argus, run: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    ran = argus("runs", "export", run, "--out", str(folder))
    assert ran.code == 0
    names = sorted(p.name for p in folder.iterdir())
    files = ["events.jsonl", "run.json"]
    assert names == [*files, "trial-000.py", "trial-001.py", "trial-002.py"]
    whole = json.loads((folder / "run.json").read_text())
    assert (whole["run"], whole["task"]) == (run, "gemm 4096x4096x4096")
    assert (whole["start_microseconds"], whole["best_microseconds"]) == (2600.0, 185.0)
    assert whole["baselines"] == {"cuBLAS": 190.0} and whole["measured"]
    assert whole["design"] == {"form": "cluster", "BM": 128, "STAGES": 4}
    assert whole["ablation"] == [
        {"without": ["cluster-multicast"], "status": "correct", "microseconds": 201.0}
    ]
    said = [r["status"] for r in whole["rows"]]
    assert said == ["correct", "refuted", "correct", None]
    lines = (folder / "events.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["event"] == "started"
    assert json.loads(lines[-1])["event"] == "finished"
    again = argus("runs", "export", run, "--out", str(folder))
    assert again.code == 2 and "AG0902" in again.err
