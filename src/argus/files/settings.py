"""Variables of the environment. An empty one is one that is not set."""

from __future__ import annotations

import importlib.util
import os
import pwd
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

from argus.diagnostics import fail
from argus.files.typed import natural

_DIGITS = 9
"""Digits of a number; more are no setting that anybody means."""


def setting(name: str) -> str | None:
    """The value of a variable; None where it is not set, or set to nothing."""
    return os.environ.get(name) or None


def watched(name: str) -> Callable[[], object]:
    """What gives a value that is another one when the variable is.

    It is asked at every launch. `os.environ` raises and catches an exception for a
    variable that is not set; the dictionary below it takes a tenth of the time.
    """
    data: object = getattr(os.environ, "_data", None)
    if os.name == "posix" and isinstance(data, dict):
        return partial(cast("dict[bytes, bytes]", data).get, os.fsencode(name))
    return partial(os.environ.get, name)


def switch(name: str, *, usual: bool) -> bool:
    """A variable that is 0 or 1. Raises ArgusError AG0908 for anything else."""
    chosen = setting(name)
    if chosen is None:
        return usual
    if chosen not in ("0", "1"):
        raise fail("AG0908", None, f"{name} is {chosen!r}", help="use 0 or 1")
    return chosen == "1"


def whole(name: str, unit: str) -> int | None:
    """A variable that is a whole number; None where it is not set.

    ``unit``: what it counts, for the message. Raises ArgusError AG0908.
    """
    text = setting(name)
    if text is None:
        return None
    number = natural(text, _DIGITS)
    if number is None:
        text = text if len(text) <= 40 else f"{text[:40]}..."
        raise fail(
            "AG0908",
            None,
            f"{name} is {text!r}",
            help=f"set it to a whole number of {unit} of at most {_DIGITS} digits",
        )
    return number


def folder(name: str) -> Path | None:
    """A variable that is a folder, `~` being the home; None where it is not set."""
    text = setting(name)
    if text is None:
        return None
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~name` of nobody
        return Path(text)


def standard_folder(name: str, *usual: str) -> Path | None:
    """A folder of the XDG base directories, else ``usual`` below the home folder.

    A relative path in such a variable is ignored, as its specification demands. None
    for a user without a home.
    """
    text = setting(name)
    if text is not None and Path(text).is_absolute():
        return Path(text)
    home = setting("HOME")
    if home is None:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            return None
    return Path(home, *usual) if home else None


def installed(module: str) -> bool:
    """Whether Python would find a module, which is not imported.

    Not where something keeps it from being found: that is as good as not installed.
    """
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
