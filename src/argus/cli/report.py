"""`argus report`: a run of the optimiser as one HTML page."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.runs.store import Run

_TICK = 0.1
"""Seconds by which the clock of files may be behind."""


def report(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[RUN]", help="Any unambiguous part of its name, or `latest`."
        ),
    ] = "latest",
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the page here."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Show it in a browser.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a run as one HTML page, which needs no network and runs no script.

    Also of a run that is in progress, was cut off, or found nothing: what is missing
    is said in its place. Without --out the page lies beside the record of the runs.
    """
    with reporting("report", json_output) as out:
        from argus.report.write import report_path, write_report
        from argus.runs.folder import data_folder
        from argus.runs.store import RunStore

        store = RunStore(data_folder() / "runs")
        with store.read(name) as run:
            path = output or report_path(run.id)
            write_report(run, store.state(run), path)
            out.data["run"], out.data["report"] = run.id, str(path)
            out.fields([("run", run.id), ("report", str(path))])
        if browser:
            _show(out, path)


def _show(out: Output, path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        out.line("No browser could be opened.")


def beside(run: Run) -> tuple[Path | None, str]:
    """Write the report of a run that has just ended; the path, and what to say of it.

    A report that cannot be made is no reason for a run to fail: then it says so.
    """
    from argus.report.write import report_path, write_report

    path = report_path(run.id)
    try:
        write_report(run, "finished", path)
    except Exception as error:  # noqa: BLE001 - also for a bug: the run is what counts
        text = f"not written: {error}".splitlines()[0]
        return None, f"{text}; `argus report {run.id}` tries again"
    return path, str(path)


class ReportPages:
    """The reports of sessions, beside their runs (``argus.agent.session.pages``).

    A server ends several runs at once, and matplotlib's settings are those of the
    whole process: one page at a time.
    """

    def __init__(self) -> None:
        self._one = threading.Lock()

    def ready(self, run: Run, since: float) -> Path | None:
        """The run's page, if it was written after ``since`` (seconds since 1970)."""
        from argus.report.write import report_path

        path = report_path(run.id)
        try:
            written = path.stat().st_mtime
        except OSError:
            return None
        return path if written + _TICK >= since else None

    def write(self, run: Run) -> tuple[Path | None, str]:
        """See :func:`beside`."""
        with self._one:
            return beside(run)
