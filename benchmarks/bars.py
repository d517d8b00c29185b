"""The optimiser against the libraries: from the naive kernel, on this machine's GPUs.

    PYTHONPATH=src python benchmarks/bars.py OUT [--trials 60] [--jobs 5] [--only gemm]
    PYTHONPATH=src python benchmarks/bars.py OUT --collect      no GPU: read the records
    PYTHONPATH=src python benchmarks/bars.py --table OUT/bars.json

Each task is a run of `argus optimize` with the built-in agent, a cold policy and seed
0, in a process of its own; several at a time, on the GPUs in turn (the judge times one
kernel at a time on a GPU, whoever asks). Then, alone on its GPU: the best kernel of a
run, the library's default configuration and the baselines, interleaved, on fresh normal
data with a cold L2 cache. OUT/bars.json has the results; the runs' records are kept in
OUT/home (or --home), where what is finished already is not run again, and what was cut
off (by --limit, say) goes on. Of a run that is not finished, and of one that was not
timed side by side, what its trials measured counts: they are interleaved with the
baselines, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from argus.agent.budget import INTERRUPTED
from argus.agent.state import RunState

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
    """Run what is asked for; 1 if a task has no result."""
    options = _options()
    if options.table:
        print(table(json.loads(options.table.read_text(encoding="utf-8"))))
        return 0
    if options.side_by_side:
        for run in options.side_by_side:
            print(
                json.dumps({"run": run, **side_by_side(run, options.home)}), flush=True
            )
        return 0
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    wanted = [b for b in BARS if not options.only or b.group in options.only]
    if options.collect:
        _collect(wanted, options)
        return 0
    gpus = _gpus()
    _optimised(wanted, gpus, options)
    found = {"environment": _environment(), "bars": _records(wanted, options.home)}
    _write(out, found)
    finished = [r for r in found["bars"] if r["run"]["reason"] not in _UNFINISHED]
    if len(finished) < len(wanted):
        print(table(found))
        return 1
    names = [r["run"]["run"] for r in found["bars"]]
    times = _side_by_side(names, gpus, options.home)
    for record in found["bars"]:
        record["side_by_side"] = times.get(record["run"]["run"])
    _write(out, found)
    print(table(found))
    return int(len(times) < len(wanted))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=Path("bars"))
    parser.add_argument("--home", type=Path, help="for the runs' records")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--minutes", type=float, help="budget of a run, too")
    parser.add_argument("--jobs", type=int, default=5, help="runs at a time")
    parser.add_argument("--only", nargs="+", choices=sorted({b.group for b in BARS}))
    parser.add_argument("--collect", action="store_true", help="only read the records")
    parser.add_argument(
        "--limit", type=float, default=3600, help="seconds of all runs together"
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="print it, no GPU")
    parser.add_argument("--side-by-side", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.home = (options.home or options.out / "home").resolve()
    return options


def _collect(wanted: Sequence[Bar], options: argparse.Namespace) -> None:
    """Write bars.json anew from the records; what was timed side by side is kept."""
    path: Path = options.out / "bars.json"
    old: dict[str, Any] = {}
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
    timed = {b["run"]["run"]: b.get("side_by_side") for b in old.get("bars", [])}
    found = {"environment": old.get("environment") or _environment(), "bars": []}
    for record in _records(wanted, options.home):
        run = record["run"]["run"]
        found["bars"].append({**record, "side_by_side": timed.get(run)})
    _write(options.out, found)
    print(table(found))


def _write(out: Path, found: dict[str, Any]) -> None:
    (out / "bars.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _environment() -> dict[str, str]:
    from argus.evaluation.report import environment

    return asdict(environment(f"python {shlex.join(sys.argv)}"))


def _gpus() -> list[int]:
    import torch

    count = torch.cuda.device_count()
    if not count:
        raise SystemExit("there is no GPU: nothing can be measured")
    return list(range(count))


def _home(home: Path, gpu: int) -> dict[str, str]:
    return {**os.environ, "ARGUS_HOME": str(home), "CUDA_VISIBLE_DEVICES": str(gpu)}


# ---------------------------------------------------------------------------- runs


_CUT_OFF = "cut off"
_UNFINISHED = (_CUT_OFF, INTERRUPTED)
"""Why a run ended that can go on."""


def _optimised(
    wanted: Sequence[Bar], gpus: Sequence[int], options: argparse.Namespace
) -> None:
    """Run `argus optimize` for each task that is not finished, and say how it went."""
    end = time.monotonic() + options.limit
    runs = _runs(options.home)

    def optimise(pair: tuple[int, tuple[Bar, str | None]]) -> None:
        number, (bar, run) = pair
        begin = time.monotonic()
        if begin >= end:
            return
        try:
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *_command(bar, run, options)],
                capture_output=True,
                text=True,
                env=_home(options.home, gpus[number % len(gpus)]),
                timeout=end - begin,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{bar.name}: cut off after {end - begin:.0f} s", flush=True)
            return
        seconds = time.monotonic() - begin
        try:
            result = json.loads(done.stdout)["runs"][0]
        except (ValueError, KeyError, IndexError):
            print(bar.name, done.stdout[-2000:], done.stderr[-2000:], flush=True)
            return
        times = {**result["baselines"], "best": result["microseconds"]}
        said = f"{result['trials']} trials, {result['reason']}, {times}"
        print(f"{bar.name}: {seconds:.0f} s, {said}", flush=True)

    waiting: list[tuple[Bar, str | None]] = []
    for bar in wanted:
        name, state = runs.get(_problem_of(bar), (None, None))
        if state is None or _reason(state) in _UNFINISHED:
            waiting.append((bar, name))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(optimise, enumerate(waiting)))


def _command(bar: Bar, run: str | None, options: argparse.Namespace) -> list[str]:
    """Arguments of `argus` that begin a task's run, or go on with it."""
    if run is not None:
        return ["optimize", "--resume", run, "--cold", "--json"]
    command = [
        *("optimize", *bar.arguments(), "--trials", str(options.trials)),
        *("--cold", "--seed", "0", "--json"),
    ]
    if options.minutes:
        command += ["--minutes", str(options.minutes)]
    return command


