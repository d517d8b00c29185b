"""The operations that answer questions: nothing that they do is a trial.

`check`, `build`, `test` and `bench` are noted in the run's record, so that a report can
tell which mistakes were met on the way; `bench` alone costs time of the GPU, which
counts against the budget. The others leave no trace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from argus import knowledge as base
from argus.agent.budget import cost_of
from argus.agent.session import views
from argus.agent.session.at import At
from argus.agent.session.desk import Desk
from argus.agent.session.results import (
    Benched,
    Built,
    Checked,
    CheckedObligation,
    Counted,
    Explained,
    Found,
    Occupancy,
    Profiled,
    Tested,
)
from argus.agent.tasks.named import require_allowed
from argus.diagnostics import CATALOGUE, fail
from argus.runs.records import (
    Candidate,
    Cost,
    Finding,
    JudgeVerdict,
    Predicted,
    Probed,
    Resources,
    Value,
)

Stage = Literal["tile", "placed", "cuda", "sass"]
_CODE = re.compile(r"AG\d{4}", re.IGNORECASE)
LANGUAGE = "language"
"""The topic of `explain` that is the language itself."""

_Operation = Literal["check", "build", "test", "bench"]


def knowledge(
    desk: Desk, query: str = "", run: str = "", limit: int = 5, *, full: bool = False
) -> Found:
    """Entries of the knowledge base for a query, the best first.

    ``run``: whose kernel to evaluate conditions on; "" for none. A query that is an
    entry's id gives that entry with its text; ``full`` gives the text of all.
    """
    if limit < 1:
        raise fail("AG0908", None, "the limit must be positive")
    features: Mapping[str, Value] = {}
    name = None
    if run:
        with desk.looking(run) as at:
            name, features = at.run.id, at.features()
    known = base.load_entries()
    if query in known:
        found = (views.article(known[query], features, whole=True),)
        return Found(run=name, query=query, entries=found)
    hits = base.search(query, dict(features), limit)
    entries = tuple(
        views.article(h.entry, features, score=h.score, whole=full) for h in hits
    )
    return Found(run=name, query=query, entries=entries)


# ---- about a file --------------------------------------------------------------------


def check(
    desk: Desk,
    source: str,
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Checked:
    """Parse, place, prove, build: what is proved, and where the kernel is wrong."""
    with desk.looking(run) as at:
        candidate = at.candidate(source, kernel, statics)
        desk.tell("proving")
        judge = desk.judge(at, gpu=False)
        verdict = judge.check(at.task.problem, [candidate])[0]
        told: Mapping[str, Any] = {}
        if verdict.status not in ("rejected", "crashed", "hung", "failed"):
            told = judge.inspect(at.task.problem, candidate, "proof")
        verdict = _known(at, verdict)
        _note(at, "check", candidate, verdict)
        obligations: list[dict[str, Any]] = told.get("proof", {}).get("obligations", [])
        assumptions = told.get("proof", {}).get("assumptions", [])
        about: dict[str, Any] | None = told.get("proof", {}).get("specialised")
        return Checked(
            run=at.run.id,
            ok=verdict.status in ("correct", "duplicate"),
            verdict=views.judgement(verdict),
            obligations=tuple(_obligation(o) for o in obligations if _open(o)),
            proved=sum(o["verdict"] == "proved" for o in obligations),
            assumptions=tuple(f"{a['kind']}: {a['text']}" for a in assumptions),
            specialisation=about["text"] if about else "",
            changes_nothing=verdict.status == "duplicate",
        )


def _known(at: At, verdict: JudgeVerdict) -> JudgeVerdict:
    """The verdict, which is "duplicate" where the program was judged before."""
    earlier = at.state.programs().get(verdict.program) if verdict.program else None
    if earlier is None or verdict.status != "correct":
        return verdict
    text = f"the program of trial {earlier}: the edit changes nothing"
    return verdict.model_copy(update={"status": "duplicate", "summary": text})


def _open(obligation: Mapping[str, Any]) -> bool:
    return obligation["verdict"] != "proved"


def _obligation(found: Mapping[str, Any]) -> CheckedObligation:
    return CheckedObligation(
        rule=found["rule"],
        claim=found["claim"],
        line=found["span"]["line"],
        verdict=found["verdict"],
        method=found["method"],
        slow=found["slow"],
        reason=found["reason"],
    )


def build(
    desk: Desk,
    source: str,
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Built:
    """To machine code, with what it takes; a kernel that is not proved is not built."""
    with desk.looking(run) as at:
        candidate = at.candidate(source, kernel, statics)
        desk.tell("building")
        judge = desk.judge(at, gpu=False)
        verdict = _known(at, judge.check(at.task.problem, [candidate])[0])
        _note(at, "build", candidate, verdict)
        took = verdict.resources
        return Built(
            run=at.run.id,
            ok=verdict.status in ("correct", "duplicate"),
            verdict=views.judgement(verdict),
            threads=took.threads if took else None,
            registers=took.registers if took else None,
            shared_bytes=took.shared_bytes if took else None,
            spill_bytes=took.spill_bytes if took else None,
        )


def test(
    desk: Desk,
    source: str,
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Tested:
    """Whether it computes the right thing: at small sizes in the interpreter."""
    with desk.looking(run) as at:
        require_allowed(at.task, desk.execute)
        candidate = at.candidate(source, kernel, statics)
        desk.tell("proving, then running in the interpreter")
        judge = desk.judge(at, gpu=False)
        verdict = judge.simulate(at.task.problem, [candidate])[0]
        _note(at, "test", candidate, verdict)
        ok = verdict.status == "correct"
        return Tested(run=at.run.id, ok=ok, verdict=views.judgement(verdict))


def bench(
    desk: Desk,
    source: str,
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Benched:
    """All that `submit` would do but counting: a dry run for the open proposal.

    Raises ArgusError AG1032 (nothing is proposed) and AG1033 (no dry run is left, or
    the budget is spent).
    """
    with desk.work(run) as at:
        candidate = at.candidate(source, kernel, statics)
        trial = at.open
        if trial is None or trial.parent is None:
            raise fail(
                "AG1032",
                None,
                f"{at.run.id} has no open proposal",
                help=f"argus session next --run {at.run.id}",
            )
        if at.dry_runs == 0:
            raise fail(
                "AG1033",
                None,
                f"no dry run is left for trial {trial.number}",
                help="submit the kernel, or skip the proposal",
            )
        if at.reason.startswith("budget"):
            raise fail(
                "AG1033",
                None,
                f"{at.run.id} has spent its {at.reason}",
                help="submit the kernel, or end the session by `finish`",
            )
        desk.tell("judging, as a dry run")
        judge = desk.judge(at, gpu=True)
        verdict = judge.evaluate(at.task.problem, [candidate])[0]
        verdict = _known(at, verdict)
        event = _probe(at, "bench", candidate, verdict, cost_of(verdict))
        at.run.append(event)
        at.state.apply(event, at.run.get)
        best, time = at.state.best, views.time_of(verdict)
        fastest = best.microseconds if best else None
        return Benched(
            run=at.run.id,
            ok=verdict.status == "correct",
            verdict=views.judgement(verdict),
            kind="measured" if judge.devices else "predicted",
            speedup_over_best=fastest / time.microseconds if fastest and time else None,
            left=at.left,
        )


def _probe(
    at: At,
    operation: _Operation,
    candidate: Candidate,
    verdict: JudgeVerdict,
    cost: Cost,
) -> Probed:
    return Probed(
        trial=at.open.number if at.open else None,
        operation=operation,
        candidate=at.run.put(candidate.model_dump_json()),
        verdict=verdict,
        cost=cost,
    )


def _note(
    at: At, operation: _Operation, candidate: Candidate, verdict: JudgeVerdict
) -> None:
    """Keep a question in the record of a run that goes on."""
    if at.state.finished is None:
        at.run.note(_probe(at, operation, candidate, verdict, Cost()))


# ---- what can be shown ---------------------------------------------------------------


def explain(
    desk: Desk,
    source: str = "",
    run: str = "latest",
    *,
    stage: Stage = "placed",
    topic: str = "",
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Explained:
    """A kernel at a stage of its compilation; what a code means; or the language.

    ``topic``: a code such as AG0301, or "language"; then no kernel is shown. Without a
    source it is the kernel to change. Raises ArgusError AG0910 for an unknown topic.
    """
    if topic:
        return _topic(topic)
    with desk.looking(run) as at:
        candidate = at.candidate(source, kernel, statics) if source else at.base()
        judge = desk.judge(at, gpu=False)
        told = judge.inspect(at.task.problem, candidate, stage)
        return Explained(
            what=f"{candidate.kernel}, {stage}",
            text=str(told.get("text", "")),
            findings=_mistakes(told),
        )


def _topic(topic: str) -> Explained:
    if topic.lower() == LANGUAGE:
        from argus.agent.model.reference import language_guide

        return Explained(what=LANGUAGE, text=language_guide())
    code = topic.upper()
    if not _CODE.fullmatch(code) or code not in CATALOGUE:
        near = [c for c in CATALOGUE if c[:4] == code[:4]]
        raise fail(
            "AG0910",
            None,
            f"there is no code {topic}",
            help=f"{near[0]} to {near[-1]} are near it" if near else None,
        )
    entry = CATALOGUE[code]
    return Explained(what=f"{code}: {entry.title}", text=entry.explanation)


def profile(
    desk: Desk,
    source: str = "",
    run: str = "latest",
    *,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
) -> Profiled:
    """Where the time would go: model, occupancy, bank conflicts, instructions.

    Without a source it is the kernel to change. Nothing is proved and nothing is run.
    """
    with desk.looking(run) as at:
        candidate = at.candidate(source, kernel, statics) if source else at.base()
        desk.tell("building")
        judge = desk.judge(at, gpu=False)
        told = judge.inspect(at.task.problem, candidate, "profile")
        best = at.state.verdict_of(0)
        limit = best.limit_microseconds if best else None
        return _profiled(at.run.id, told, limit)


def _profiled(run: str, told: Mapping[str, Any], limit: float | None) -> Profiled:
    if "resources" not in told:
        return Profiled(run=run, ok=False, findings=_mistakes(told))
    predicted = None
    if told["predicted"] is not None:
        predicted = Predicted.model_validate(told["predicted"])
    share: dict[str, float] = {}
    if predicted is not None:
        whole = predicted.microseconds
        parts = sorted(predicted.parts.items(), key=lambda pair: -pair[1])
        share = {name: time / whole for name, time in parts}
    notes = ["times are predicted by the performance model"]
    if told["not_predicted"]:
        notes = [f"the model cannot predict it: {told['not_predicted']}"]
    if told["not_counted"]:
        notes.append(f"instructions are not counted: {told['not_counted']}")
    return Profiled(
        run=run,
        ok=True,
        predicted=predicted,
        share=share,
        limit_microseconds=limit,
        occupancy=Occupancy.model_validate(told["occupancy"]),
        resources=Resources.model_validate(told["resources"]),
        cluster=told["cluster"],
        bank_conflicts=_counted(told["bank_conflicts"]),
        sectors=_counted(told["sectors"]),
        access_bytes=_counted(told["access_bytes"]),
        uncounted=tuple(told["uncounted"]),
        instructions=dict(told["instructions"]),
        notes=tuple(notes),
    )


def _counted(found: Mapping[str, Any] | None) -> Counted | None:
    return None if found is None else Counted.model_validate(found)


def _mistakes(told: Mapping[str, Any]) -> tuple[views.Mistake, ...]:
    found = [Finding.model_validate(f) for f in told.get("findings", [])]
    return tuple(views.mistake(f) for f in found)
