"""A line on a terminal that says what is going on, where that takes a while.

    with doing(out, "proving gemm"):
        ...                         # print nothing here

Only on a terminal, not with `--json`; it is gone when the work is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from argus.cli.output import Output

DELAY = 1.0
"""Seconds before the line is shown: most work needs none."""


@dataclass
class _Line:
    what: str
    began: float = field(default_factory=time.monotonic)

    def __rich__(self) -> Text:
        """The line; it is drawn anew many times a second, and its clock runs."""
        from rich.text import Text

        from argus.diagnostics.width import printable

        seconds = int(time.monotonic() - self.began)
        # Not a string: rich would read what stands in brackets as its own markup.
        return Text(printable(f"{self.what} · {seconds // 60}:{seconds % 60:02}"))


@contextmanager
def doing(out: Output, what: str) -> Generator[None]:
    """Show ``what`` on a terminal while the work takes more than `DELAY`.

    Whoever interrupts the work is told it, too: it is kept where the work is not done.
    """
    out.doing = what
    try:
        with _shown(out, what):
            yield
    except Exception:
        out.doing = ""
        raise
    out.doing = ""


@contextmanager
def _shown(out: Output, what: str) -> Generator[None]:
    if out.as_json or not sys.stdout.isatty():
        yield
        return
    from rich.console import Console

    status = Console(highlight=False).status(_Line(what))
    lock, over = threading.Lock(), threading.Event()

    def show() -> None:
        with lock:
            if not over.is_set():
                status.start()

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over.set()
            status.stop()
