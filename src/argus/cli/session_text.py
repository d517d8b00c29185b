"""The answers of a session's operations as text for a terminal, of any width."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.report.words import duration

if TYPE_CHECKING:
    from argus.agent.session.results import (
        Article,
        Benched,
        Built,
        Checked,
        Counted,
        Ended,
        Explained,
        Found,
        Idea,
        Judgement,
        Left,
        Mistake,
        Next,
        Profiled,
        Row,
        Standing,
        StartedRun,
        Submitted,
        Tested,
        Time,
    )
    from argus.cli.output import Output
    from argus.runs.records import StrictModel


def show(out: Output, answer: StrictModel) -> None:
    """The answer as text, by its type; field by field where it has no text yet."""
    from argus.agent.session import results as r

    match answer:
        case r.StartedRun():
            started(out, answer)
        case r.Next():
            proposed(out, answer)
        case r.Found():
            found(out, answer)
        case r.Checked():
            checked(out, answer)
        case r.Built():
            built(out, answer)
        case r.Explained():
            explained(out, answer)
        case r.Tested():
            tested(out, answer)
        case r.Benched():
            benched(out, answer)
        case r.Profiled():
            profiled(out, answer)
        case r.Submitted():
            submitted(out, answer)
        case r.Standing():
            standing(out, answer)
        case r.Ended():
            ended(out, answer)
        case _:
            fields = answer.plain().items()
            out.fields([(name, json.dumps(value)) for name, value in fields])


def started(out: Output, a: StartedRun) -> None:
    """The task."""
    out.line(f"{a.task}: {a.where}", style="bold", indent=2)
    out.line(a.description, indent=2)
    shapes = [
        f"{t.name} {t.dtype}[{' '.join(map(str, t.shape))}] {t.role}" for t in a.tensors
    ]
    out.fields(
        [
            ("run", a.run),
            ("tensors", "; ".join(shapes)),
            ("target", a.target),
            ("start", _judged(a.verdict)),
            ("limit", _limit(a.verdict.limit_microseconds)),
        ]
    )
    for name, took in a.verdict.baselines.items():
        out.line(f"{name} takes {duration(took)}")
    if a.reference:
        out.raw(a.reference)
    _mistakes(out, a.verdict.findings)
    for note in a.notes:
        out.line(note, indent=2)
    out.line()
    for rule in a.rules:
        out.line(f"- {rule}", indent=2)
    out.line()
    out.line(f"next: argus session next --run {a.run}", indent=2)


def proposed(out: Output, a: Next) -> None:
    """A proposal, what else there is, what is known."""
    if a.proposal is None:
        out.line(f"Nothing to try: {a.reason}.", style="bold")
        _notes(out, a.notes)
        return
    out.line(f"trial {a.trial}: {a.proposal.optimisation}", style="bold", indent=2)
    _idea(out, a.proposal)
    parent = "" if a.parent_time is None else f", {_time(a.parent_time)}"
    limited = f"; limited by {a.bottleneck}" if a.bottleneck else ""
    rows = [("change", f"trial {a.parent_trial}{parent}{limited}")]
    if a.draft is not None:
        rows.append(("draft", f"kernel `{a.draft.kernel}`: see --draft FILE"))
    out.fields(rows)
    if a.alternatives:
        out.line("or:", style="bold")
    for one in a.alternatives:
        text = f"- {one.optimisation}, {one.predicted_speedup:.2f}x: {one.where}"
        out.line(text, indent=2)
    if a.advice:
        out.line("learnt before:", style="bold")
    for sentence in a.advice:
        out.line(f"- {sentence}", indent=2)
    for entry in a.knowledge:
        _article(out, entry)
    _left(out, a.left)
    _notes(out, a.notes)


def _idea(out: Output, one: Idea) -> None:
    rows = [
        ("what", one.where),
        ("gain", f"{one.predicted_speedup:.2f}x expected: {one.reason}"),
    ]
    if one.edit:
        rows.append(("edit", " ".join(f"{k}={v}" for k, v in one.edit.items())))
    rows += [("assert", text) for text in one.invariants]
    if one.depends_on:
        rows.append(("after", ", ".join(one.depends_on)))
    out.fields(rows)


def found(out: Output, a: Found) -> None:
    """Entries of the knowledge base."""
    for entry in a.entries:
        _article(out, entry)
    if not a.entries:
        out.line("Nothing is known of that. Without words, all entries are listed.")


def _article(out: Output, e: Article) -> None:
    low, high = e.typical_speedup
    applies = {True: "applies", False: "does not apply", None: "may apply"}[e.applies]
    out.line(f"{e.id}: {e.title}", style="bold", indent=2)
    why = f" ({e.why})" if e.why else ""
    out.line(f"  {low:.2f}x to {high:.2f}x, {e.basis}; {applies}{why}", indent=4)
    if e.body:
        out.raw(e.body)


def checked(out: Output, a: Checked) -> None:
    """What is proved, and every mistake."""
    _verdict(out, a.verdict)
    out.line(f"{a.proved} obligations proved")
    for one in a.obligations:
        sort = "slow" if one.slow else one.verdict
        out.line(f"{sort:<8} line {one.line}: {one.claim}", indent=9)
    for text in a.assumptions:
        out.line(text, indent=2)


def built(out: Output, a: Built) -> None:
    """Resources."""
    _verdict(out, a.verdict)
    if a.threads is not None:
        out.fields(
            [
                ("registers", f"{_known(a.registers)} per thread"),
                ("threads", f"{a.threads} per block"),
                ("shared", f"{a.shared_bytes} bytes per block"),
                ("spills", f"{_known(a.spill_bytes)} bytes per thread"),
            ]
        )


def explained(out: Output, a: Explained) -> None:
    """The text, as it is."""
    _mistakes(out, a.findings)
    if a.text:
        out.raw(a.text)


def tested(out: Output, a: Tested) -> None:
    """Whether it is right."""
    _verdict(out, a.verdict)
    if a.verdict.error is not None:
        out.line(f"error {a.verdict.error:.1e} in {a.where}")


def benched(out: Output, a: Benched) -> None:
    """The time of a dry run."""
    _verdict(out, a.verdict)
    _beside(out, a.verdict)
    if a.speedup_over_best is not None:
        out.line(f"{a.speedup_over_best:.3f}x as fast as the best so far ({a.kind})")
    _left(out, a.left)


def profiled(out: Output, a: Profiled) -> None:
    """Where the time goes."""
    _mistakes(out, a.findings)
    if not a.ok:
        return
    if a.predicted is not None:
        took = duration(a.predicted.microseconds)
        text = f"{took} predicted, limited by {a.predicted.bottleneck}"
        out.line(text, style="bold", indent=2)
        rows = [
            (name, f"{share:4.0%} {duration(a.predicted.parts[name])}")
            for name, share in a.share.items()
        ]
        out.fields(rows)
        out.line(f"limit: {_limit(a.limit_microseconds)}")
    if a.occupancy is not None:
        out.line(
            f"{a.occupancy.blocks} blocks per multiprocessor, limited by "
            f"{a.occupancy.limited_by}",
            indent=2,
        )
    _counted(out, "bank conflicts", a.bank_conflicts, "wavefronts")
    _counted(out, "global access", a.sectors, "sectors")
    _counted(out, "narrowest access", a.access_bytes, "bytes per thread")
    if a.instructions:
        whole = sum(a.instructions.values())
        text = ", ".join(f"{k} {n}" for k, n in a.instructions.items())
        out.line(f"{whole} instructions stand in the code: {text}", indent=2)
    for text in a.uncounted:
        out.line(f"not counted: {text}", indent=2)
    _notes(out, a.notes)


def _counted(out: Output, name: str, one: Counted | None, unit: str) -> None:
    if one is None:
        return
    better = "" if one.value == one.ideal else f", ideally {one.ideal}"
    where = f"line {one.line}, {one.what}"
    out.line(f"{name}: {one.value} {unit}{better} ({where})", indent=2)


def submitted(out: Output, a: Submitted) -> None:
    """The verdict, the reward, and what was learnt."""
    out.line(f"trial {a.trial}", style="bold")
    _verdict(out, a.verdict)
    _beside(out, a.verdict)
    rows = [("reward", f"{a.reward:+.3f}")]
    if a.speedup_over_parent is not None:
        told = f"{a.speedup_over_parent:.3f}x, {a.predicted_speedup:.3f}x was expected"
        rows.append(("gain", told))
    if a.best is not None:
        new = "new best" if a.new_best else f"trial {a.best_trial}"
        rows.append(("best", f"{_time(a.best)}, {new}"))
    out.fields(rows)
    for text in a.learned:
        out.line(f"learnt: {text}", indent=2)
    for sentence in a.advice:
        out.line(f"- {sentence}", indent=2)
    _left(out, a.left)
    if a.reason_to_stop:
        out.line(f"time to stop: {a.reason_to_stop}", style="bold")
    _notes(out, a.notes)


def standing(out: Output, a: Standing) -> None:
    """Trials, the best, the budget."""
    out.line(f"{a.run}  {a.state}", style="bold")
    out.line(a.task)
    for one in a.trials:
        _row(out, one, a.best_trial)
    if a.proposal is not None:
        text = f"{a.open_trial:>3} open: {a.proposal.optimisation}, {a.proposal.where}"
        out.line(text, indent=4)
    rows: list[tuple[str, str]] = []
    if a.best is not None:
        rows.append(("best", f"{_time(a.best)}, trial {a.best_trial}"))
    rows.append(("limit", _limit(a.limit_microseconds)))
    rows += [(name, duration(took)) for name, took in a.baselines.items()]
    if a.finished:
        rows.append(("ended", a.finished))
    rows.append(("report", a.report or f"`argus report {a.run}` writes one"))
    out.fields(rows)
    _left(out, a.left)
    if a.reason_to_stop and not a.finished:
        out.line(f"time to stop: {a.reason_to_stop}", style="bold")
    _notes(out, a.notes)


def ended(out: Output, a: Ended) -> None:
    """The end: best kernel and ablation."""
    out.line(f"{a.run} has ended: {a.reason}", style="bold", indent=2)
    if a.best is None:
        out.line("No correct kernel was found.", style="bold red")
    else:
        out.line(f"best: {_time(a.best)}, trial {a.best_trial} of {a.trials}", indent=6)
        if a.start is not None:
            factor = a.start.microseconds / a.best.microseconds
            out.line(f"start: {_time(a.start)}, the best is {factor:.2f}x as fast")
        for name, took in a.baselines.items():
            out.line(f"{name}: {duration(took)}")
        out.line(f"limit: {_limit(a.limit_microseconds)}")
    if a.ablation:
        out.line("the best kernel without", style="bold")
    for one in a.ablation:
        names = " + ".join(one.without)
        took = one.status
        if one.microseconds is not None and one.slower is not None:
            took = f"{duration(one.microseconds)}, {one.slower:.2f}x the time"
        out.line(f"  {names}: {took}", indent=4)
    if a.policy:
        out.line(f"learnt: {a.policy}", indent=2)
    if a.report:
        out.line(f"report: {a.report}", indent=2)
    _notes(out, a.notes)


# ---- parts ---------------------------------------------------------------------------


def _verdict(out: Output, verdict: Judgement) -> None:
    good = verdict.status in ("correct", "duplicate")
    style = "green" if good else "bold red"
    summary = "" if verdict.findings else f": {verdict.summary}"
    out.line(f"{verdict.status}{summary}", style=style, indent=2)
    _mistakes(out, verdict.findings)
    if verdict.equality is not None and good:
        out.line(verdict.equality.words, indent=2)
    if verdict.time is not None:
        out.line(_time(verdict.time))


def _mistakes(out: Output, findings: Sequence[Mistake]) -> None:
    for one in findings:
        out.raw(one.text or f"{one.code}: {one.message}")


def _beside(out: Output, verdict: Judgement) -> None:
    for name, took in verdict.baselines.items():
        out.line(f"{name} took {duration(took)}")


def _judged(verdict: Judgement) -> str:
    return verdict.status if verdict.time is None else _time(verdict.time)


def _time(time: Time) -> str:
    return f"{duration(time.microseconds)} {time.kind}"


def _limit(limit: float | None) -> str:
    # 0 where nothing is known of the work: a user's reference.
    return f"{duration(limit)} at the speed of light" if limit else "not known"


def _known(value: int | None) -> str:
    return "?" if value is None else str(value)


def _row(out: Output, one: Row, best: int | None) -> None:
    took = one.status or "open"
    if one.microseconds is not None:
        took = f"{duration(one.microseconds)} {one.kind}"
    reward = "" if one.reward is None else f" {one.reward:+.2f}"
    note = f": {one.note}" if one.note else ""
    style = "green" if one.trial == best else ""
    text = f"{one.trial:>3} {one.optimisation} {took}{reward}{note}"
    out.line(text, style=style, indent=4)


def _left(out: Output, left: Left) -> None:
    limits = {k: v for k, v in left.model_dump().items() if v is not None}
    words = [f"{k.replace('_', ' ')} {json.dumps(v)}" for k, v in limits.items()]
    out.line(f"left: {', '.join(words)}", indent=2)


def _notes(out: Output, notes: Sequence[str]) -> None:
    for note in notes:
        out.line(f"note: {note}", indent=6)
