"""The clock of proofs and of interpreted runs: seconds that this thread computes.

Limits of what is tried are of this clock. So how much is tried, and with it a verdict,
depends neither on what else the machine does nor on other threads of the process (a
program's kernels are proved in one thread while others are compiled). Seconds of the
wall limit the process that a candidate is judged in (`evaluation/judge/limits.py`).
"""

from __future__ import annotations

import time

__all__ = ["now"]


def now() -> float:
    """Seconds since some moment."""
    return time.thread_time()
