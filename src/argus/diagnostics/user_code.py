"""What a user's own Python raised, in a line: the error, and the line it came from.

References, baselines, PyTorch files and modules are executed; whoever does says with
this what went wrong in them.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path

_LONGEST = 300
"""Characters of an error's own text."""


def raised(error: BaseException) -> str:
    """`ValueError: no rows, at line 7 of model.py`."""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    said = words.strip().partition("\n")[0][:_LONGEST]
    text = f"{type(error).__name__}: {said}".removesuffix(": ")
    return f"{text}{place(error)}"


def place(error: BaseException) -> str:
    """`, at line 7 of model.py`: the innermost line of the user's; "" without one."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f", at line {error.lineno} of {Path(error.filename).name}"
    frame = innermost(error, is_users)
    return "" if frame is None else at_line(frame)


def innermost(
    error: BaseException, kept: Callable[[str], bool]
) -> traceback.FrameSummary | None:
    """The innermost frame of an error whose file is one of those that are kept."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((f for f in frames if kept(f.filename)), None)


def at_line(frame: traceback.FrameSummary) -> str:
    """`, at line 7 of model.py`."""
    return f", at line {frame.lineno} of {Path(frame.filename).name}"


def is_users(filename: str) -> bool:
    """Whether a line is neither Python's, nor a package's, nor made up."""
    if filename.startswith("<"):
        return False
    path = Path(filename)
    return not any(path.is_relative_to(folder) for folder in _others())


def is_pythons(filename: str) -> bool:
    """Whether a line is of Python's own library, and not of a package beside it."""
    paths = sysconfig.get_paths()
    path = Path(filename)
    packages = any(path.is_relative_to(paths[n]) for n in ("purelib", "platlib"))
    library = any(path.is_relative_to(paths[n]) for n in ("stdlib", "platstdlib"))
    return library and not packages


@cache
def _others() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return (Path(__file__).parents[1], *(Path(paths[n]) for n in names))
