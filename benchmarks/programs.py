"""A folder of PyTorch files as programs of kernels: planned, proved, right, timed.

    python benchmarks/programs.py FOLDER           plan, prove, build, run when small
    python benchmarks/programs.py FOLDER --gpu --jobs 15 --out ROWS.jsonl
    python benchmarks/programs.py --show ROWS.jsonl MORE.jsonl --page PAGE.md

A file has `Model`, `get_inputs` and perhaps `get_init_inputs`, as KernelBench's have.
Each is executed in a process of its own, with a limit. Several files are planned,
proved and built at a time; one at a time has the GPU.

    plan     kernels, and what stays in torch, at the file's own sizes (no elements)
    proved   kernels by verdict, at the file's own sizes
    built    machine code of all kernels
    small    the plan in the interpreter beside eager torch; sizes are those of the
             file's `SMALL`, by their names, or else whole numbers that it assigns,
             halved until they are at most 16
    gpu      five seeds beside eager torch, and times beside baselines: `program_gpu.py`

Rows are written as they come, a line of JSON each. Baselines are `eager`, `graph` (the
same recorded as a CUDA graph), `compile` and `autotune` (torch.compile, its mode
"max-autotune"). All have the flags of precision that torch has when it starts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from program_table import page, shown, summary

PRELOADED = [
    *("torch", "argus.programs.planning.plan", "argus.programs.planning.proofs"),
    "program_rows",
]


@dataclass
class Job:
    """A process that works on a file; `since` when it began its part."""

    path: Path
    process: Any
    pipe: Connection
    printed: Path
    part: str = "prepare"
    since: float = 0.0

    def name(self) -> str:
        """As rows name the file."""
        return f"{self.path.parent.name}/{self.path.name}"


def work(path: Path, options: argparse.Namespace, pipe: Any, printed: Path) -> None:
    """What a process does."""
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    import torch
    from program_rows import FileRow

    torch.set_num_threads(1)
    if options.jobs > 1:
        os.environ["ARGUS_WORKERS"] = "1"  # files are side by side already
    row = FileRow(path, options, lambda part: pipe.send(("part", part))).made()
    pipe.send(("row", row))


def files_of(options: argparse.Namespace) -> list[Path]:
    """The files that are chosen, in the order of folders and numbers."""
    found = [
        path
        for folder in options.folders
        for path in ([folder] if folder.is_file() else folder.glob("*.py"))
    ]

    folders = [f.parent if f.is_file() else f for f in options.folders]

    def position(path: Path) -> tuple[int, int, str]:
        number = re.match(r"\d+", path.name)
        order = folders.index(path.parent)
        return order, int(number[0]) if number else 0, path.name

    names = {p: f"{p.parent.name}/{p.name}" for p in found}
    kept = [p for p in found if any(re.search(m, names[p]) for m in options.match)]
    done: set[str] = set()
    if options.resume and options.out is not None and options.out.exists():
        lines = options.out.read_text(encoding="utf-8").splitlines()
        done = {json.loads(line)["file"] for line in lines}
    first, count = (int(n) for n in options.shard.split("/"))
    ordered = sorted((p for p in kept if names[p] not in done), key=position)
    return ordered[first::count]


class Harness:
    """Processes for files, `--jobs` at a time; calls `finished` with each row."""

    def __init__(self, options: argparse.Namespace, finished: Any) -> None:
        self.options, self.finished = options, finished
        self.jobs: list[Job] = []
        self.context: Any = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)

    def run(self, paths: list[Path]) -> None:
        """Work on all files."""
        rest = list(paths)
        with tempfile.TemporaryDirectory() as folder:
            self.options.lock = str(self.options.lock or Path(folder) / "gpu.lock")
            while rest or self.jobs:
                while rest and len(self.jobs) < self.options.jobs:
                    path = rest.pop(0)
                    printed = Path(folder) / f"{path.parent.name}_{path.stem}.txt"
                    self.start(path, printed)
                wait([j.pipe for j in self.jobs], timeout=0.5)
                for job in list(self.jobs):
                    self.look(job)

    def start(self, path: Path, printed: Path) -> None:
        """A process for a file."""
        ours, theirs = self.context.Pipe(duplex=False)
        arguments = (path, self.options, theirs, printed)
        process = self.context.Process(target=work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        self.jobs.append(Job(path, process, ours, printed, since=time.monotonic()))

    def look(self, job: Job) -> None:
        """What a process says, whether it ended, and whether it takes too long."""
        row: dict[str, Any] | None = None
        ended = False
        try:
            while row is None and job.pipe.poll():
                kind, said = job.pipe.recv()
                if kind == "row":
                    row = said
                else:
                    job.part, job.since = said, time.monotonic()
        except EOFError:
            ended = True
        limits = {"prepare": self.options.limit, "gpu": self.options.gpu_limit}
        limit = limits.get(job.part)
        if row is None and ended:
            job.process.join()
            last = job.printed.read_text(errors="replace").strip().splitlines()[-1:]
            code = job.process.exitcode
            row = {"failed": [f"{job.part}: ended with {code} {' '.join(last)}"[:300]]}
        elif row is None and limit and time.monotonic() - job.since > limit:
            row = {"failed": [f"{job.part}: longer than {limit:.0f} s"]}
        if row is not None:
            job.process.kill()
            job.process.join()
            job.pipe.close()
            self.jobs.remove(job)
            self.finished({"file": job.name(), **row})


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--show", type=Path, nargs="+", help="tables of rows")
    parser.add_argument("--page", type=Path, help="the rows as a page of Markdown")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--no-proof", action="store_true", help="as a call proves them")
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--no-small", action="store_true")
    parser.add_argument("--no-f64", action="store_true")
    parser.add_argument("--profile", action="store_true", help="times by kernel")
    parser.add_argument("--baselines", default="eager,graph,compile,autotune")
    parser.add_argument("--match", nargs="+", default=[""], help="patterns of names")
    parser.add_argument("--shard", default="0/1", help="i/n: the i-th of n parts")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--lock", type=Path, help="shared with others on this GPU")
    parser.add_argument("--limit", type=float, default=300.0, help="s without the GPU")
    parser.add_argument("--gpu-limit", type=float, default=120.0, help="s with it")
    parser.add_argument("--out", type=Path, default=None, help="lines of JSON")
    parser.add_argument("--resume", action="store_true", help="leave out rows in OUT")
    options = parser.parse_args()
    options.baselines = [b for b in options.baselines.split(",") if b]
    rows: list[dict[str, Any]] = []
    for path in options.show or ():
        lines = path.read_text(encoding="utf-8").splitlines()
        rows += [json.loads(line) for line in lines]

    def finished(row: dict[str, Any]) -> None:
        rows.append(row)
        print(shown(row), flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    sys.path.insert(0, str(Path(__file__).parent))
    if options.show:
        rows = list({row["file"]: row for row in rows}.values())
        for row in rows:
            print(shown(row))
    else:
        Harness(options, finished).run(files_of(options))
    print(summary(rows))
    if options.page is not None:
        options.page.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
