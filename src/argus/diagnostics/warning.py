"""Warnings: what is not an error, at the line of the program that uses this package."""

import inspect
import warnings

from argus.diagnostics.errors import ArgusWarning


def warn(code: str, text: str) -> None:
    """An ArgusWarning at the nearest caller outside this package."""
    # `skip_file_prefixes` of `warnings.warn` does that, from Python 3.12 on.
    level, frame = 1, inspect.currentframe()
    while frame is not None and _inside(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{code}: {text}", ArgusWarning, stacklevel=level)


def _inside(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] == "argus"
