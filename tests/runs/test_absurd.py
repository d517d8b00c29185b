"""A record of a run with something absurd in one place is told, and breaks nothing.

ARGUS_ABSURD: how many places are tried (all of them: a large number).
"""

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from absurd import ABSURD, leaves, with_leaf
from argus.agent.session import views
from argus.agent.state import RunState
from argus.diagnostics import ArgusError
from argus.runs.artefacts import candidate_in
from argus.runs.history import history
from argus.runs.records import Event
from argus.runs.store import RunStore
from sample_run import make

TRIED = int(os.environ.get("ARGUS_ABSURD", "100"))


def look(root: Path, name: str) -> list[Event]:
    """What every reader of a run does first."""
    with RunStore(root).read(name) as run:
        events = run.events()
        state = RunState.rebuild(events, run.get)
        history(run.stamped())
        views.rows(state)
        views.ablation(state)
        for trial in state.trials.values():
            if trial.proposed is not None:
                views.ideas(trial.proposed)
            list(views.changed(trial))
        return events


def put(root: Path, number: int, content: str) -> None:
    with sqlite3.connect(root / "runs.sqlite") as database:
        words = "UPDATE events SET content = ? WHERE number = ?"
        database.execute(words, (content, number))
    database.close()


def test_events(tmp_path: Path):
    """Each is read as it is, or refused with its number, its place and the reason."""
    name = make(tmp_path)
    events = [json.loads(e.model_dump_json()) for e in look(tmp_path, name)]
    places = [
        (number, place, text)
        for number, event in enumerate(events)
        for place in leaves(event)
        for text in ABSURD
    ]
    random.Random(1).shuffle(places)
    refused = 0
    for number, place, text in places[:TRIED]:
        put(tmp_path, number, with_leaf(events[number], place, text))
        try:
            look(tmp_path, name)
        except ArgusError as error:
            refused += 1
            assert error.code == "AG1003", (number, place, text[:50])
            told = str(error)
            assert any(w in told for w in (name, "artefact", "record of the run"))
            assert len(told) < 3000
        put(tmp_path, number, json.dumps(events[number]))
    assert len(look(tmp_path, name)) == len(events)
    assert refused > TRIED / 2


@pytest.mark.parametrize("text", ABSURD)
def test_candidates(text: str):
    for place in ((), ("source",), ("statics",), ("statics", "BM")):
        whole = with_leaf({"source": "x", "kernel": "k", "statics": {}}, place, text)
        try:
            candidate_in(whole.encode("utf-8", "surrogatepass"))
        except ArgusError as error:
            assert error.code == "AG1003"


def test_a_database_with_damaged_pages(tmp_path: Path):
    name = make(tmp_path)
    path = tmp_path / "runs.sqlite"
    whole = path.read_bytes()
    for start in range(0, len(whole), 4096):
        path.write_bytes(whole[:start] + b"\xff" * 4096 + whole[start + 4096 :])
        for other in tmp_path.glob("runs.sqlite-*"):
            other.unlink()
        try:
            look(tmp_path, name)
        except ArgusError as error:
            assert error.code in ("AG1001", "AG1003")


def test_artefacts_are_named_by_what_they_hold(tmp_path: Path):
    name = make(tmp_path)
    with RunStore(tmp_path).read(name) as run:
        for wrong in ("", "..", "../../etc/passwd", "/etc/passwd", "a" * 63, "A" * 64):
            with pytest.raises(ArgusError, match="AG1003"):
                run.get(wrong)


def test_runs_that_others_could_have_written(tmp_path: Path):
    """What a run holds is executed: the reference of its task."""
    name = make(tmp_path / "runs")
    for what in (".", "runs.sqlite", "locks"):
        path = tmp_path / "runs" / what
        before = path.stat().st_mode & 0o777
        assert before == (0o700 if path.is_dir() else 0o600)
        path.chmod(before | 0o020)
        with pytest.raises(ArgusError, match="AG0914"):
            RunStore(tmp_path / "runs").open(name)
        path.chmod(before)
    RunStore(tmp_path / "runs").open(name).close()
