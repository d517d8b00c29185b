"""Files by the SHA-256 of their content: sources, machine code, reports.

A file is complete or not there: it is written under another name, brought to the disk,
and renamed. The same content is kept once, for all runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from argus.diagnostics import fail
from argus.files.documents import DocumentError, document
from argus.runs.records import Candidate

_NAME = re.compile(r"[0-9a-f]{64}")


class Artefacts:
    """The folder. Files lie at ``root/ab/cdef...``, named by their content."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, content: bytes) -> str:
        """Keep the content; returns its name. Durable when this returns."""
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        if path.exists():
            return name
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _to_disk(path.parent)
        return name

    def get(self, name: str) -> bytes:
        """The content of that name.

        Raises ArgusError AG1003 if it is not there or is not what its name says.
        """
        if not _NAME.fullmatch(name):
            raise fail("AG1003", None, f"`{name[:64]!r}` is no name of an artefact")
        try:
            content = self._path(name).read_bytes()
        except OSError as error:
            text = f"the artefact {name[:12]} cannot be read"
            raise fail("AG1003", None, text, notes=[str(error)]) from error
        if hashlib.sha256(content).hexdigest() != name:
            raise fail("AG1003", None, f"the artefact {name[:12]} is damaged")
        return content

    def _path(self, name: str) -> Path:
        return self.root / name[:2] / name[2:]


def candidate_in(raw: bytes) -> Candidate:
    """The candidate in an artefact. Raises ArgusError AG1003 for another content."""
    try:
        return document(Candidate, raw)
    except DocumentError as error:
        text = "an artefact of the run is no candidate"
        raise fail("AG1003", None, text, notes=[str(error)]) from error


def _to_disk(folder: Path) -> None:
    """Bring a folder's entries to the disk: a rename is durable only then."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
