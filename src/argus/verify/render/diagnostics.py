"""Obligations as diagnostics: what `argus check` prints.

    error[AG0301]: elements that do not share K are multiplied
      --> gemm.py:21:23
       |
    21 |     acc = ag.dot(slot.a, slot.b.T, acc)
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ K = 208 and K = 144
       |
       = thread 165 (role math, warp 5, lane 5), block 0, k = 192
       = left: M = 37, K = 208 at element (37, 16); loaded into slot 3 at gemm.py:15
       = right: N = 0, K = 144 at element (16, 0); loaded into slot 3 at gemm.py:16

A proved obligation has no diagnostic. The text never says more than the obligation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from argus.diagnostics import Diagnostic
from argus.diagnostics.catalogue import lookup
from argus.targets import TARGETS
from argus.verify.evidence import Counterexample
from argus.verify.render import words
from argus.verify.verdict import Obligation, Report, Verdict

DISAGREEMENT = "AG0319"
_MEANING = "AG0322"
"""What a kernel computes: nobody can be trusted with that beside its reference."""
_TRUST = 'accept it with `ag.trust("reason")` on the line before, if you know why'
_TOLD = 3
"""Undecided obligations of one reason that are told one by one."""


def diagnostics(report: Report) -> tuple[Diagnostic, ...]:
    """What is wrong, not decided or slow, the worst first: see :func:`told`."""
    return tuple(d for _, found in told(report) for d in found)


def told(report: Report) -> Iterable[tuple[Obligation, tuple[Diagnostic, ...]]]:
    """The obligations that people are told, each with its diagnostics.

    Where one reason leaves many obligations undecided, the first is told and the others
    are counted: the report as JSON has them all.
    """
    by_reason: dict[str, list[Obligation]] = {}
    for x in report.obligations:
        if x.verdict is Verdict.UNKNOWN and not x.slow:
            by_reason.setdefault(x.reason, []).append(x)
    for x in report.obligations:
        alike = by_reason.get(x.reason, [])
        if x.verdict is not Verdict.UNKNOWN or x.slow or len(alike) <= _TOLD:
            found = tuple(of_obligation(x, report.target))
        elif x is alike[0]:
            found = (_and_more(unknown(x), alike[1:]),)
        else:
            found = ()
        if found:
            yield x, found


def risks(report: Report) -> tuple[Diagnostic, ...]:
    """What is numerically unsafe, as warnings."""
    lanes = TARGETS[report.target].warp_threads
    found = (refuted(x, lanes) for x in report.risks)
    return tuple(replace(d, severity="warning") for d in found)


def _and_more(first: Diagnostic, others: list[Obligation]) -> Diagnostic:
    rules = ", ".join(sorted({x.rule for x in others}))
    lines = sorted({x.span.line for x in others})
    where = f"lines {lines[0]} to {lines[-1]}" if lines[1:] else f"line {lines[0]}"
    note = (
        f"for the same reason {len(others)} other obligations are not decided, "
        f"at {where}: {rules}"
    )
    return replace(first, notes=(*first.notes, note))


def of_obligation(obligation: Obligation, target: str) -> Iterable[Diagnostic]:
    """Its diagnostic; none if it is proved, a second one if a replay disagrees.

    ``target``: the name of that which the program is for.
    """
    match obligation.verdict:
        case Verdict.PROVED | Verdict.EQUAL:
            return
        case Verdict.UNKNOWN:
            yield unknown(obligation)
        case Verdict.REFUTED:
            yield refuted(obligation, TARGETS[target].warp_threads)
            found = obligation.counterexample
            if found is not None and found.replayed is False:
                yield _disagreement(obligation, found)


def refuted(obligation: Obligation, lanes: int) -> Diagnostic:
    """A counterexample, for people; a warp has so many ``lanes``."""
    found = obligation.counterexample
    severity = "slow" if obligation.slow else "error"
    if found is None:
        return Diagnostic(
            obligation.rule,
            lookup(obligation.rule).title,
            obligation.span,
            label=f"does not hold: {obligation.claim}",
            severity=severity,
            evidence=tuple(_specialisation(obligation)),
        )
    return Diagnostic(
        obligation.rule,
        found.message,
        obligation.span,
        label=found.label or None,
        notes=found.notes,
        help=found.help,
        severity=severity,
        evidence=(*evidence(found, lanes), *_specialisation(obligation)),
    )


def _specialisation(obligation: Obligation) -> Iterable[tuple[str, str]]:
    if obligation.specialisation:
        yield "specialisation", obligation.specialisation


def evidence(found: Counterexample, lanes: int) -> Iterable[tuple[str, str]]:
    """The concrete case, line by line."""
    who = words.place(found.place, lanes)
    if who:
        yield "", who
    for one in found.operands:
        yield one.label, words.operand(one)
    for i, event in enumerate(found.interleaving, 1):
        yield f"{i}. {event.role}", words.event(event)
    if found.sizes:
        yield "sizes", words.values(found.sizes)
    said = words.replay(found)
    if said is not None:
        yield "replay", said


def unknown(obligation: Obligation) -> Diagnostic:
    """An obligation that is not decided: what was to be shown, and what was missing."""
    entry = lookup(obligation.rule)
    # A rule that is itself about not knowing says so with its own code.
    code = obligation.rule if obligation.rule.startswith("AG039") else "AG0390"
    notes = [obligation.reason or "no reason was given"]
    if code != obligation.rule:
        notes.append(f"what is at stake is {obligation.rule}: {entry.title}")
    return Diagnostic(
        code,
        f"it is not known whether {obligation.claim}",
        obligation.span,
        notes=tuple(notes),
        help=None if obligation.rule == _MEANING else _TRUST,
        severity="slow" if obligation.slow else "error",
        evidence=tuple(_specialisation(obligation)),
    )


def _disagreement(obligation: Obligation, found: Counterexample) -> Diagnostic:
    return Diagnostic(
        DISAGREEMENT,
        f"the interpreter does not confirm {obligation.rule} at this line",
        obligation.span,
        notes=(
            f"it ran the kernel at {words.values(found.sizes) or 'these sizes'} and "
            "found nothing wrong",
            "one of the two is wrong: this is a bug of Argus, not of the kernel",
        ),
    )
