"""The results in the README are those that were recorded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sample_run
from argus.runs.history import history
from argus.runs.records import Value
from argus.runs.store import RunStore
from argus.runs.summary import record

ROOT = Path(__file__).parents[2]


def tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / name), *words]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["document_results.py", "document_runs.py"])
def test_readme_shows_the_recorded_results(name: str) -> None:
    done = tool(name, "--check")
    assert done.returncode == 0, f"run tools/{name}\n{done.stderr}"


def written(folder: Path, *, measured: bool = True) -> str:
    """The exported record of the sample run, a matrix product."""
    root = folder / "runs"
    name = sample_run.make(root, measured=measured)
    with RunStore(root).read(name) as run:
        found = history(run.stamped())
    path = folder / f"{name}.json"
    design: dict[str, Value] = {"form": "cluster", "BM": 128}
    path.write_text(json.dumps(record(name, "finished", found, design)))
    return str(path)


def bars(folder: Path, **groups: list[dict[str, float]]) -> str:
    """What `benchmarks/bars.py` writes, with these times."""
    found = [
        {
            "group": group,
            "name": f"{group} {number}",
            "tuned": True,
            "run": {
                "trials": 60,
                "gpu_seconds": 90.0,
                "start_microseconds": 900.0,
                "reason": "cut off" if number else "budget: trials",
            },
            "side_by_side": {"microseconds": times, "same_program": False},
        }
        for group, runs in groups.items()
        for number, times in enumerate(runs)
    ]
    where = {"gpu": "NVIDIA H200", "torch": "2", "cuda": "13", "date": "2026-11-22T00"}
    path = folder / "bars.json"
    path.write_text(json.dumps({"environment": where, "bars": found}))
    return str(path)


def test_bars_are_means_and_say_what_is_missed(tmp_path: Path) -> None:
    fast = {"best": 100.0, "library": 101.0, "cuBLAS": 104.0}
    slow = {"best": 100.0, "library": 95.0, "cuBLAS": 100.0}
    norm = {"best": 100.0, "library": 100.0, "torch": 140.0, "copy": 90.0}
    path = bars(tmp_path, gemm=[fast, slow], norms=[norm], attention=[slow])
    lines = tool("document_runs.py", "--show", path).stdout.splitlines()
    mean = (1.04 * 1.0) ** 0.5
    assert f"| matrix product, bf16 | 2 | cuBLAS | {mean:.3f} | 1.000 | 1.00 |" in lines
    assert any(
        line.endswith("| torch, eager | 1.400 | 1.400 | 1.50, missed |")
        for line in lines
    )
    assert any(
        line.endswith("| the library's own choice | 0.950 | 0.950 | 1.00, missed |")
        for line in lines
    )
    assert "240 trials and 6 GPU minutes together (1 run was cut off" in lines[-1]


def test_without_a_last_measurement_the_trials_count(tmp_path: Path) -> None:
    """As for a run that was cut off: its best trial, and the library's own design."""
    path = Path(bars(tmp_path, attention=[{"best": 1.0}]))
    found = json.loads(path.read_text())
    (bar,) = found["bars"]
    del bar["side_by_side"]
    bar["run"] |= {
        "measured": {"microseconds": 90.0, "baselines": {"cuDNN": 99.0}},
        "library_microseconds": 108.0,
    }
    path.write_text(json.dumps(found))
    lines = tool("document_runs.py", "--show", str(path)).stdout.splitlines()
    assert any("| 1 | the library's own choice | 1.200 | 1.200 |" in x for x in lines)


def test_the_ablation_is_drawn(tmp_path: Path) -> None:
    shown = tool("document_runs.py", "--show", written(tmp_path)).stdout
    assert "measured on NVIDIA H200" in shown
    lines = shown.partition("```text ablation\n")[2].splitlines()
    assert lines[0].split() == ["everything", "█" * 22, "185.0", "µs", "1.00x"]
    longest = ["-", "cluster-multicast", "█" * 24, "201.0", "µs", "1.09x"]
    assert lines[1].split() == longest


def test_what_is_predicted_says_so(tmp_path: Path) -> None:
    shown = tool("document_runs.py", "--show", written(tmp_path, measured=False)).stdout
    assert "predicted without a GPU" in shown
    assert "measured" not in shown
