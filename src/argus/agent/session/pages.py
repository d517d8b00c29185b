"""Who writes the report of a session at its end. Reports are made above this layer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from argus.runs.store import Run


class Pages(Protocol):
    """What a session asks of reports (``argus.cli.report.ReportPages``)."""

    def ready(self, run: Run, since: float) -> Path | None:
        """The run's page, if there is one since then (seconds since 1970)."""
        ...

    def write(self, run: Run) -> tuple[Path | None, str]:
        """Write the page of a run that has ended; its path, and what to say of it.

        Never raises: without a page there is no path, and the text says why.
        """
        ...
