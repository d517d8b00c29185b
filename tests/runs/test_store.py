"""Runs survive whatever happens to the process that writes them."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.runs.records import (
    Budget,
    Candidate,
    Finished,
    Judged,
    JudgeVerdict,
    LibraryProblem,
    Lowered,
    Started,
    Task,
)
from argus.runs.store import RunStore

TASK = Task(
    name="gemm 64x64x64",
    problem=LibraryProblem(entry="gemm", sizes={"M": 64, "N": 64, "K": 64}),
    start=Candidate(source="", kernel="gemm"),
    family="gemm",
)
STARTED = Started(
    task=TASK, agent="builtin", seed=0, budget=Budget(trials=3), policy={},
    environment={},
)  # fmt: skip


def judged(trial: int) -> Judged:
    return Judged(trial=trial, verdict=JudgeVerdict(status="correct", stage="done"))


def test_events_come_back_in_order(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    with store.create(STARTED) as run:
        for trial in range(5):
            run.append(judged(trial))
        name = run.id
    events = store.read(name).events()
    assert events == [STARTED, *map(judged, range(5))]
    times = [s.time for s in store.read(name).stamped()]
    assert times == sorted(times)
    assert store.read(name).started().task == TASK


def test_artefacts_are_named_by_their_content(tmp_path: Path) -> None:
    with RunStore(tmp_path).create(STARTED) as run:
        name = run.put("a kernel")
        assert run.put(b"a kernel") == name != run.put("another")
        assert run.get(name) == b"a kernel"
        (tmp_path / "artefacts" / name[:2] / name[2:]).write_bytes(b"a cernel")
        with pytest.raises(ArgusError) as caught:
            run.get(name)
        assert caught.value.codes == ("AG1003",)
        with pytest.raises(ArgusError, match="cannot be read"):
            run.get("0" * 64)


def test_one_process_writes_to_a_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run = store.create(STARTED)
    with pytest.raises(ArgusError) as caught:
        store.open(run.id)
    assert caught.value.codes == ("AG1002",)
    reader = store.read(run.id)
    assert store.state(reader) == "running"
    with pytest.raises(ArgusError):
        reader.append(judged(0))
    run.close()
    assert store.state(reader) == "interrupted"
    with store.open(run.id) as again:
        again.append(Finished(reason="budget: trials", best=None))
    assert store.state(reader) == "finished"


def test_names(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    with pytest.raises(ArgusError, match="no run yet"):
        store.find("latest")
    first, second = store.create(STARTED), store.create(STARTED)
    assert store.names() == [first.id, second.id]
    assert store.find("latest") == second.id
    assert store.find(first.id[-4:]) == first.id
    with pytest.raises(ArgusError, match="may be any of 2 runs") as caught:
        store.find("gemm")
    assert caught.value.codes == ("AG1001",)
    with pytest.raises(ArgusError, match="there is no run `softmax`"):
        store.read("softmax")


def test_another_version_is_refused(tmp_path: Path) -> None:
    import sqlite3

    RunStore(tmp_path).create(STARTED).close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ArgusError, match="another version"):
        RunStore(tmp_path).names()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgusError) as caught:
        RunStore(tmp_path / "file" / "runs").create(STARTED)
    assert caught.value.codes == ("AG0902",)


WRITER = """
import sys
from pathlib import Path
from argus.runs.store import RunStore
from argus.runs.records import Judged, JudgeVerdict, Lowered
run = RunStore(Path(sys.argv[1])).open("latest")
trial = sum(e.event == "judged" for e in run.events())
while True:
    source = run.put(f"kernel {trial} " * 1000)
    run.append(Lowered(trial=trial, candidate=source))
    verdict = JudgeVerdict(status="correct", stage="done")
    run.append(Judged(trial=trial, verdict=verdict))
    print(trial, flush=True)
    trial += 1
"""


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """What was reported as written is there, and every event cites whole artefacts."""
    store = RunStore(tmp_path)
    store.create(STARTED).close()
    rng = random.Random(7)
    reported = 0
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        for _ in range(rng.randrange(1, 12)):
            reported = int(writer.stdout.readline())
        time.sleep(rng.random() * 0.01)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        run = store.read("latest")
        events = run.events()
        trials = [e.trial for e in events if isinstance(e, Judged)]
        assert trials == list(range(len(trials)))
        assert trials[-1] >= reported
        for event in events:
            if isinstance(event, Lowered):
                assert event.candidate is not None
                assert run.get(event.candidate).startswith(b"kernel ")
        assert store.state(run) == "interrupted"
        run.close()
