"""Every device function of the registry on the hardware, compared with its meaning.

    pytest tests/gpu/test_isa.py           one test per group of forms
    python tests/gpu/test_isa.py [group]   the same without pytest

Each group runs in a process of its own that says which form it begins and how it ended.
When it stays silent too long, or a fault kills its context, that form is reported and
the rest is run by a new process. With ARGUS_ISA_RESULTS set to a path, the outcome of
every form is written there as JSON.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import isa_functions
import isa_matrix
import isa_numbers
import isa_scalar
import isa_sync
import isa_tma
import isa_words
import pytest
from isa_device import Device, DeviceError, Form, build_all

from argus.isa.matrix import ELEMENTS
from argus.isa.registry import all_instructions

SILENCE_S = 120.0
"""Longest time without a word from a worker: compiling, or one form."""
COMPILERS = max(2, min(16, os.cpu_count() or 2))
GROUPS = (
    "scalar",
    "sync",
    "matrix",
    "tma",
    *(
        f"wgmma {e.dtype} {source}"
        for e in ELEMENTS
        if e.asynchronous
        for source in ("ss", "rs")
    ),
)
Outcome = dict[str, Any]


def group_forms(group: str) -> list[Form]:
    match group.split():
        case ["scalar"]:
            families = (isa_scalar, isa_functions, isa_numbers, isa_words)
            return [form for family in families for form in family.forms()]
        case ["sync"]:
            return list(isa_sync.forms())
        case ["matrix"]:
            return list(isa_matrix.forms())
        case ["tma"]:
            return list(isa_tma.forms())
        case ["wgmma", dtype, source]:
            return isa_matrix.wgmma_forms(dtype, source == "rs")
        case _:
            raise ValueError(f"no group {group!r}; there are {', '.join(GROUPS)}")


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def work(group: str, done: set[str], cache: Path) -> None:
    """In the worker: build and check the forms that are not done."""
    forms = [form for form in group_forms(group) if form.name not in done]
    device = Device()
    say(device=device.name(), driver=device.driver_version())
    for part, cubin in build_all(forms, 8, COMPILERS, cache):
        for form in part:
            say(begin=form.name)
            errors: list[str] = []
            dead = False
            if isinstance(cubin, DeviceError):
                errors = [f"does not compile: {str(cubin)[:2000]}"]
            else:
                try:
                    errors = form.check(device, device.load(cubin, form.kernel))
                    device.free()
                except DeviceError as error:
                    # The context is of no more use.
                    errors, dead = [str(error)], True
            say(end=form.name, errors=errors[:5], notes=device.notes)
            device.notes.clear()
            if dead:
                return
    say(finished=True)


def supervise(group: str, cache: Path) -> list[Outcome]:
    """Run a group in workers until all forms are done; the outcome of each."""
    outcomes: list[Outcome] = []
    names = [form.name for form in group_forms(group)]
    while len(outcomes) < len(names):
        done = [outcome["form"] for outcome in outcomes]
        found, why = run_worker(group, done, cache)
        outcomes += found
        if not found:
            outcomes += [failed(group, n, why) for n in names if n not in done]
    return outcomes


def failed(group: str, name: str, *errors: str) -> Outcome:
    return {"group": group, "form": name, "ok": False, "errors": list(errors)}


def run_worker(group: str, done: list[str], cache: Path) -> tuple[list[Outcome], str]:
    """One worker process: what became of the forms it began, and why it ended."""
    command = [sys.executable, __file__, "--worker", group, str(cache)]
    worker = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin and worker.stdout and worker.stderr
    worker.stdin.write(json.dumps(done))
    worker.stdin.close()
    lines: queue.Queue[str | None] = queue.Queue()
    stderr: list[str] = []

    def read_out(stream: Any) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threads = [
        threading.Thread(target=read_out, args=(worker.stdout,), daemon=True),
        threading.Thread(target=stderr.extend, args=(worker.stderr,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    outcomes: list[Outcome] = []
    current: str | None = None
    why = "the process ended"
    while True:
        try:
            line = lines.get(timeout=SILENCE_S)
        except queue.Empty:
            why = f"hangs: nothing happened for {SILENCE_S:.0f} s"
            break
        if line is None:
            break
        message = json.loads(line)
        if "begin" in message:
            current = message["begin"]
        elif "end" in message:
            current = None
            outcome = failed(group, message["end"], *message["errors"])
            outcome["ok"] = not message["errors"]
            if message["notes"]:
                outcome["notes"] = message["notes"]
            outcomes.append(outcome)
        elif "device" in message:
            DEVICE.update(message)
    worker.kill()
    worker.wait()
    for thread in threads:
        thread.join(5)
    worker.stdout.close()
    worker.stderr.close()
    why += "".join(f"\n{line.rstrip()}" for line in stderr[-5:])
    if current is not None:
        outcomes.append(failed(group, current, why))
    return outcomes, why


DEVICE: Outcome = {}


def record(group: str, outcomes: list[Outcome], seconds: float) -> None:
    """Put the outcomes of a group into the results file, if one is wanted."""
    path = os.environ.get("ARGUS_ISA_RESULTS")
    if path is None:
        return
    file = Path(path)
    results: Outcome = json.loads(file.read_text()) if file.exists() else {}
    results.update(DEVICE)
    results.setdefault("seconds", {})[group] = round(seconds, 1)
    others = [f for f in results.get("forms", []) if f["group"] != group]
    results["forms"] = others + outcomes
    results["failed"] = sum(not form["ok"] for form in results["forms"])
    file.write_text(json.dumps(results, indent=1) + "\n")


def run_group(group: str, cache: Path) -> list[str]:
    """Errors of a group, one line each; writes the results."""
    begin = time.monotonic()
    outcomes = supervise(group, cache)
    record(group, outcomes, time.monotonic() - begin)
    return [
        f"{outcome['form']}: {error}"
        for outcome in outcomes
        for error in outcome["errors"]
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("group", GROUPS)
def test_hardware(group: str, tmp_path: Path) -> None:
    errors = run_group(group, tmp_path)
    assert not errors, "\n".join(errors[:40])


def test_every_function_is_tested() -> None:
    tested = {
        name
        for group in GROUPS
        for form in group_forms(group)
        for name in form.functions
        if name in form.text
    }
    assert tested == {record.function for record in all_instructions()}


def test_form_names_are_unique() -> None:
    for group in GROUPS:
        names = [form.name for form in group_forms(group)]
        assert len(names) == len(set(names))


@pytest.mark.compiler
@pytest.mark.parametrize("group", ["scalar", "sync", "matrix", "tma"])
def test_kernels_compile(group: str, tmp_path: Path) -> None:
    """The kernels of the tests themselves, where there is no GPU to run them."""
    for _, cubin in build_all(group_forms(group), 8, 2, tmp_path):
        assert not isinstance(cubin, DeviceError), str(cubin)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--worker"]:
        work(arguments[1], set(json.load(sys.stdin)), Path(arguments[2]))
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for group in arguments or GROUPS:
            begin = time.monotonic()
            errors = run_group(group, Path(folder))
            bad += len(errors)
            spent = time.monotonic() - begin
            print(f"{group}: {len(group_forms(group))} forms, {spent:.0f} s")
            for error in errors:
                print(f"  {error}")
    print("all right" if not bad else f"{bad} errors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
