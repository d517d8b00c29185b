"""Measure many configurations of every kernel family, for the performance model.

    PYTHONPATH=src python benchmarks/model_data.py OUT.json [--seconds 420]
    PYTHONPATH=src python benchmarks/model_data.py --dry-run       # counts, no GPU
    PYTHONPATH=src python benchmarks/model_data.py --build 40      # a sample, no GPU
    PYTHONPATH=src python benchmarks/model_data.py --report OUT.json    # accuracy

First everything is built, in as many processes as there are cores. Then a process of
its own launches: it compares each result with fp64 (norm of the error), and times a few
calls with a cold L2 cache. Where it hangs or faults, that configuration is recorded as
such and the next process goes on behind it. OUT is rewritten every few seconds. What
there was no time for is counted at the end, and missing in the file.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import random
import shlex
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as OutOfTime
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from model_report import report
from model_space import TARGET, Job, choice_of, describe, jobs, problem_of, request_of

from argus.compiler import build
from argus.diagnostics import ArgusError
from argus.evaluation.oracle import make_inputs
from argus.evaluation.report import environment
from argus.evaluation.timing import time_interleaved
from argus.files.writing import write_text
from argus.model.data import read

ROUNDS, WARMUP = 8, 2
SLOW = 20e-3
"""Seconds of one call from which on it is timed with fewer calls."""
SILENCE = 40.0
"""Seconds without a word from the measuring process after which it hangs."""
BUILDING = 0.45
"""Share of the time that building may take."""
WRITE_EVERY = 5.0


@dataclass
class Made:
    """What building found; ``file`` holds launch contract and machine code."""

    form: str
    statics: dict[str, int | bool]
    facts: dict[str, int]
    dtypes: dict[str, str]
    target: str = TARGET
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    threads: int | None = None
    failure: str = ""


@dataclass
class Results:
    """Everything found so far, in the form of `argus.model.data`."""

    environment: dict[str, Any]
    cases: list[dict[str, Any]] = field(default_factory=list)
    builds: list[dict[str, Any]] = field(default_factory=list)
    records: list[list[Any]] = field(default_factory=list)
    baselines: list[list[Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """One line for each thing, so that files can be compared."""
        lists = ("cases", "builds", "records", "baselines")
        parts = [f'"environment": {json.dumps(self.environment)}']
        for name in lists:
            rows = ",\n".join(json.dumps(row) for row in getattr(self, name))
            parts.append(f'"{name}": [\n{rows}\n]')
        write_text(path, '{\n"format": 1,\n' + ",\n".join(parts) + "\n}\n")


# -------------------------------------------------------------------------- building


def _build(job: Job, file: str) -> Made:
    """Build one specialisation, in a process of the pool."""
    request = request_of(job)
    made = Made(
        job.form,
        dict(job.statics),
        dict(request.facts),
        {k: v.name for k, v in request.dtypes.items()},
    )
    try:
        built = build(request)
    except ArgusError as error:
        made.failure = f"{error.code}: {error.diagnostics[0].message}"
        return made
    usage = built.cubin.usage
    made.registers = usage.registers
    made.spill_bytes = usage.spill_stores
    made.shared_bytes = built.spec.shared_bytes
    made.threads = built.spec.threads
    Path(file).write_bytes(pickle.dumps((built.spec.to_json(), built.cubin.image)))
    return made


def _build_all(wanted: list[Job], folder: Path, seconds: float) -> dict[int, Made]:
    """Results by number; those that there was no time for are missing."""
    found: dict[int, Made] = {}
    until = time.monotonic() + seconds
    for _ in range(3):
        left = {n: job for n, job in enumerate(wanted) if n not in found}
        if not left or _build_some(left, found, folder, until):
            break
    return found


def _build_some(
    left: dict[int, Job], found: dict[int, Made], folder: Path, until: float
) -> bool:
    """Add to what is found; False if a process died, and the rest with it."""
    workers = os.cpu_count() or 1
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    futures = {
        pool.submit(_build, job, str(folder / f"{n}")): n for n, job in left.items()
    }
    begin = time.monotonic()
    try:
        for done in as_completed(futures, timeout=until - begin):
            found[futures[done]] = done.result()
            if len(found) % 100 == 0:
                spent = time.monotonic() - begin
                print(f"built {len(found)} [{spent:.0f} s]", flush=True)
    except OutOfTime:
        print(f"building stopped, {len(found)} are built", flush=True)
        children = list(getattr(pool, "_processes", {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.kill()
    except BrokenProcessPool:
        print("a building process died", flush=True)
        pool.shutdown(wait=False, cancel_futures=True)
        return False
    else:
        pool.shutdown()
    return True


# ------------------------------------------------------------------------- measuring

Todo = list[tuple[int, int, Job]]
"""Number of the case, number of the build, job; jobs of a case follow each other."""


def _measure(todo: Todo, folder: str, until: float, out: Connection) -> None:
    """The measuring process. Sends (kind, case, build, ...) for all it does."""
    import torch

    from argus.evaluation.arrays import TorchArrays

    cases = list(dict.fromkeys(case for case, _, _ in todo))
    for position, number in enumerate(cases):
        here = [(b, job) for case, b, job in todo if case == number]
        left = until - time.monotonic()
        if left <= 0:
            break
        # A case may take twice its share; what it does not need is left to the others.
        rest = sum(case in cases[position:] for case, _, _ in todo)
        limit = time.monotonic() + max(2 * left * len(here) / rest, 5.0)
        shared: dict[int, Any] = {}
        for at, job in here:
            if time.monotonic() > min(limit, until):
                break
            out.send(("start", number, at))
            entry, case = problem_of(job)
            tile = dict(job.statics)["BM"] if job.entry == "grouped" else 0
            if tile not in shared:
                inputs = make_inputs(entry, case, TorchArrays(0))
                given = {
                    a.name: inputs.library.exact(inputs.arrays[a.name], a.dtype)
                    for a in inputs.arguments
                }
                expected = {
                    k: v.float() for k, v in entry.reference(torch, given, case).items()
                }
                del given
                shared[tile] = (inputs, expected)
                for name, call in entry.baselines(inputs.arrays, case).items():
                    try:
                        call()
                    except RuntimeError as error:  # not offered for this problem
                        print(f"{case.name}: {name}: {error}", file=sys.stderr)
                        continue
                    found = time_interleaved({name: call}, rounds=ROUNDS, warmup=WARMUP)
                    out.send(("baseline", number, name, found[name].median))
            inputs, expected = shared[tile]
            _one(job, number, at, inputs, expected, folder, out)
        shared.clear()
        torch.cuda.empty_cache()
    out.send(("end",))
    out.close()


def _one(
    job: Job,
    number: int,
    at: int,
    inputs: Any,
    expected: dict[str, Any],
    folder: str,
    out: Connection,
) -> None:
    """Launch, compare, time and send. A fault of the device ends this process."""
    import torch

    from argus.ir.launch import LaunchSpec
    from argus.runtime.launch import LoadedKernel

    spec_text, image = pickle.loads((Path(folder) / f"{at}").read_bytes())
    choice = choice_of(job)
    spec = LaunchSpec.from_json(spec_text)
    loaded = LoadedKernel(spec, image)
    values = [inputs.arrays[t.name] for t in spec.tensors]
    values += [choice.scalars[s.name] for s in spec.scalars]
    for name in expected:
        inputs.arrays[name].fill_(float("nan"))
    try:
        prepared = loaded.prepare(*values)
        torch.cuda.synchronize()
        begin = time.monotonic()
        prepared()
    except ArgusError as error:
        message = f"{error.code}: {error.diagnostics[0].message}"
        out.send(("failed", number, at, message))
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        out.send(("fault", number, at, str(error).splitlines()[0]))
        out.close()
        os._exit(3)  # the context is lost
    spent = time.monotonic() - begin
    error = max(
        float((inputs.arrays[k].float() - v).norm() / v.norm())
        for k, v in expected.items()
    )
    if not error < 2e-2:  # NaN is wrong, too
        shown = f"{error:.1e}"
        out.send(("failed", number, at, f"wrong: the error is {shown} of the norm"))
        return
    rounds, warmup = (ROUNDS, WARMUP) if spent < SLOW else (3, 0)
    timing = time_interleaved({"it": prepared}, rounds=rounds, warmup=warmup)["it"]
    out.send(
        (
            "timed",
            number,
            at,
            round(timing.median, 3),
            round(timing.minimum, 3),
            timing.samples,
            float(f"{error:.2e}"),
        )
    )


def _measure_all(
    todo: Todo, folder: Path, until: float, results: Results, path: Path
) -> None:
    """Run measuring processes until everything is done or time is up."""
    context = multiprocessing.get_context("spawn")
    written = time.monotonic()
    while todo and time.monotonic() < until:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(
            target=_measure, args=(todo, str(folder), until, theirs), daemon=True
        )
        child.start()
        theirs.close()
        current: tuple[int, int] | None = None
        tried: set[tuple[int, int]] = set()
        ended = False
        while True:
            try:
                if not ours.poll(SILENCE):
                    _failed(results, current, f"hung: killed after {SILENCE:.0f} s")
                    break
                kind, *rest = ours.recv()
            except EOFError:
                if current is not None:
                    _failed(results, current, "crashed: its process died")
                break
            match kind:
                case "start":
                    current = (rest[0], rest[1])
                    tried.add(current)
                case "baseline":
                    case, what, median = rest
                    if [case, what] not in [b[:2] for b in results.baselines]:
                        results.baselines.append([case, what, round(median, 3)])
                case "timed":
                    case, at, *times = rest
                    results.records.append([at, case, *times, ""])
                    current = None
                case "failed":
                    _failed(results, current, rest[2])
                    current = None
                case "fault":
                    _failed(results, current, f"crashed: {rest[2]}")
                    current = None
                    break
                case _:
                    ended = True
                    break
            if time.monotonic() - written > WRITE_EVERY:
                results.write(path)
                written = time.monotonic()
                print(f"{len(results.records)} records", flush=True)
        child.kill()
        child.join()
        results.write(path)
        if ended:
            break
        if not tried:
            print("the measuring process did not start", file=sys.stderr)
            break
        # Cases whose time was up in the process that died are not taken up again.
        begun = {case for case, _ in tried}
        last = max(begun, key=[c for c, _, _ in todo].index)
        todo = [
            (c, b, job)
            for c, b, job in todo
            if (c, b) not in tried and (c not in begun or c == last)
        ]


def _failed(results: Results, where: tuple[int, int] | None, why: str) -> None:
    if where is not None:
        case, at = where
        results.records.append([at, case, None, None, 0, None, why])


# ------------------------------------------------------------------------------ main


def main() -> int:
    """Measure, or count, or build a sample; 1 if nothing was measured."""
    options = _options()
    if options.report:
        print(report(read(options.report)))
        return 0
    everything = list(jobs())
    if options.only:
        everything = [j for j in everything if j.form in options.only]
    if options.dry_run:
        for form, counts in describe().items():
            print(form, counts)
        return 0
    numbers: dict[tuple[object, ...], int] = {}
    wanted: list[Job] = []
    todo: Todo = []
    cases: dict[tuple[str, str], int] = {}
    for job in everything:
        at = numbers.setdefault(job.build, len(numbers))
        if at == len(wanted):
            wanted.append(job)
        number = cases.setdefault((job.entry, job.case.name), len(cases))
        todo.append((number, at, job))
    if options.build:
        return _sample(wanted, options.build)
    begin = time.monotonic()
    results = Results(asdict(environment(f"python {shlex.join(sys.argv)}")))
    first = {number: job for number, _, job in reversed(todo)}
    results.cases = [
        {
            "entry": first[n].entry,
            "name": first[n].case.name,
            "sizes": dict(first[n].case.sizes),
            "options": dict(first[n].case.options),
        }
        for n in sorted(first)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = _build_all(wanted, folder, BUILDING * options.seconds)
        results.builds = [_build_row(job, made.get(n)) for n, job in enumerate(wanted)]
        spent = time.monotonic() - begin
        good = {n for n, m in made.items() if not m.failure}
        print(f"built {len(good)} of {len(wanted)} in {spent:.0f} s", flush=True)
        for case, at, _ in todo:
            if at in made and at not in good:
                results.records.append([at, case, None, None, 0, None, ""])
        results.write(options.out)
        runnable = [t for t in todo if t[1] in good]
        random.Random(0).shuffle(runnable)
        runnable.sort(key=lambda t: t[0])  # stable: shuffled within each case
        until = begin + options.seconds
        _measure_all(runnable, folder, until, results, options.out)
    timed = sum(r[2] is not None for r in results.records)
    failures = Counter(
        (r[6] or results.builds[r[0]]["failure"])[:40]
        for r in results.records
        if r[2] is None
    )
    missing = len(todo) - len(results.records)
    print(f"{timed} timed, {missing} not measured for lack of time, failures:")
    for why, count in failures.most_common():
        print(f"  {count:5} {why}")
    print(f"{time.monotonic() - begin:.0f} s")
    return 0 if timed else 1


def _build_row(job: Job, made: Made | None) -> dict[str, Any]:
    if made is not None:
        return asdict(made)
    request = request_of(job)
    types = {k: v.name for k, v in request.dtypes.items()}
    return asdict(
        Made(
            job.form,
            dict(job.statics),
            dict(request.facts),
            types,
            failure="not built: out of time",
        )
    )


def _sample(wanted: list[Job], count: int) -> int:
    """Build some, and say what failed."""
    chosen = random.Random(1).sample(wanted, min(count, len(wanted)))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        made = _build_all(chosen, Path(name), 3600.0)
    print(f"{len(made)} in {time.monotonic() - begin:.0f} s")
    for m in made.values():
        what = m.failure or f"{m.registers} registers, {m.shared_bytes} bytes"
        print(m.form, m.statics, what)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", metavar="OUT")
    parser.add_argument("--seconds", type=float, default=420.0, help="for everything")
    parser.add_argument("--only", nargs="+", metavar="FORM", help="only these forms")
    parser.add_argument("--dry-run", action="store_true", help="count only")
    parser.add_argument("--build", type=int, metavar="N", help="build N of them only")
    parser.add_argument("--report", type=Path, metavar="FILE", help="of measurements")
    options = parser.parse_args()
    if not (options.out or options.dry_run or options.build or options.report):
        parser.error("OUT is missing")
    return options


if __name__ == "__main__":
    sys.exit(main())
