"""Handlers of the language's functions, by group. Importing this registers them all."""

from argus.lang.frontend.builtins import (
    annotate,
    axes,
    compute,
    debug,
    grid,
    layouts,
    memory,
    reduce,
    ring,
    scan,
    shape,
    sort,
    sync,
)

__all__ = [
    "annotate",
    "axes",
    "compute",
    "debug",
    "grid",
    "layouts",
    "memory",
    "reduce",
    "ring",
    "scan",
    "shape",
    "sort",
    "sync",
]
