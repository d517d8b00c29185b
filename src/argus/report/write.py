"""Reports as files."""

from __future__ import annotations

from pathlib import Path

from argus.files.writing import write_text
from argus.runs.folder import data_folder
from argus.runs.store import Run, State


def report_path(name: str) -> Path:
    """Where the report of a run lies if nobody says otherwise: beside the runs."""
    return data_folder() / "runs" / "reports" / f"{name}.html"


def write_report(run: Run, state: State, path: Path) -> None:
    """Render a run and write the page; the file is complete or not there.

    Raises ArgusError AG0902 (the file cannot be written), AG1003 (a damaged record).
    """
    from argus.report.page import page

    write_text(path, page(run, state))
