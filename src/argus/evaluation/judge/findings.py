"""Verdicts from what went wrong: diagnostics, reports of the verifier, faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.diagnostics import ArgusError, Diagnostic, render
from argus.evaluation.equal.proof import obligation_of
from argus.evaluation.equal.witness import Witness
from argus.interpret import Fault
from argus.ir.program import Program
from argus.requests import Request
from argus.runs.records import Finding, JudgeVerdict, Stage, Status
from argus.verify.render.data import report_json
from argus.verify.render.diagnostics import of_obligation
from argus.verify.verdict import Report
from argus.verify.verdict import Verdict as Proved

MOST = 8
"""Findings of one verdict: the worst ones are first, and the rest says little more."""


def finding(diagnostic: Diagnostic) -> Finding:
    """A diagnostic as a record, with its rendered text."""
    span = diagnostic.span
    return Finding(
        code=diagnostic.code,
        message=diagnostic.message,
        line=None if span is None else span.line,
        text=render(diagnostic),
    )


def findings_of(error: ArgusError) -> tuple[Finding, ...]:
    """The errors of an exception."""
    errors = [d for d in error.diagnostics if d.severity == "error"]
    return tuple(finding(d) for d in errors[:MOST])


def said(code: str, message: str, notes: Sequence[str] = ()) -> Finding:
    """A finding about no line."""
    return finding(Diagnostic(code, message, None, notes=tuple(notes)))


def verdict(
    status: Status, stage: Stage, found: Iterable[Finding], summary: str = ""
) -> JudgeVerdict:
    """A verdict whose summary is its first finding's message, unless given."""
    findings = tuple(found)[:MOST]
    if not summary:
        summary = f"{findings[0].code}: {findings[0].message}" if findings else status
    return JudgeVerdict(status=status, stage=stage, findings=findings, summary=summary)


def of_report(report: Report, wanted: Proved) -> tuple[Finding, ...]:
    """Obligations of a report that are ``wanted`` (refuted or unknown), and binding."""
    found: list[Finding] = []
    data = report_json(report)["obligations"]
    assert isinstance(data, list)
    for obligation, record in zip(report.obligations, data, strict=True):
        if obligation.slow or obligation.verdict is not wanted:
            continue
        assert isinstance(record, dict)
        evidence = record["counterexample"]
        for diagnostic in list(of_obligation(obligation, report.target))[:1]:
            made = finding(diagnostic)
            if isinstance(evidence, dict):
                made = made.model_copy(update={"counterexample": dict(evidence)})
            found.append(made)
    return tuple(found[:MOST])


def of_witness(
    witness: Witness, request: Request, program: Program
) -> tuple[Finding, ...]:
    """What a witness refutes; ``program``: what the request is typed as."""
    refuted = obligation_of(witness, request, program)
    report = Report(request.kernel.name, request.target, (refuted,))
    return of_report(report, Proved.REFUTED)


def of_faults(faults: Sequence[Fault]) -> tuple[Finding, ...]:
    """What the interpreter met."""
    return tuple(
        Finding(
            code="AG1014",
            message=f"{fault.kind}: {fault.message}",
            line=None if fault.span is None else fault.span.line,
            text=str(fault),
        )
        for fault in faults[:MOST]
    )
