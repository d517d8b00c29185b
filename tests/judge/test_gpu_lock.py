"""The lock on a GPU between processes: files and locks only, no GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from argus.diagnostics import ArgusWarning
from argus.evaluation.judge.gpu_lock import GpuLock
from argus.evaluation.judge.limits import Limits
from argus.evaluation.judge.local import _without_verdict
from argus.evaluation.judge.process import Outcome

SPAWN = multiprocessing.get_context("fork")
BRIEF = 0.15


def _holder(folder: Path, kind: str, told: Connection) -> None:
    """Take the lock, say so, and hold it until there is a message."""
    with GpuLock("GPU-0", folder) as lock:
        lock.exclusive() if kind == "exclusive" else lock.shared()
        told.send(kind)
        told.recv()


class Holder:
    """A process that wants the lock."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.mine, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_holder, args=(folder, kind, theirs))
        self.process.start()

    def has_it(self, seconds: float = 10.0) -> bool:
        if not self.mine.poll(seconds):
            return False
        self.mine.recv()
        return True

    def end(self) -> None:
        self.mine.send("end")
        self.process.join(10)


@pytest.fixture
def holders(tmp_path: Path) -> Any:
    made: list[Holder] = []

    def holder(kind: str) -> Holder:
        made.append(Holder(tmp_path, kind))
        return made[-1]

    yield holder
    for one in made:
        one.process.kill()
        one.process.join()


def test_sharers_share(holders: Any) -> None:
    assert holders("shared").has_it()
    assert holders("shared").has_it()


def test_nobody_shares_an_exclusive_lock(holders: Any) -> None:
    first = holders("exclusive")
    assert first.has_it()
    sharer, other = holders("shared"), holders("exclusive")
    assert not sharer.has_it(BRIEF)
    assert not other.has_it(BRIEF)
    first.end()
    wait([sharer.mine, other.mine], 10.0)
    got = [h for h in (sharer, other) if h.has_it(BRIEF)]
    assert len(got) == 1, "one of them, and the other after it"
    got[0].end()
    left = other if got[0] is sharer else sharer
    assert left.has_it()


def test_a_waiting_exclusive_lock_is_next(holders: Any) -> None:
    """Sharers who come later do not overtake for ever."""
    first = holders("shared")
    assert first.has_it()
    writer = holders("exclusive")
    assert not writer.has_it(BRIEF)
    late = holders("shared")
    assert not late.has_it(BRIEF)
    first.end()
    assert writer.has_it()
    assert not late.has_it(BRIEF)
    writer.end()
    assert late.has_it()


def test_a_killed_process_gives_the_lock_back(holders: Any) -> None:
    first = holders("exclusive")
    assert first.has_it()
    second = holders("exclusive")
    assert not second.has_it(BRIEF)
    os.kill(first.process.pid, signal.SIGKILL)
    assert second.has_it()


def _candidate(folder: Path, log: Path, number: int) -> None:
    """What a candidate does, many times: shared, exclusive, shared; noted in a file."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    with GpuLock("GPU-0", folder) as lock:
        for _ in range(20):
            lock.shared()
            lock.exclusive()
            os.write(file, f"{number} in\n".encode())
            time.sleep(0.001)
            os.write(file, f"{number} out\n".encode())
            lock.shared()
    os.close(file)


def test_many_candidates_get_through(tmp_path: Path) -> None:
    """Nobody keeps a lock while it queues for another: that would be a deadlock."""
    log = tmp_path / "log"
    log.touch()
    processes = [
        SPAWN.Process(target=_candidate, args=(tmp_path, log, n)) for n in range(6)
    ]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(60)
            assert process.exitcode == 0, "it waits for ever"
    finally:
        for process in processes:
            process.kill()
    lines = log.read_text().splitlines()
    assert len(lines) == 6 * 20 * 2
    for into, out in zip(lines[::2], lines[1::2], strict=True):
        assert into.split() == [out.split()[0], "in"], "two held it exclusively"


def test_gpus_have_locks_of_their_own(tmp_path: Path) -> None:
    with GpuLock("GPU-0", tmp_path) as one, GpuLock("GPU-1", tmp_path) as two:
        one.exclusive()
        two.exclusive()
        one.shared()


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_is_no_lock_is_told_and_not_used(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "victim"
    way = tmp_path / "argus-gpu-GPU-0.turn"
    match kind:
        case "link":
            target.write_text("mine")
            way.symlink_to(target)
        case "dangling":
            way.symlink_to(target)
        case "pipe":
            os.mkfifo(way)
        case _:
            way.mkdir()
    with pytest.warns(ArgusWarning, match="AG0914"), GpuLock("GPU-0", tmp_path) as lock:
        lock.exclusive()
        lock.shared()
    own = tmp_path / f"argus-{os.geteuid()}"
    assert (own / way.name).stat().st_mode & 0o777 == 0o600
    assert not target.exists() or target.read_text() == "mine"


def test_other_users_can_lock_and_not_write(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with GpuLock("GPU-0", tmp_path) as lock:
            lock.shared()
    finally:
        os.umask(before)
    made = sorted(tmp_path.iterdir())
    assert [p.name for p in made] == ["argus-gpu-GPU-0.gate", "argus-gpu-GPU-0.turn"]
    assert all(p.stat().st_mode & 0o777 == 0o444 for p in made)


def test_waiting_too_long_does_not_count_as_hanging() -> None:
    """The candidate never ran: it is no evidence against it."""
    outcome = Outcome("late", "time", "wait", 900.0)
    made = _without_verdict(outcome, Limits())
    assert made.status == "failed"
    assert "others used the GPU for 900 s" in made.summary


def test_waiting_is_nobodys_time() -> None:
    from argus.evaluation.judge.checking import Clock

    entered: list[tuple[str, str]] = []
    clock = Clock(lambda stage, within="": entered.append((stage, within)))
    with clock.waiting("time"):
        time.sleep(0.05)
    clock.begin("time", "run")
    clock.end()
    assert entered == [("time", "wait"), ("time", "run")]
    assert clock.seconds["time"] < 0.02
