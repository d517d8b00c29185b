"""How often Python looks for garbage in circles while something is proved."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["rarely_collected"]


@contextmanager
def rarely_collected() -> Generator[None]:
    """Look for garbage less often: proofs and plans make many objects, and few circles.

    At Python's own thresholds that is a fifth of the time of proving a matrix product,
    and of planning a module: there all of torch is walked through.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 500_000), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
