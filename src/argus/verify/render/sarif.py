"""A report as SARIF 2.1.0, the format that CI systems read.

Refuted obligations are results of level "error" ("warning" if they are only slow, or
numerically unsafe),
undecided ones of level "warning" and kind "open". Proved obligations are no results.
The chain of an element and the interleaving of roles become a code flow.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from argus.diagnostics import Span, lookup
from argus.verify.render import words
from argus.verify.render.diagnostics import of_obligation, risks
from argus.verify.verdict import Obligation, Report, Verdict

if TYPE_CHECKING:
    from argus.diagnostics import Diagnostic, Json

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(reports: Sequence[Report], version: str) -> dict[str, Json]:
    """One run over several kernels. ``version`` is that of Argus."""
    pairs = [
        (report, obligation, diagnostic)
        for report in reports
        for obligation in report.obligations
        for diagnostic in of_obligation(obligation, report.target)
    ]
    pairs += [
        (report, obligation, diagnostic)
        for report in reports
        for obligation, diagnostic in zip(report.risks, risks(report), strict=True)
    ]
    rules = list(dict.fromkeys(d.code for _, _, d in pairs))
    driver: dict[str, Json] = {
        "name": "Argus",
        "version": version,
        "rules": [_rule(code) for code in rules],
    }
    results: list[Json] = [_result(r, o, d, rules.index(d.code)) for r, o, d in pairs]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"kernels": [_kernel(report) for report in reports]},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _kernel(report: Report) -> Json:
    """What was checked: proved obligations are no results."""
    found = report.specialised
    return {
        "kernel": report.kernel,
        "target": report.target,
        "verdict": str(report.verdict),
        "equality": None
        if report.equality is None
        else words.equality(report.equality, report.verdict),
        "specialisations": None if found is None else found.text,
        "refused": []
        if found is None
        else [f"{r.text}: {r.code} {r.message}" for r in found.refused],
        "leftOut": [] if found is None else list(found.left),
    }


def _rule(code: str) -> dict[str, Json]:
    entry = lookup(code)
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.explanation},
    }


def _result(
    report: Report, obligation: Obligation, shown: Diagnostic, index: int
) -> dict[str, Json]:
    undecided = obligation.verdict is Verdict.UNKNOWN
    advice = obligation.slow or shown.severity == "warning"
    level = "warning" if undecided or advice else "error"
    lines = [f"{name}: {text}" if name else text for name, text in shown.evidence]
    lines += [*shown.notes, *([f"help: {shown.help}"] if shown.help else [])]
    text = "\n".join([f"{shown.message} (kernel {report.kernel})", *lines])
    result: dict[str, Json] = {
        "ruleId": shown.code,
        "ruleIndex": index,
        "kind": "open" if undecided else "fail",
        "message": {"text": text},
        "locations": [_location(obligation.span)],
        "properties": {
            "kernel": report.kernel,
            "target": report.target,
            "specialisation": obligation.specialisation,
        },
    }
    # "level" other than "none" goes with kind "fail" only.
    result["level"] = "none" if undecided else level
    flows = _flows(obligation)
    if flows:
        result["codeFlows"] = flows
    return result


def _flows(obligation: Obligation) -> list[Json]:
    found = obligation.counterexample
    if found is None:
        return []
    threads: list[Json] = []
    for operand in found.operands:
        steps = [(s.span, f"{operand.label}: {s.text}") for s in operand.chain]
        if steps:
            threads.append(_thread([*steps, (obligation.span, found.message)]))
    if found.interleaving:
        events = found.interleaving
        steps = [(e.span, f"{e.role}: {words.event(e)}") for e in events]
        threads.append(_thread(steps))
    return [{"threadFlows": threads}] if threads else []


def _thread(steps: Iterable[tuple[Span, str]]) -> Json:
    return {
        "locations": [
            {"location": {**_location(span), "message": {"text": text}}}
            for span, text in steps
        ]
    }


def _location(span: Span) -> dict[str, Json]:
    region: dict[str, Json] = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(span.file)},
            "region": region,
        }
    }


def _uri(file: str) -> str:
    """Relative to where the command runs, if the file lies below it."""
    path, here = Path(file), Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    name = quote(path.as_posix().encode("utf-8", "surrogateescape"))
    return f"file://{name}" if path.is_absolute() else name
