"""Where a run stands, and its end: status and finish."""

from __future__ import annotations

from argus.agent.policy import policy_file
from argus.agent.session import views
from argus.agent.session.at import At
from argus.agent.session.desk import Desk, OwnedRun
from argus.agent.session.results import (
    Ended,
    Source,
    Standing,
)
from argus.agent.session.running import told
from argus.runs import records

_DONE = "the agent ended the session"


def status(desk: Desk, run: str = "latest") -> Standing:
    """Where a run stands; also while another process works on it."""
    with desk.looking(run) as at:
        state = at.state
        busy = desk.store.state(at.run) == "running"
        trial = at.open
        proposal = None
        if (
            trial is not None
            and trial.proposed is not None
            and trial.parent is not None
        ):
            proposal = views.ideas(trial.proposed)[trial.proposed.chosen]
        best, first = state.best, state.verdict_of(0)
        verdict = best.verdict if best else None
        waiting = [t.number for t in state.open if t.judged is not None]
        notes = [
            f"trial {n} was judged and cut off: `next` completes it" for n in waiting
        ]
        return Standing(
            run=at.run.id,
            task=at.task.name,
            state="busy" if busy else "finished" if state.finished else "open",
            finished=state.finished.reason if state.finished else "",
            open_trial=trial.number if trial else None,
            proposal=proposal,
            trials=views.rows(state),
            start=views.time_of(first),
            best_trial=best.number if best else None,
            best=views.time_of(verdict),
            best_source=_best_source(at),
            baselines=_baselines(verdict),
            limit_microseconds=verdict.limit_microseconds if verdict else None,
            spent=state.spent,
            minutes=at.minutes,
            left=at.left,
            reason_to_stop=at.reason,
            report=_report(desk, at),
            notes=tuple(notes),
        )


def _report(desk: Desk, at: At) -> str | None:
    """Where the page about a run that has ended lies, if it is there."""
    if desk.pages is None or at.state.finished is None:
        return None
    page = desk.pages.ready(at.run, at.last)
    return None if page is None else str(page)


def _best_source(at: At) -> Source | None:
    best = at.state.best
    if best is None:
        return None
    title = f"{at.task.name}: trial {best.number}."
    return views.source_of(at.state.candidates[best.number], title)


def _baselines(verdict: records.JudgeVerdict | None) -> dict[str, float]:
    return dict(verdict.measured.baselines) if verdict and verdict.measured else {}


def finish(desk: Desk, run: str = "latest", *, ablate: bool = True) -> Ended:
    """End a run: the best kernels again side by side, then the best one taken apart.

    A run that has ended is shown as it ended; nothing is done again but a report that
    is missing.
    """
    with desk.work(run, ended=True, ablate=ablate) as work:
        notes = told(work)
        if work.state.finished is None:
            trial = work.open
            if trial is not None and trial.parent is not None:
                notes.append(f"the proposal of trial {trial.number} was not answered")
            reason = work.reason or _DONE
            if work.state.done:
                desk.tell("measuring the best again")
                work.optimiser.settle()
            work.optimiser.finish(reason)
            work.again()
        return _ended(work, notes, _reported(desk, work, notes))


def _reported(desk: Desk, work: OwnedRun, notes: list[str]) -> str | None:
    """The page about the run, written unless it is there; a note says why it is not."""
    found = _report(desk, work)
    if found is not None or desk.pages is None:
        return found
    desk.tell("writing the report")
    page, said = desk.pages.write(work.run)
    if page is None:
        notes.append(f"the report is {said}")
    return None if page is None else str(page)


def _ended(work: OwnedRun, notes: list[str], report: str | None) -> Ended:
    state = work.state
    best = state.best
    verdict = best.verdict if best else None
    if best is not None and state.design(best.number) is None:
        notes.append(
            "the best kernel was written by hand: there is no design to take apart"
        )
    if verdict is not None and verdict.measured is None:
        notes.append("times are predicted by the performance model, none is measured")
    return Ended(
        run=work.run.id,
        reason=state.finished.reason if state.finished else "",
        trials=len(state.done),
        best_trial=best.number if best else None,
        best=views.time_of(verdict),
        best_source=_best_source(work),
        start=views.time_of(state.verdict_of(0)),
        baselines=_baselines(verdict),
        limit_microseconds=verdict.limit_microseconds if verdict else None,
        ablation=views.ablation(state),
        policy="" if work.state.cold else str(policy_file()),
        report=report,
        notes=tuple(notes),
    )