def _problem_of(bar: Bar) -> str:
    """What a task's runs have in common."""
    from argus.agent.tasks.named import tasks_named

    options = [bar.option] if bar.option else []
    (task,) = tasks_named(bar.entry, bar.shape, options=options).tasks
    return task.problem.model_dump_json()


def _runs(home: Path) -> dict[str, tuple[str, RunState]]:
    """The last run of each problem and its state."""
    from argus.runs.store import RunStore

    store = RunStore(home / "runs")
    found: dict[str, tuple[str, RunState]] = {}
    for name in store.names():
        run = store.read(name)
        state = RunState.rebuild(run.events(), run.get)
        found[state.started.task.problem.model_dump_json()] = name, state
    return found


def _reason(state: RunState) -> str:
    return state.finished.reason if state.finished else _CUT_OFF


def _records(wanted: Sequence[Bar], home: Path) -> list[dict[str, Any]]:
    """What the runs of the tasks came to, where they have a right kernel."""
    runs = _runs(home)
    found = [(bar, runs.get(_problem_of(bar))) for bar in wanted]
    return [_record(bar, *run) for bar, run in found if run and run[1].best]


def _record(bar: Bar, name: str, state: RunState) -> dict[str, Any]:
    from argus.agent.assemble import space_of

    assert state.best is not None and state.best.verdict is not None
    verdict = state.best.verdict
    verdicts = [t.verdict for t in state.done if t.verdict]
    problem = state.started.task.problem
    library = space_of(state.started.task).library(problem)
    same = [t.microseconds for t in state.done if state.design(t.number) == library]
    run = {
        "run": name,
        "reason": _reason(state),
        "trials": len(state.done),
        "statuses": Counter(v.status for v in verdicts),
        "without_prediction": sum(v.predicted is None for v in verdicts),
        "start_microseconds": state.trials[0].microseconds,
        "microseconds": state.best.microseconds,
        "measured": verdict.measured and verdict.measured.model_dump(mode="json"),
        "limit_microseconds": verdict.limit_microseconds,
        "ablation": {n: a.verdict.microseconds for n, a in state.ablations.items()},
        "gpu_seconds": state.spent.gpu_seconds,
        "design": dict(state.design(state.best.number) or {}),
        "library_microseconds": min(filter(None, same), default=None),
    }
    return {**asdict(bar), "name": bar.name, "run": run}


