"""`argus runs list`, `show`, `diff`, `export`: what was optimised, and how."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.diagnostics import Json
    from argus.runs.history import History, RunTrial
    from argus.runs.records import Candidate
    from argus.runs.store import Run, RunStore

runs = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What was optimised, and how: every run is kept.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Part of a run's name; `latest` is the last."),
]
TrialArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN[:TRIAL]", help="A run's best kernel, or that of a trial."
    ),
]


@runs.command("list", short_help="All runs, the oldest first.")
def list_runs(json_output: JsonOption = False) -> None:
    """List all runs: state, number of trials, time before and after."""
    with reporting("runs list", json_output) as out:
        from argus.runs.summary import summary

        store = _store()
        rows: list[Json] = []
        for name in store.names():
            with store.read(name) as run:
                found = _history(run)
                state = store.state(run)
            rows.append(summary(name, state, found))
            out.line(f"{name}  {state}", style="bold")
            out.line(_in_short(found), indent=2)
        out.data["runs"] = rows
        if not rows:
            out.line("There is no run yet. `argus optimize gemm` makes one.")


@runs.command(short_help="The trials of a run, or one of them.")
def show(
    name: RunArgument = "latest",
    trial: Annotated[
        int | None, typer.Option("--trial", help="Everything about one trial.")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Show a run's trials in order, or one trial with its kernel and findings."""
    with reporting("runs show", json_output) as out:
        from argus.runs.summary import row, summary

        store = _store()
        with store.read(name) as run:
            found = _history(run)
            if trial is not None:
                _show_trial(out, run, found, _trial_of(found, trial, run.id))
                return
            state = store.state(run)
            out.data["run"] = summary(run.id, state, found)
            out.data["trials"] = [row(t) for t in found.trials]
            out.line(f"{run.id}  {state}", style="bold")
            out.line(_in_short(found), indent=2)
            _show_requests(out, run, found)
            if found.cold:
                out.line("cold: what it learns stays in the run", indent=2)
            for one in found.trials:
                out.line(_line(one), indent=6)
            _show_ablation(out, found)


@runs.command(short_help="What differs between two kernels.")
def diff(
    first: TrialArgument, second: TrialArgument, json_output: JsonOption = False
) -> None:
    """Compare the kernels of two runs or trials: design, source, verdict."""
    with reporting("runs diff", json_output) as out:
        (a, before, t), (b, after, u) = _side(first), _side(second)
        changed: dict[str, Json] = {}
        names = {**_knobs(before), **_knobs(after)}
        for knob in names:
            old, new = _knobs(before).get(knob), _knobs(after).get(knob)
            if old != new:
                changed[knob] = [old, new]
                out.line(f"{knob}: {_word(old)} -> {_word(new)}", indent=2)
        lines = list(
            difflib.unified_diff(
                before.source.splitlines(), after.source.splitlines(), a, b, lineterm=""
            )
        )
        out.data["knobs"], out.data["source"] = changed, "\n".join(lines)
        out.data["microseconds"] = [t.microseconds, u.microseconds]
        out.line(f"{a}: {_time(t)}")
        out.line(f"{b}: {_time(u)}")
        if lines:
            out.raw("\n".join(lines))
        if not changed and not lines:
            out.line("The kernels are the same.")


@runs.command(short_help="Write a run into a folder.")
def export(
    name: RunArgument = "latest",
    folder: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="A folder that is new.")
    ] = Path("argus-run"),
    json_output: JsonOption = False,
) -> None:
    """Write a summary, events, every candidate and what models were asked."""
    with reporting("runs export", json_output) as out:
        from argus.diagnostics import fail
        from argus.runs.summary import record

        store = _store()
        with store.read(name) as run:
            found = _history(run)
            try:
                folder.mkdir(parents=True)
            except OSError as error:
                text = f"the folder {folder} cannot be made"
                raise fail("AG0902", None, text, notes=[str(error)]) from error
            events = [
                json.dumps({"time": s.time, **s.event.model_dump(mode="json")})
                for s in run.stamped()
            ]
            (folder / "events.jsonl").write_text("\n".join(events) + "\n")
            best = found.best.candidate if found.best else None
            design = _candidate(run, best).design if best else {}
            whole = record(run.id, store.state(run), found, design)
            (folder / "run.json").write_text(json.dumps(whole, indent=1) + "\n")
            for trial in found.trials:
                for what, artefact in _conversations(trial):
                    path = folder / f"trial-{trial.number:03}-{what}.json"
                    path.write_bytes(run.get(artefact))
                if trial.candidate is None:
                    continue
                candidate = _candidate(run, trial.candidate)
                path = folder / f"trial-{trial.number:03}.py"
                path.write_text(candidate.source, encoding="utf-8")
                if candidate.statics:
                    statics = json.dumps(candidate.statics, indent=1)
                    path.with_suffix(".json").write_text(
                        statics + "\n", encoding="utf-8"
                    )
            out.data["folder"] = str(folder)
            out.data["files"] = len(list(folder.iterdir()))
            out.line(f"{len(list(folder.iterdir()))} files of {run.id} in {folder}")


def _store() -> RunStore:
    from argus.runs.folder import data_folder
    from argus.runs.store import RunStore

    return RunStore(data_folder() / "runs")


def _history(run: Run) -> History:
    from argus.runs.history import history

    return history(run.stamped())


def _candidate(run: Run, name: str) -> Candidate:
    from argus.runs.artefacts import candidate_in

    return candidate_in(run.get(name))


