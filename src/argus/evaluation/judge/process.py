"""One process for one task: started cheaply, watched, killed at its time limit.

    outcome = attempt("check", job, limits)

Processes are forked from multiprocessing's fork server, which has the compiler loaded
already (`preload`) and never touches CUDA. Whatever happens in there, this returns.

What they run is the judge's own: the main script of the program that uses this is not
run again in each of them, so that it may be any script, or what a pipe brings.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import spawn
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any, Literal
from unittest.mock import patch

from argus.evaluation.judge.limits import Job, Limits
from argus.evaluation.judge.printed import Printed
from argus.evaluation.judge.worker import Task, main
from argus.runs.records import JudgeVerdict, Stage

START = 120.0
"""Seconds for a process to start: the first one waits for the fork server's imports."""
_PRELOAD = "argus.evaluation.judge.preload"

Ending = Literal["done", "late", "died", "unstarted", "stopped"]
"""done: it told its result. late: killed at a limit. died: it ended without a result.
unstarted: there is no process to blame. stopped: killed because nobody waits for it."""


@dataclass(frozen=True)
class Outcome:
    """How a process ended; ``stage`` is the last it entered, ``within`` its limit.

    ``log`` is the end of what it printed, ``code`` its exit code (negative: a signal).
    """

    ending: Ending
    stage: Stage
    within: str
    seconds: float
    verdict: JudgeVerdict | None = None
    told: Mapping[str, Any] | None = None
    code: int | None = None
    log: str = ""


_NAME = "argus-judge"


class _JudgeProcess(ForkServerProcess):
    """A process that runs no main script before its target.

    Multiprocessing runs the main script of the program that started it again (2 s,
    where that loads torch), which targets of a script need. It is a part of the data
    that it prepares, which it lets nobody choose.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - the name is multiprocessing's
        prepared = spawn.get_preparation_data

        def without_script(name: str) -> dict[str, Any]:
            found = prepared(name)
            if name == _NAME:  # others may be started by other threads
                found = {k: x for k, x in found.items() if "init_main" not in k}
            return found

        with patch.object(spawn, "get_preparation_data", without_script):
            return ForkServerProcess._Popen(process_obj)


_lock = threading.Lock()
_starting = threading.Lock()
_prepared: list[ForkServerContext] = []


def context(torch: bool = False) -> ForkServerContext:
    """The fork server's context. ``torch``: whether it should have torch loaded.

    Only the first call decides: a running server is not started again.
    """
    with _lock:
        if not _prepared:
            made = multiprocessing.get_context("forkserver")
            made.set_forkserver_preload([_PRELOAD, *(["torch"] if torch else [])])
            _prepared.append(made)
        return _prepared[0]


def attempt(
    task: Task,
    job: Job | None,
    limits: Limits,
    *,
    gpu: str | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run a task in a process of its own, and wait for its end. Never raises for it.

    ``stop``, once set, kills the process.
    """
    begin = time.monotonic()
    on_gpu = task in ("measure", "health", "probe")
    try:
        log = Printed.new()
    except OSError as error:
        spent = time.monotonic() - begin
        return Outcome("unstarted", "parse", "start", spent, log=str(error))
    try:
        try:
            process, inbox = _start(task, job, limits, gpu, log, on_gpu)
        except (OSError, EOFError) as error:  # the fork server was killed, say
            spent = time.monotonic() - begin
            return Outcome("unstarted", "parse", "start", spent, log=str(error))
        try:
            return _watched(process, inbox, limits, begin, log, stop)
        finally:
            _kill(process)
            inbox.close()
    finally:
        log.close()


def _start(
    task: Task,
    job: Job | None,
    limits: Limits,
    gpu: str | None,
    log: Printed,
    on_gpu: bool,
) -> tuple[ForkServerProcess, Connection]:
    made = context()
    inbox, out = made.Pipe(duplex=False)
    text = "" if job is None else job.model_dump_json()
    memory = None if on_gpu else limits.memory
    process = _JudgeProcess(
        target=main, args=(out, task, text, gpu, log, memory), name=_NAME, daemon=True
    )
    try:
        with _starting:
            process.start()
    except BaseException:
        inbox.close()
        raise
    finally:
        out.close()
    return process, inbox


def _watched(
    process: ForkServerProcess,
    inbox: Connection,
    limits: Limits,
    begin: float,
    log: Printed,
    stop: threading.Event | None,
) -> Outcome:
    stage: Stage = "parse"
    within = "start"
    deadline = begin + START
    while True:
        ending = _awaited(inbox, deadline, stop)
        if ending is not None:
            _kill(process)
            spent = time.monotonic() - begin
            return Outcome(ending, stage, within, spent, log=log.tail())
        try:
            message = json.loads(inbox.recv_bytes())
        except (EOFError, OSError):
            process.join(10)
            spent = time.monotonic() - begin
            return Outcome(
                "died", stage, within, spent, code=process.exitcode, log=log.tail()
            )
        if "stage" in message:
            stage, within = message["stage"], message["within"]
            deadline = time.monotonic() + limit_of(limits, within)
            continue
        spent = time.monotonic() - begin
        found = message.get("verdict")
        verdict = None if found is None else JudgeVerdict.model_validate(found)
        return Outcome(
            "done", stage, within, spent, verdict, message.get("told"), log=log.tail()
        )


def _awaited(
    inbox: Connection, deadline: float, stop: threading.Event | None
) -> Ending | None:
    """Wait for a message: None when there is one, else why there is none."""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return "late"
        if stop is not None and stop.is_set():
            return "stopped"
        if inbox.poll(min(left, 0.25)):
            return None


def limit_of(limits: Limits, within: str) -> float:
    """Seconds of a limit by its name."""
    found: float = getattr(limits, within)
    return found


def _kill(process: ForkServerProcess) -> None:
    """End the process and what it started."""
    pid = process.pid
    if pid is None:
        return
    try:
        if os.getpgid(pid) == pid:  # it has a group of its own by now
            os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.kill()
    process.join(30)
