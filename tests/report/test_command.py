"""`argus report`: where the page goes, and what a run says that cannot have one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sample_run
from argus.cli.app import app
from argus.cli.report import beside
from argus.runs.store import RunStore
from command_line import Commands


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path))
    return tmp_path / "runs"


def invoke(*arguments: str):
    return Commands().invoke(app, ["report", *arguments])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page holds is not the matter here."""
    monkeypatch.setattr(
        "argus.report.page.page", lambda run, state: f"{run.id} {state}"
    )


@pytest.mark.usefixtures("quick")
def test_beside_the_runs(runs: Path) -> None:
    name = sample_run.make(runs)
    done = invoke()
    assert done.exit_code == 0, done.output
    path = runs / "reports" / f"{name}.html"
    assert path.read_text() == f"{name} finished"
    assert path.name in "".join(done.output.split())


@pytest.mark.usefixtures("quick")
def test_elsewhere_and_as_json(runs: Path, tmp_path: Path) -> None:
    name = sample_run.make(runs, finish=False)
    path = tmp_path / "new" / "page.html"
    done = invoke(name[-4:], "--out", str(path), "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.output)
    assert (data["run"], data["report"]) == (name, str(path))
    assert path.read_text() == f"{name} interrupted"


@pytest.mark.usefixtures("quick")
def test_shown_in_a_browser(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda uri: shown.append(uri))
    name = sample_run.make(runs)
    done = invoke("--open")
    assert shown == [(runs / "reports" / f"{name}.html").as_uri()]
    assert "No browser could be opened" in done.output


@pytest.mark.usefixtures("quick")
def test_where_it_cannot_be_written(runs: Path, tmp_path: Path) -> None:
    sample_run.make(runs)
    (tmp_path / "file").write_text("")
    done = invoke("--out", str(tmp_path / "file" / "page.html"))
    assert done.exit_code == 2
    assert "AG0902" in done.output


def test_no_run(runs: Path) -> None:
    done = invoke()
    assert done.exit_code == 2
    assert "AG1001" in done.output


def test_a_run_ends_without_its_report(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even for a bug: the run is what counts, and what went wrong is said."""

    def broken(run: object, state: str) -> str:
        raise RuntimeError("a bug\nof two lines")

    monkeypatch.setattr("argus.report.page.page", broken)
    name = sample_run.make(runs)
    with RunStore(runs).read(name) as run:
        path, said = beside(run)
    assert path is None
    assert said == f"not written: a bug; `argus report {name}` tries again"
