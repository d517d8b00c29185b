"""Texts of sources: of files, and of functions that Python has made from a text.

A function of a notebook's cell has no file; Python knows its text nevertheless
(`linecache`). A file may be another one by now than the function was made from: then
what it says is not what the function is.
"""

from __future__ import annotations

import linecache
import os
import tokenize
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import CodeType

from argus.diagnostics import fail
from argus.files.reading import LONGEST
from argus.files.sources import note_source
from argus.lang.kernel import Origin, state_of

__all__ = ["read_text", "text_of"]


def read_text(path: Path) -> str:
    """Text of a source file in its declared encoding.

    Raises ArgusError: it cannot be read, or is too long (AG0002), or no text (AG0001).
    No more is read than a source may have: a device may have no end.
    """
    try:
        with path.open("rb") as file:
            note_source(os.fstat(file.fileno()))
            data = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise fail("AG0002", None, f"cannot read `{path}`: {reason}") from None
    if len(data) > LONGEST:
        raise fail("AG0002", None, f"`{path}` has more than {LONGEST} bytes")
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise fail("AG0001", None, f"`{path}` is not text: {error}") from None


def text_of(origin: Origin) -> str:
    """The text that a decorated function stands in.

    Raises ArgusError AG0002 where Python does not know it, and where the function that
    is in its file now is not the one that was imported.
    """
    path = Path(origin.file)
    state = state_of(origin.file)
    if state is None:
        lines = linecache.getlines(origin.file)
        if lines:
            return "".join(lines)
        raise fail(
            "AG0002",
            None,
            f"the text of `{origin.name}` is not known: there is no file "
            f"`{origin.file}`",
            help="write it to a file and import that, or to a cell of a notebook",
        )
    text = read_text(path)
    code, before = (None, None) if origin.made is None else origin.made()
    if code is not None and state != before and not _has(text, code):
        raise fail(
            "AG0002",
            None,
            f"`{origin.name}` has changed in `{origin.file}` since it was imported",
            help="import the file again, or start a new process",
        )
    return text


def _has(text: str, code: CodeType) -> bool:
    """Whether Python makes the same function of a text, at the same line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = compile(text, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(
        one.co_firstlineno == code.co_firstlineno and _meaning(one) == _meaning(code)
        for one in _within(whole)
    )


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)


def _meaning(code: CodeType) -> tuple[object, ...]:
    """What a function does, wherever its lines are."""
    constants: list[object] = [
        _meaning(x) if isinstance(x, CodeType) else (str(type(x)), x)  # pyright: ignore[reportUnknownArgumentType]
        for x in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_name, code.co_code, names, constants)
