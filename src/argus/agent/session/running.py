"""The operations that move a run: next and submit.

Each event is on disk before the next step begins. An operation that is killed loses
itself: the proposal is still open, and what was judged stays judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from argus import knowledge
from argus.agent.interfaces import Lowering
from argus.agent.learning import advice_for
from argus.agent.rewards import gain
from argus.agent.session import views
from argus.agent.session.beginning import begin
from argus.agent.session.desk import Desk, OwnedRun
from argus.agent.session.results import (
    Article,
    Next,
    Submitted,
)
from argus.agent.state import same_source
from argus.diagnostics import fail
from argus.runs import records
from argus.runs.history import RunTrial
from argus.runs.records import Cost, Proposal, Value, factor

_ALTERNATIVES = 6
_ADVICE = 8
_ARTICLES = 3


# ---- next ----------------------------------------------------------------------------


def next_(desk: Desk, run: str = "latest", skip: str = "") -> Next:
    """The open proposal, or a new one. ``skip``: why the open one is not carried out.

    Raises ArgusError AG1032 if there is none to skip.
    """
    with desk.work(run) as work:
        begin(desk, work)
        notes = told(work)
        if skip:
            _skip(work, skip)
        trial = work.open
        if trial is None:
            reason = work.reason
            if reason:
                return _nothing(work, reason, notes)
            desk.tell("planning")
            if not work.optimiser.propose(1):
                return _nothing(work, "nothing left to try", notes)
            work.again()
            trial = work.open
            assert trial is not None
        elif trial.lowered is not None:
            notes.append(
                f"a submission for trial {trial.number} was cut off before its "
                "verdict: submit it again"
            )
        else:
            notes.append(f"trial {trial.number} was proposed before and is still open")
        return _proposed(work, trial, notes)


def told(work: OwnedRun) -> list[str]:
    """What is to be said of a submission that was cut off after its verdict."""
    if work.recovered is None:
        return []
    trial = work.state.trials[work.recovered]
    status = trial.verdict.status if trial.verdict else "not judged"
    return [
        f"a submission for trial {trial.number} was cut off after its verdict, which "
        f"is kept: {status}"
    ]


def _skip(work: OwnedRun, why: str) -> None:
    trial = work.open
    if trial is None:
        raise fail(
            "AG1032",
            None,
            f"{work.run.id} has no open proposal to skip",
            help=f"argus session next --run {work.run.id}",
        )
    attempts = _attempts(work, trial)
    work.optimiser.lowered(trial.number, Lowering(None, attempts, f"skipped: {why}"))
    work.optimiser.learn()
    work.again()


def _nothing(work: OwnedRun, reason: str, notes: list[str]) -> Next:
    notes.append(
        "`finish` measures the best kernels again, takes the best apart, and writes "
        "the report"
    )
    return Next(
        run=work.run.id, trial=None, reason=reason, left=work.left, notes=tuple(notes)
    )


def _proposed(work: OwnedRun, trial: RunTrial, notes: list[str]) -> Next:
    proposed = trial.proposed
    assert proposed is not None and proposed.parent is not None
    state = work.state
    offered = views.ideas(proposed)
    chosen = offered[proposed.chosen]
    others = [o for i, o in enumerate(offered) if i != proposed.chosen]
    likely = sorted(others, key=lambda o: -o.probability)[:_ALTERNATIVES]
    parent = work.base()
    draft = work.draft()
    name = f"{work.task.name}: trial {proposed.parent}."
    features = work.features()
    ids = dict.fromkeys([chosen.optimisation, *(o.optimisation for o in likely)])
    advice = advice_for(state, work.space.name, proposed.bottleneck)
    return Next(
        run=work.run.id,
        trial=trial.number,
        bottleneck=proposed.bottleneck,
        proposal=chosen,
        alternatives=tuple(likely),
        advice=advice[:_ADVICE],
        knowledge=_articles(list(ids)[:_ARTICLES], features),
        parent_trial=proposed.parent,
        parent_time=views.time_of(state.verdict_of(proposed.parent)),
        parent=views.source_of(parent, name),
        draft=None
        if draft is None
        else views.source_of(draft, f"{work.task.name}: {chosen.where}."),
        left=work.left,
        notes=tuple(notes),
    )


def _articles(ids: list[str], features: dict[str, Value]) -> tuple[Article, ...]:
    known = knowledge.load_entries()
    return tuple(views.article(known[i], features) for i in ids if i in known)


# ---- submit --------------------------------------------------------------------------


def submit(
    desk: Desk,
    source: str,
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
    note: str = "",
    instead: str = "",
    tokens: int = 0,
    usd: float = 0.0,
) -> Submitted:
    """Judge a kernel for good: the answer to the open proposal.

    ``instead``: the knowledge entry of what was done, where that is not what was
    proposed; it gets the reward. ``tokens`` and ``usd`` are what the agent spent on it,
    and count against the budget. Raises ArgusError AG1032 if nothing is proposed,
    AG0908 for a negative cost and for an unknown entry.
    """
    if tokens < 0 or usd < 0:
        raise fail("AG0908", None, "tokens and usd cannot be negative")
    with desk.work(run) as work:
        candidate = work.candidate(source, kernel, statics)
        notes = told(work)
        if work.recovered is not None:
            before = work.state.candidates.get(work.recovered)
            if before is not None and same_source(before) == same_source(candidate):
                best = _best_before(work, work.recovered)
                return _submitted(work, work.recovered, best, notes)
        trial = work.open
        if trial is None or trial.parent is None:
            raise fail(
                "AG1032",
                None,
                f"{work.run.id} has no open proposal",
                notes=notes,
                help=f"argus session next --run {work.run.id}",
            )
        if instead:
            trial = _chosen(work, trial, instead)
        best = _best_before(work, trial.number)
        attempts = _attempts(work, trial)
        cost = Cost(tokens=tokens, usd=usd)
        made = Lowering(candidate, attempts, cost=cost, note=note)
        optimiser = work.optimiser
        optimiser.lowered(trial.number, made)
        desk.tell("judging")
        optimiser.validate()
        optimiser.learn()
        work.again()
        return _submitted(work, trial.number, best, notes)


def _chosen(work: OwnedRun, trial: RunTrial, optimisation: str) -> RunTrial:
    """The trial with another proposal: one of the alternatives, or the agent's own."""
    proposed = trial.proposed
    assert proposed is not None
    offers = proposed.proposals
    same = [i for i, p in enumerate(offers) if p.optimisation == optimisation]
    if proposed.chosen in same:
        return trial
    update: dict[str, object] = {"chosen": same[0]} if same else {}
    if not same:
        known = knowledge.load_entries()
        if optimisation not in known:
            near = get_close_matches(optimisation, known, n=1)
            raise fail(
                "AG0908",
                None,
                f"there is no knowledge entry `{optimisation}`",
                help=f"did you mean `{near[0]}`?" if near else "see `knowledge`",
            )
        own = Proposal(
            optimisation=optimisation,
            where="the agent's own choice",
            invariants=known[optimisation].invariants,
            predicted_gain=0.0,
            reason="done instead of what was proposed",
        )
        update = {
            "proposals": (*offers, own),
            "probabilities": (*proposed.probabilities, 0.0),
            "chosen": len(offers),
        }
    event = proposed.model_copy(update=update)
    work.run.append(event)
    work.state.apply(event, work.run.get)
    return work.state.trials[trial.number]


