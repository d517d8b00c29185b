"""How much memory a run of a kernel takes, and whether this machine has it.

What is larger than the memory may be granted, and ends the process when it is written
to; so it is estimated, and refused, before anything is drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

from argus.diagnostics import fail
from argus.kernels.library import Argument

__all__ = ["bytes_of", "in_words", "machine_memory", "require_memory"]

_EXACT = 8
"""Bytes of an element as a reference takes and gives it."""
_COPIES = 4
"""Of such arrays at a time: what is given, what comes of it, what is between."""


def bytes_of(arguments: Sequence[Argument], *, compared: bool = False) -> int:
    """Bytes of the tensors and of copies of what a kernel reads.

    ``compared``: with what a comparison in 64 bits takes.
    """
    found = 0
    for a in arguments:
        each = a.dtype.bytes * (1 if a.draw == "output" else 2)
        each += _COPIES * _EXACT if compared else 0
        found += math.prod(a.shape) * each
    return found


def machine_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require_memory(
    arguments: Sequence[Argument],
    sizes: Mapping[str, int],
    *,
    compared: bool = False,
    free: int | None = None,
) -> int:
    """The bytes that a run takes.

    ``free``: bytes of a device where it runs, else it runs on this machine. Raises
    ArgusError AG0912 where it takes more than is free there, AG0908 where it takes more
    than half of this machine's memory.
    """
    size = bytes_of(arguments, compared=compared)
    limit = machine_memory() // 2 if free is None else free
    if size > limit:
        at = ", ".join(f"{d}={n}" for d, n in sizes.items())
        what = "tensors, copies of the inputs"
        what += " and the comparison" if compared else ""
        whose = "half of this machine's memory" if free is None else "what is free"
        raise fail(
            "AG0908" if free is None else "AG0912",
            None,
            f"at {at} the {what} take {size} bytes ({in_words(size)}), and the limit "
            f"is {whose}, {limit} bytes ({in_words(limit)})",
            help="choose smaller sizes: --size DIM=N",
        )
    return size


def in_words(size: int) -> str:
    """Bytes as people read them: "2.4 kB"."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.4g} TB"
