"""Runs of the optimiser: events in SQLite, artefacts beside them.

    with RunStore(folder).create(started) as run:
        run.append(Judged(...))             # durable when it returns
    RunStore(folder).open("gemm-4f2a")      # any unambiguous part of its name

Events are only ever appended, one transaction each, in write-ahead mode and synced: a
process that is killed at any moment loses at most the event that it was writing. One
process at a time writes to a run: an advisory lock, which the system releases when the
process ends, however it ends. What events mean is not known here.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import secrets
import sqlite3
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from pydantic import TypeAdapter

from argus.diagnostics import ArgusError, fail
from argus.files import owned
from argus.files.documents import DocumentError, checked
from argus.runs.artefacts import Artefacts
from argus.runs.records import Event, Finished, Probed, Started

_VERSION = 1
"""Of the tables and of the events in them; grows when old ones cannot be read."""

_TABLES = """
CREATE TABLE IF NOT EXISTS events (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID
"""
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_BUSY_SECONDS = 30.0
_SYNCHRONOUS = "FULL"
"""Events are on the disk before anything goes on: they outlive a power cut, too."""

State = Literal["running", "finished", "interrupted", "waiting"]
"""waiting: its agent is no process of ours, and has the next word."""


@dataclass(frozen=True)
class Stamped:
    """An event with its number in the run and its time (seconds since 1970)."""

    number: int
    time: float
    event: Event


class Run:
    """One run. Those that :meth:`RunStore.read` gives cannot be written to."""

    def __init__(
        self, name: str, database: sqlite3.Connection, artefacts: Artefacts, lock: int
    ) -> None:
        self.id = name
        self._database = database
        self._artefacts = artefacts
        self._lock = lock

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, event: Event) -> None:
        """Add an event; it is on disk when this returns.

        Raises ArgusError AG1002 if the run was opened for reading.
        """
        if self._lock < 0:
            raise fail("AG1002", None, f"{self.id} is open for reading only")
        self._insert(event)

    def note(self, event: Probed) -> None:
        """Add what changes nothing of the events around it, so that no lock is needed.

        Also to a run that is open for reading, while another process writes to it.
        """
        self._insert(event)

    def _insert(self, event: Event) -> None:
        content = event.model_dump_json()
        with self._database:
            self._database.execute(
                "INSERT INTO events SELECT ?, COALESCE(MAX(number) + 1, 0), ?, ?, ? "
                "FROM events WHERE run = ?",
                (self.id, time.time(), event.event, content, self.id),
            )

    def stamped(self) -> list[Stamped]:
        """All events in order, with their times.

        Raises ArgusError AG1003 if one cannot be read.
        """
        text = f"the events of {self.id} cannot be read"
        with _sound(text):
            rows = self._database.execute(
                "SELECT number, time, content FROM events WHERE run = ? "
                "ORDER BY number",
                (self.id,),
            ).fetchall()
        found: list[Stamped] = []
        for number, when, content in rows:
            try:
                if not isinstance(when, float) or not math.isfinite(when):
                    raise DocumentError(f"its time is {when!r}")
                found.append(Stamped(number, when, checked(_EVENT, content)))
            except (DocumentError, TypeError) as error:
                notes = [f"event {number}: {error}"]
                raise fail("AG1003", None, text, notes=notes) from error
        return found

    def events(self) -> list[Event]:
        """All events in order. Raises like :meth:`stamped`."""
        return [s.event for s in self.stamped()]

    def started(self) -> Started:
        """The first event. Raises ArgusError AG1003 if it is not there."""
        first = self.events()[:1]
        if not first or not isinstance(first[0], Started):
            raise fail("AG1003", None, f"{self.id} has no beginning")
        return first[0]

    def put(self, content: str | bytes) -> str:
        """Keep an artefact; returns its SHA-256. Durable when this returns."""
        raw = content.encode() if isinstance(content, str) else content
        return self._artefacts.put(raw)

    def get(self, name: str) -> bytes:
        """An artefact by its SHA-256. Raises ArgusError AG1003 if it is damaged."""
        return self._artefacts.get(name)

    def close(self) -> None:
        """Release the run. Nothing is lost if this is never called."""
        self._database.close()
        if self._lock >= 0:
            os.close(self._lock)  # closing releases the lock
            self._lock = -1


class RunStore:
    """All runs of a folder: ``runs.sqlite``, ``artefacts/`` and ``locks/``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._artefacts = Artefacts(root / "artefacts")

    def create(self, started: Started) -> Run:
        """Begin a run. Its name has the date, the task and four random digits.

        Raises ArgusError AG0902 if the folder cannot be written.
        """
        stem = "".join(c if c.isalnum() else "-" for c in started.task.name.lower())
        stem = "-".join(part for part in stem.split("-") if part)[:40]
        name = f"{time.strftime('%Y%m%d')}-{stem}-{secrets.token_hex(2)}"
        run = self._open(name, write=True)
        run.append(started)
        return run

    def open(self, part: str) -> Run:
        """Go on with a run, named by an unambiguous part of its name.

        Raises ArgusError AG1001 if there is none, AG1002 if a process is writing it.
        """
        return self._open(self.find(part), write=True)

    def read(self, part: str) -> Run:
        """Look at a run, which may be in progress. Raises ArgusError AG1001."""
        return self._open(self.find(part), write=False)

    def names(self) -> list[str]:
        """All runs, the oldest first."""
        if not self._file.exists():
            return []
        text = f"the record of runs {self._file} cannot be read"
        with contextlib.closing(self._connect()) as database, _sound(text):
            rows = database.execute(
                "SELECT run FROM events WHERE number = 0 ORDER BY time"
            ).fetchall()
        return [name for (name,) in rows]

    def find(self, part: str) -> str:
        """The name of the run with that part in it; "" or "latest" is the youngest.

        Raises ArgusError AG1001 unless there is exactly one.
        """
        names = self.names()
        if names and part in ("", "latest"):
            return names[-1]
        found = [n for n in names if part == n] or [n for n in names if part in n]
        if len(found) == 1:
            return found[0]
        if not found:
            text = f"there is no run `{part}`" if names else "there is no run yet"
        else:
            text = f"`{part}` may be any of {len(found)} runs"
        notes = [f"it may be {name}" for name in (found or names)[-5:]]
        raise fail("AG1001", None, text, notes=notes)

    def state(self, run: Run) -> State:
        """Whether a run is being written, came to its end, waits, or was cut off."""
        events = run.events()
        if events and isinstance(events[-1], Finished):
            return "finished"
        try:
            handle = self._acquire(run.id)
        except ArgusError:
            return "running"
        os.close(handle)
        first = events[0] if events else None
        outside = isinstance(first, Started) and first.agent == "external"
        return "waiting" if outside else "interrupted"

    def _open(self, name: str, *, write: bool) -> Run:
        lock = self._acquire(name) if write else -1
        try:
            return Run(name, self._connect(), self._artefacts, lock)
        except BaseException:
            if lock >= 0:
                os.close(lock)
            raise

    def _acquire(self, name: str) -> int:
        with (
            _writing(self.root),
            owned.opened(self.root, create=True) as root,
            owned.opened_in(root, "locks", create=True) as folder,
        ):
            handle = owned.open_file(folder, name, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            text = f"another process is writing {name}"
            raise fail("AG1002", None, text) from error
        return handle

    @property
    def _file(self) -> Path:
        return self.root / "runs.sqlite"

    def _connect(self) -> sqlite3.Connection:
        with (
            _writing(self.root),
            owned.opened(self.root, create=True) as folder,
        ):
            # For this user alone: SQLite gives its other files the same mode.
            os.close(owned.open_file(folder, self._file.name, os.O_RDWR | os.O_CREAT))
        try:
            database = sqlite3.connect(self._file, timeout=_BUSY_SECONDS)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                database.close()
                text = f"{self._file} was written by another version of Argus"
                raise fail("AG1003", None, text)
            if version == 0:
                with database:
                    database.execute(_TABLES)
                    database.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            text = f"the record of runs {self._file} cannot be opened"
            raise fail("AG1003", None, text, notes=[str(error)]) from error
        return database


@contextlib.contextmanager
def _writing(root: Path) -> Generator[None]:
    try:
        yield
    except owned.ForeignError as error:
        text = f"the folder of runs {root} is not this user's alone"
        help_ = "`chmod -R go-w` it, or set ARGUS_HOME to a folder of your own"
        notes = [str(error), "what it holds is executed: references of tasks"]
        raise fail("AG0914", None, text, notes=notes, help=help_) from error
    except OSError as error:
        text = f"the folder of runs {root} cannot be written"
        raise fail("AG0902", None, text, notes=[str(error)]) from error


@contextlib.contextmanager
def _sound(text: str) -> Generator[None]:
    """Raises ArgusError AG1003 with that text where the database is damaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise fail("AG1003", None, text, notes=[str(error)]) from error