# -------------------------------------------------------------------- side by side


def _side_by_side(
    runs: Sequence[str], gpus: Sequence[int], home: Path
) -> dict[str, dict[str, Any]]:
    """Times by run; a process on each GPU takes its share of the runs."""

    def timed(number: int) -> list[dict[str, Any]]:
        share = runs[number :: len(gpus)]
        if not share:
            return []
        done = subprocess.run(
            [sys.executable, __file__, "--home", str(home), "--side-by-side", *share],
            capture_output=True,
            text=True,
            env=_home(home, gpus[number]),
            check=False,
        )
        if done.returncode:
            print(done.stderr[-2000:], flush=True)
        return [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]

    with ThreadPoolExecutor(len(gpus)) as pool:
        shares = pool.map(timed, range(len(gpus)))
        return {found["run"]: found for share in shares for found in share}


def side_by_side(name: str, home: Path) -> dict[str, Any]:
    """Medians in µs of a run's best kernel, the library's default and the baselines."""
    from argus.agent.assemble import space_of
    from argus.compiler import build
    from argus.evaluation.arrays import TorchArrays
    from argus.evaluation.judge.candidate import request_of
    from argus.evaluation.judge.subject import subject_of
    from argus.evaluation.oracle import judge, make_inputs
    from argus.evaluation.timing import median_interval, sample_interleaved, working
    from argus.runs.store import RunStore
    from argus.runtime.launch import LoadedKernel

    run = RunStore(home / "runs").read(name)
    state = RunState.rebuild(run.events(), run.get)
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
        loaded = LoadedKernel(built.spec, built.cubin.image)
        calls[kind] = loaded.prepare(**inputs.arrays, **subject.scalars)
        programs[kind] = built.cubin.source
    errors: dict[str, float] = {}
    for kind in candidates:
        calls[kind]()
        verdict = judge(subject.entry, subject.case, inputs)
        assert verdict.ok, (kind, verdict.why())
        errors[kind] = verdict.error
    calls |= working(subject.entry.baselines(inputs.arrays, subject.case))
    samples = sample_interleaved(calls, seconds=1.0, rounds=ROUNDS)
    return {
        "microseconds": {n: median(s) for n, s in samples.items()},
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


def times_of(bar: dict[str, Any]) -> dict[str, float]:
    """µs of "best", the baselines and, where it was measured, "library".

    From the last measurement, side by side, or else from the run's trials.
    """
    if beside := bar.get("side_by_side"):
        times = dict(beside["microseconds"])
        if beside.get("same_program"):
            times["library"] = times["best"]  # what they differ by is noise
        return times
    measured = bar["run"]["measured"]
    found = {"best": measured["microseconds"], **measured["baselines"]}
    if bar["run"]["library_microseconds"]:
        found["library"] = bar["run"]["library_microseconds"]
    return found


def table(found: dict[str, Any]) -> str:
    """Markdown: each task, and the geometric means that the bars are about."""
    lines = [
        "| task | naive, µs | best, µs | library's default | baselines | trials |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    ratios: dict[str, list[float]] = {}
    for bar in found["bars"]:
        times, run = times_of(bar), bar["run"]
        best = times["best"]
        if BESIDE[bar["group"]] in times:
            ratio = times[BESIDE[bar["group"]]] / best
            ratios.setdefault(bar["group"], []).append(ratio)
        others = "; ".join(
            f"{us / best:.3f} of {n}"
            for n, us in times.items()
            if n not in ("best", "library")
        )
        library = f"{times['library'] / best:.3f}" if "library" in times else ""
        if times.get("library") == best:
            library += ", the same"
        untuned = "" if bar["tuned"] else " (never tuned)"
        trials = f"{run['trials']}" + (
            ", cut off" if run["reason"] == "cut off" else ""
        )
        lines.append(
            f"| {bar['name']}{untuned} | {run['start_microseconds']:.1f} | "
            f"{best:.1f} | {library} | {others} | {trials} |"
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
