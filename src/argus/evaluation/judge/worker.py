"""What runs in a candidate's own process: one task, told over a pipe, then the end.

Messages to the process outside are JSON texts: ``{"stage": ..., "within": ...}`` before
each stage (``within`` names the limit that applies), and at last ``{"verdict": {...}}``
or ``{"told": {...}}``. Nothing is unpickled there.

Before anything else the process gives up its terminal, starts a process group (so that
whatever a user's reference starts is killed with it), limits its memory where CUDA is
not wanted, and watches that the judge still lives.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Literal

from argus.diagnostics import ArgusError
from argus.evaluation.judge.checking import Clock, Enter, check
from argus.evaluation.judge.findings import findings_of, said, verdict
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.plans import Plan
from argus.evaluation.judge.printed import Printed
from argus.runs.records import JudgeVerdict, Stage

Task = Literal["check", "simulate", "plan", "measure", "inspect", "health", "probe"]
"""check: no GPU. simulate: check, then the interpreter and tiles. plan: check, then
tiles, and what they say to launch. measure: on the GPU what was checked. inspect: a
view of it. health: a known kernel on the GPU. probe: which GPUs there are."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def main(
    out: Connection,
    task: Task,
    job: str,
    gpu: str | None,
    log: Printed,
    memory: int | None,
) -> None:
    """The process. ``job`` is JSON of a `Job` ("" for health and probe).

    ``gpu`` is what CUDA_VISIBLE_DEVICES is set to; ``log`` is for what is printed;
    ``memory`` how many bytes of address space may be added. With neither ``gpu`` nor
    ``memory`` every GPU is seen, with ``memory`` alone none.
    """
    _settle(gpu, log, memory)

    def enter(stage: Stage, within: str = "") -> None:
        _send(out, {"stage": stage, "within": within or stage})

    if task == "health":
        from argus.evaluation.judge.health import healthy

        enter("run", "run")
        _send(out, {"told": {"healthy": healthy()}})
    elif task == "probe":
        from argus.evaluation.judge.health import devices

        _send(out, {"told": {"devices": list[object](devices())}})
    elif task == "inspect":
        from argus.evaluation.judge.inspecting import inspected

        _send(out, {"told": inspected(Job.model_validate_json(job), enter)})
    else:
        made, plan = judged(task, Job.model_validate_json(job), enter)
        message: dict[str, object] = {"verdict": made.model_dump(mode="json")}
        if plan is not None:
            message["told"] = {"plan": plan.model_dump(mode="json")}
        _send(out, message)
    out.close()
    sys.stdout.flush()
    sys.stderr.flush()
    # Destroying a CUDA context that has a fault may block, and there is nothing to
    # clean up.
    os._exit(0)


def judged(task: Task, job: Job, enter: Enter) -> tuple[JudgeVerdict, Plan | None]:
    """The verdict of a task, and the plan that was wanted of it.

    What goes wrong with the problem itself is "failed".
    """
    clock = Clock(enter)
    try:
        if task == "measure":
            from argus.evaluation.judge.measuring import measure

            return measure(job, clock), None
        checked = check(job, clock)
        if task == "simulate" and checked.verdict.status == "correct":
            from argus.evaluation.judge.simulating import simulated

            return simulated(job, checked, clock), None
        if task == "plan" and checked.verdict.status == "correct":
            from argus.evaluation.judge.planning import planned

            return planned(job, checked, clock)
        return checked.verdict, None
    except ArgusError as error:
        made = verdict("failed", clock.stage, findings_of(error))
    except MemoryError:
        text = f"more than {job.limits.memory >> 20} MiB of memory are needed"
        made = verdict("crashed", clock.stage, (said("AG1013", text),))
    clock.end()
    return made.model_copy(update={"seconds": dict(clock.seconds)}), None


def _send(out: Connection, message: dict[str, object]) -> None:
    try:
        out.send_bytes(json.dumps(message).encode())
    except OSError:  # the judge is gone
        os._exit(1)


def _settle(gpu: str | None, log: Printed, memory: int | None) -> None:
    with contextlib.suppress(OSError):
        os.setsid()
    os.dup2(log.file, 1)
    os.dup2(log.file, 2)
    if log.file > 2:
        log.close()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if gpu is None and memory is None:  # every GPU there is
        os.environ.pop(_VISIBLE, None)
    else:
        os.environ[_VISIBLE] = gpu or ""
    if memory is not None:
        # On top of what is mapped already: torch's libraries alone are gigabytes.
        limit = _mapped() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    threading.Thread(target=_watch, daemon=True).start()


def _mapped() -> int:
    """Bytes of the address space in use."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _watch() -> None:
    """End with the judge: a kernel that hangs must not outlive it."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
