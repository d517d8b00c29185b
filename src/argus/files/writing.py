"""Writing results: a file appears whole, or not at all, and through no link."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from argus.diagnostics import Json, fail
from argus.files.sources import require_no_source


def write_json(path: Path, data: Mapping[str, Json]) -> None:
    """Write a JSON file. Raises ArgusError AG0902 if the operating system refuses."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8. Raises ArgusError AG0902.

    A file name need not be UTF-8; what stands for its other bytes is escaped.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, making its folder. Raises ArgusError AG0902; AG0908 for a source.

    The folder may be one in which others write: the draft has a name that nobody
    foresees, and is made new.
    """
    require_no_source(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(draft, flags, 0o666), "wb") as file:
                file.write(data)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: no name, or one with a NUL
        raise fail(
            "AG0902", None, f"`{path}` cannot be written", notes=[str(error)]
        ) from error
