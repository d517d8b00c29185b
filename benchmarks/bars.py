"""The optimiser against the libraries: from the naive kernel, on this machine's GPUs.

    PYTHONPATH=src python benchmarks/bars.py OUT [--trials 60] [--jobs 5] [--only gemm]
    PYTHONPATH=src python benchmarks/bars.py --table OUT/bars.json

Each task is a run of `argus optimize` with the built-in agent, a cold policy and seed
0, in a process of its own; several at a time, on the GPUs in turn (the judge times one
kernel at a time on a GPU, whoever asks). Then, alone and in one process for each task:
its best kernel, the library's default configuration and the baselines, interleaved, on
fresh normal data with a cold L2 cache. OUT gets `bars.json` and the runs' records.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROUNDS = 100
COMMAND = "import sys; from argus.cli import main; main()"


@dataclass(frozen=True)
class Bar:
    """A task, and the group whose bar it belongs to."""

    group: str
    entry: str
    shape: str
    option: str = ""
    tuned: bool = True

    @property
    def name(self) -> str:
        """For people: entry, sizes, options."""
        return f"{self.entry} {self.shape}{' ' if self.option else ''}{self.option}"

    def arguments(self) -> list[str]:
        """What `argus optimize` is told of it."""
        told = [self.entry, "--shape", self.shape]
        return [*told, "--option", self.option] if self.option else told


BARS = (
    Bar("gemm", "gemm", "8192x8192x8192"),
    Bar("gemm", "gemm", "4096x4096x14336"),
    Bar("gemm", "gemm", "5120x3072x7168", tuned=False),
    Bar("gemm", "gemm", "4096x4096x4096"),
    Bar("gemm", "gemm", "512x8192x8192"),
    Bar("gemm", "gemm", "6144x2560x1536", tuned=False),
    Bar("attention", "attention", "4x32x32x4096x4096x128"),
    Bar("attention", "attention", "4x32x32x4096x4096x128", "causal"),
    Bar("attention", "attention", "1x32x8x8192x8192x128", "causal"),
    Bar("attention", "attention", "8x16x16x1024x1024x128"),
    Bar("norms", "softmax", "16384x8192"),
    Bar("norms", "softmax", "32768x2048"),
    Bar("norms", "softmax", "4096x4096"),
    Bar("norms", "rmsnorm", "16384x8192"),
    Bar("norms", "rmsnorm", "8192x16384"),
    Bar("norms", "rmsnorm", "4096x4096"),
)
"""In the order in which they are begun: what takes longest first."""


def main() -> int:
    """Run what is asked for; 1 if a run failed."""
    options = _options()
    if options.table:
        print(table(json.loads(options.table.read_text(encoding="utf-8"))))
        return 0
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    if options.side_by_side:
        print(json.dumps(side_by_side(options.side_by_side, out)))
        return 0
    wanted = [b for b in BARS if not options.only or b.group in options.only]
    found = {"environment": _environment(), "bars": []}
    failed = False
    for bar, run, seconds in _runs(wanted, out, options):
        if run is None:
            failed = True
            continue
        record = {**asdict(bar), "name": bar.name, "seconds": seconds, "run": run}
        found["bars"].append(record)
        _write(out, found)
    for record in found["bars"]:
        record["side_by_side"] = _timed(record["run"]["run"], out)
        failed |= not record["side_by_side"]
        _write(out, found)
    print(table(found))
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=Path("bars"))
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=5, help="runs at a time")
    parser.add_argument("--only", nargs="+", choices=sorted({b.group for b in BARS}))
    parser.add_argument("--limit", type=float, default=480, help="seconds of a run")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print it, no GPU")
    parser.add_argument("--side-by-side", metavar="RUN", help=argparse.SUPPRESS)
    return parser.parse_args()


def _write(out: Path, found: dict[str, Any]) -> None:
    (out / "bars.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _environment() -> dict[str, str]:
    from argus.evaluation.report import environment

    return asdict(environment(f"python {shlex.join(sys.argv)}"))


# ---------------------------------------------------------------------------- runs


def _runs(
    wanted: Sequence[Bar], out: Path, options: argparse.Namespace
) -> Iterator[tuple[Bar, dict[str, Any] | None, float]]:
    """Each task with what its run says of itself; None if it failed."""
    gpus = _gpus()

    def optimise(pair: tuple[int, Bar]) -> tuple[Bar, dict[str, Any] | None, float]:
        number, bar = pair
        command = [
            *("optimize", *bar.arguments(), "--trials", str(options.trials)),
            *("--cold", "--seed", "0", "--json"),
        ]
        own = {**_home(out), "CUDA_VISIBLE_DEVICES": str(gpus[number % len(gpus)])}
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *command],
                capture_output=True,
                text=True,
                env=own,
                timeout=options.limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{bar.name}: not done in {options.limit} s", flush=True)
            return bar, None, options.limit
        seconds = round(time.monotonic() - begin, 1)
        try:
            run = json.loads(done.stdout)["runs"][0]
        except (ValueError, KeyError, IndexError):
            print(bar.name, done.stdout[-2000:], done.stderr[-2000:], flush=True)
            return bar, None, seconds
        times = {**run["baselines"], "best": run["microseconds"]}
        print(f"{bar.name}: {seconds} s, {run['trials']} trials, {times}", flush=True)
        return bar, run, seconds

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(optimise, enumerate(wanted))


def _home(out: Path) -> dict[str, str]:
    return {**os.environ, "ARGUS_HOME": str((out / "home").resolve())}


def _gpus() -> list[int]:
    import torch

    return list(range(torch.cuda.device_count()))


# -------------------------------------------------------------------- side by side


def _timed(run: str, out: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, str(out), "--side-by-side", run],
        capture_output=True,
        text=True,
        env=_home(out),
        timeout=180,
        check=False,
    )
    if done.returncode:
        print(run, done.stderr[-2000:], flush=True)
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def side_by_side(name: str, out: Path) -> dict[str, Any]:
    """Medians in µs of a run's best kernel, the library's default and the baselines."""
    from argus.agent.assemble import space_of
    from argus.agent.state import State
    from argus.compiler import build
    from argus.evaluation.arrays import TorchArrays
    from argus.evaluation.judge.candidate import request_of
    from argus.evaluation.judge.subject import subject_of
    from argus.evaluation.oracle import judge, make_inputs
    from argus.evaluation.timing import median_interval, sample_interleaved
    from argus.runs.store import Store
    from argus.runtime.launch import Loaded

    run = Store(out / "home" / "runs").read(name)
    state = State.rebuild(run.events(), run.get)
    task = state.started.task
    assert state.best is not None
    family = space_of(task)
    candidates = {
        "best": state.candidates[state.best.number],
        "library": family.candidate(family.library(task.problem), task.problem),
    }
    subject = subject_of(task.problem)
    inputs = make_inputs(subject.entry, subject.case, TorchArrays(1))
    calls: dict[str, Any] = {}
    programs: dict[str, str] = {}
    for kind, candidate in candidates.items():
        built = build(request_of(candidate, subject))
        loaded = Loaded(built.spec, built.cubin.image)
        calls[kind] = loaded.prepare(**inputs.arrays, **subject.scalars)
        programs[kind] = built.cubin.source
    errors: dict[str, float] = {}
    for kind in candidates:
        calls[kind]()
        verdict = judge(subject.entry, subject.case, inputs)
        assert verdict.ok, (kind, verdict.why())
        errors[kind] = verdict.error
    baselines = subject.entry.baselines(inputs.arrays, subject.case)
    for kind, call in baselines.items():
        with contextlib.suppress(RuntimeError):  # this torch has no such kernel
            call()
            calls[kind] = call
    samples = sample_interleaved(calls, seconds=2.0, rounds=ROUNDS)
    return {
        "microseconds": {n: sorted(s)[len(s) // 2] for n, s in samples.items()},
        "intervals": {n: median_interval(s) for n, s in samples.items()},
        "samples": len(samples["best"]),
        "errors": errors,
        "same_program": programs["best"] == programs["library"],
        "design": dict(candidates["best"].design),
        "library_design": dict(candidates["library"].design),
    }


# --------------------------------------------------------------------------- table

BESIDE = {"gemm": "cuBLAS", "attention": "library", "norms": "torch"}
BAR = {"gemm": 1.0, "attention": 1.0, "norms": 1.5}


def table(found: dict[str, Any]) -> str:
    """Markdown: each task, and the geometric means that the bars are about."""
    lines = [
        "| task | naive, µs | best, µs | library's default | baselines | trials |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    ratios: dict[str, list[float]] = {}
    for bar in found["bars"]:
        times = bar.get("side_by_side", {}).get("microseconds")
        if not times:
            continue
        best = times["best"]
        ratios.setdefault(bar["group"], []).append(times[BESIDE[bar["group"]]] / best)
        others = "; ".join(
            f"{us / best:.3f} of {n}"
            for n, us in times.items()
            if n not in ("best", "library")
        )
        same = ", the same program" if bar["side_by_side"]["same_program"] else ""
        untuned = "" if bar["tuned"] else " (never tuned)"
        lines.append(
            f"| {bar['name']}{untuned} | {bar['run']['start_microseconds']:.1f} | "
            f"{best:.1f} | {times['library'] / best:.3f}{same} | {others} | "
            f"{bar['run']['trials']} |"
        )
    lines.append("")
    for group, found_ratios in ratios.items():
        mean = math.exp(sum(map(math.log, found_ratios)) / len(found_ratios))
        lines.append(
            f"{group}: {mean:.3f} of {BESIDE[group]}, geometric mean of "
            f"{len(found_ratios)} (least {min(found_ratios):.3f}; bar {BAR[group]})"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