def _trial_of(found: History, number: int, name: str) -> RunTrial:
    from argus.diagnostics import fail

    trial = found.trial(number)
    if trial is None:
        raise fail("AG1001", None, f"{name} has no trial {number}")
    return trial


def _side(text: str) -> tuple[str, Candidate, RunTrial]:
    """A name to show, the kernel, and its trial, of RUN or RUN:TRIAL."""
    from argus.diagnostics import fail
    from argus.files.typed import natural

    name, _, number = text.partition(":")
    wanted = natural(number)
    if number and wanted is None:
        raise fail("AG0908", None, f"`{number}` is not the number of a trial")
    with _store().read(name) as run:
        found = _history(run)
        trial = found.best if wanted is None else _trial_of(found, wanted, run.id)
        if trial is None or trial.candidate is None:
            raise fail("AG1001", None, f"`{text}` has no kernel")
        return f"{run.id}:{trial.number}", _candidate(run, trial.candidate), trial


def _knobs(candidate: Candidate) -> dict[str, bool | int | float | str]:
    return {**candidate.statics, **candidate.design}


def _word(value: object) -> str:
    return "-" if value is None else str(value)


def _time(trial: RunTrial | None) -> str:
    verdict = trial.verdict if trial else None
    if verdict is None:
        return "not judged"
    if verdict.microseconds is None:
        return verdict.status
    kind = "measured" if verdict.measured else "predicted"
    return f"{verdict.microseconds:.1f} µs {kind}"


def _in_short(found: History) -> str:
    from argus.report.words import plural

    text = f"{plural(len(found.trials), 'trial')} by {found.started.agent}"
    start, best = found.start, found.best
    if best is None:
        return f"{text}; no correct kernel yet"
    text += f"; best {_time(best)} (trial {best.number})"
    if start and start.microseconds and best.microseconds:
        text += f", {start.microseconds / best.microseconds:.2f}x as fast as the start"
    return text


def _line(trial: RunTrial) -> str:
    what = trial.proposal.optimisation if trial.proposal else "the start"
    edit = trial.proposal.edit if trial.proposal else {}
    knobs = " ".join(f"{k}={v}" for k, v in edit.items())
    reward = f"{trial.learned.reward:+.2f}" if trial.learned else ""
    text = f"{trial.number:>4}  {_time(trial)}  {reward}  {what} {knobs}".rstrip()
    if trial.lowered and trial.lowered.failure:
        return f"{text}: {trial.lowered.failure}"
    verdict = trial.verdict
    if verdict and verdict.findings:
        first = verdict.findings[0]
        return f"{text}: {first.code} {first.message}"
    return text


def _show_trial(out: Output, run: Run, found: History, trial: RunTrial) -> None:
    from argus.runs.summary import row

    out.data["trial"] = {
        **row(trial),
        "events": [
            e.model_dump(mode="json")
            for e in (
                trial.proposed,
                *trial.asked,
                trial.lowered,
                trial.judged,
                trial.learned,
            )
            if e is not None
        ],
    }
    out.line(_line(trial), style="bold", indent=6)
    if trial.proposal and trial.proposal.reason:
        out.line(trial.proposal.reason, indent=2)
    for event in (trial.lowered, trial.learned):
        if event is not None and event.note:
            out.line(event.note, indent=2)
    _show_requests(out, run, found, trial)
    for finding in trial.verdict.findings if trial.verdict else ():
        out.raw(finding.text or f"{finding.code}: {finding.message}")
    for change in trial.changes:
        out.line(f"{change.key}: {_word(change.before)} -> {change.after}", indent=2)
    if trial.candidate is not None:
        candidate = _candidate(run, trial.candidate)
        out.data["candidate"] = candidate.model_dump(mode="json")
        out.line(" ".join(f"{k}={v}" for k, v in _knobs(candidate).items()), indent=2)
        out.raw(candidate.source)


def _conversations(trial: RunTrial) -> list[tuple[str, str]]:
    """What a language model was asked in a trial: a name, and the artefact.

    Those that were cut off are numbered; the others are "kernel" and "advice".
    """
    from argus.runs.conversations import talks

    found: list[tuple[str, str]] = []
    for number, talk in enumerate(talks(trial), 1):
        name = talk.about if talk.ended else f"{talk.about}-cut-off-{number}"
        found.append((name, talk.artefact))
    return found


def _show_requests(
    out: Output, run: Run, found: History, trial: RunTrial | None = None
) -> None:
    """How often a language model was asked, and what that took."""
    from argus.runs.conversations import requests

    asked = requests(found, run.get, trial)
    if asked is None:
        return
    models = _models(run)
    out.data["asked"] = {
        "models": list(models),
        "requests": asked.count,
        "tokens": asked.tokens,
        "usd": asked.usd if asked.priced else None,
        "conversations_unread": asked.unread,
    }
    out.line(f"{' and '.join(models) or 'a model'}: {asked.words}", indent=2)


def _models(run: Run) -> list[str]:
    """The language models of a run: a run that goes on may ask another."""
    from argus.runs.records import Resumed, Started

    told = [e for e in run.events() if isinstance(e, Started | Resumed)]
    names = (e.environment.get("model") for e in told)
    return [name for name in dict.fromkeys(names) if name]


def _show_ablation(out: Output, found: History) -> None:
    from argus.cli.progress import ablation

    best = found.best.microseconds if found.best else None
    if best is not None:
        ablation(out, found.ablations, best)
