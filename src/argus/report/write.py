"""Reports as files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from argus.files.writing import write_text
from argus.runs.folder import data_folder
from argus.runs.store import Run, State

if TYPE_CHECKING:
    from argus.agent.tasks.program import ChosenProgram


def report_path(name: str) -> Path:
    """Where the report of a run lies if nobody says otherwise: beside the runs."""
    return data_folder() / "runs" / "reports" / f"{name}.html"


def write_program_report(
    chosen: ChosenProgram, runs: Mapping[str, str], *, measured: bool
) -> Path:
    """Write the page of a program beside those of its runs; where it is.

    ``runs``: names of runs by task. Raises ArgusError AG0902.
    """
    from argus.report.program import program_page

    when = datetime.now().strftime("%Y%m%d-%H%M%S")
    path = report_path(f"{when}-{chosen.plans.path.stem}")
    write_text(path, program_page(chosen, runs, measured=measured))
    return path


def write_report(run: Run, state: State, path: Path) -> None:
    """Render a run and write the page; the file is complete or not there.

    Raises ArgusError AG0902 (the file cannot be written), AG1003 (a damaged record).
    """
    from argus.report.page import page

    write_text(path, page(run, state))
