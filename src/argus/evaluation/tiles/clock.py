"""The clock of work on tiles: seconds that this thread computes.

Deadlines and limits of this package, and of those who call it, are of this clock. So
how much is tried, and with it a verdict, does not depend on what else the machine does.
Seconds of the wall limit the process that a candidate is judged in (`judge/limits.py`).
"""

from __future__ import annotations

import time

__all__ = ["now"]


def now() -> float:
    """Seconds since some moment."""
    return time.thread_time()