def _attempts(work: OwnedRun, trial: RunTrial) -> tuple[records.JudgeVerdict, ...]:
    """What was refused on the way, when the agent asked before it submitted."""
    return tuple(
        p.verdict
        for p in work.state.probes
        if p.trial == trial.number and p.verdict.status not in ("correct", "duplicate")
    )


def _best_before(work: OwnedRun, number: int) -> float | None:
    """The best time of the other trials."""
    times = [t.microseconds for t in work.state.done if t.number < number]
    return min((t for t in times if t is not None), default=None)


def _submitted(
    work: OwnedRun, number: int, earlier: float | None, notes: list[str]
) -> Submitted:
    state = work.state
    trial = state.trials[number]
    verdict, learnt, proposal = trial.verdict, trial.learned, trial.proposal
    assert verdict is not None and learnt is not None and proposal is not None
    proposed = trial.proposed
    assert proposed is not None
    parent = state.time_of(trial.parent)
    gained = gain(verdict, parent) if verdict.status == "correct" else None
    best = state.best
    if verdict.measured is None and verdict.microseconds is not None:
        notes.append("the time is predicted by the performance model, not measured")
    return Submitted(
        run=work.run.id,
        trial=number,
        verdict=views.judgement(verdict),
        reward=learnt.reward,
        speedup_over_parent=None if gained is None else factor(gained),
        predicted_speedup=factor(proposal.predicted_gain),
        new_best=views.is_better(trial, earlier),
        best_trial=best.number if best else None,
        best=views.time_of(best.verdict) if best else None,
        learned=tuple(views.changed(trial)),
        advice=advice_for(state, work.space.name, proposed.bottleneck)[:_ADVICE],
        recognised=state.design(number) is not None,
        left=work.left,
        reason_to_stop=work.reason,
        notes=tuple(notes),
    )
