"""Files that a command has read as sources: no result is written over one of them.

    with sources_kept():
        Reader().read("k.py")
        write_text(Path("k.py"), ...)       # AG0908

Who reads a source says so by `note_source`, who writes asks by `require_no_source`.
Outside of a command nothing is noted: a program may write what it read.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from argus.diagnostics import fail

_Identity = tuple[int, int]
"""Device and number of a file, whatever its names are."""
_read: ContextVar[set[_Identity] | None] = ContextVar("sources", default=None)


@contextmanager
def sources_kept() -> Generator[None]:
    """Note from here on what is read."""
    token = _read.set(set())
    try:
        yield
    finally:
        _read.reset(token)


def note_source(found: os.stat_result) -> None:
    """Say that a file is read as a source."""
    known = _read.get()
    if known is not None:
        known.add((found.st_dev, found.st_ino))


def require_no_source(path: Path) -> None:
    """Raise ArgusError AG0908 where a path is that of a source that was read."""
    known = _read.get()
    if not known:
        return
    try:
        found = path.stat()
    except (OSError, ValueError):
        return  # there is no such file
    if (found.st_dev, found.st_ino) in known:
        raise fail(
            "AG0908",
            None,
            f"`{path}` is read by this command: what it writes would replace it",
            help="give another name",
        )
