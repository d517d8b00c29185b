"""Kernels that were checked as SARIF 2.1.0, the format that CI systems read.

What a kernel or its source is refused for, and refuted obligations, are results of
level "error" ("warning" if they are only slow, or numerically unsafe), undecided ones
of kind "open". Proved obligations are no results.
The chain of an element and the interleaving of roles become a code flow.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from argus.diagnostics import Span, lookup
from argus.verify.render import words
from argus.verify.render.checked import CheckedKernel
from argus.verify.render.diagnostics import of_obligation, risks
from argus.verify.verdict import Obligation, Verdict

if TYPE_CHECKING:
    from argus.diagnostics import Diagnostic, Json

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(checked: Sequence[CheckedKernel], version: str) -> dict[str, Json]:
    """One run over several kernels. ``version`` is that of Argus."""
    found = [x for one in checked for x in _found(one)]
    rules = list(dict.fromkeys(x.shown.code for x in found))
    driver: dict[str, Json] = {
        "name": "Argus",
        "version": version,
        "rules": [_rule(code) for code in rules],
    }
    results: list[Json] = [_result(x, rules.index(x.shown.code)) for x in found]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"kernels": [_kernel(one) for one in checked]},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


@dataclass(frozen=True)
class _Found:
    """A diagnostic of a kernel; ``obligation`` is None for a mistake of its source."""

    kernel: CheckedKernel
    shown: Diagnostic
    obligation: Obligation | None = None


def _found(checked: CheckedKernel) -> Iterable[_Found]:
    for shown in checked.mistakes:
        yield _Found(checked, shown)
    report = checked.report
    if report is None:
        return
    for obligation in report.obligations:
        for shown in of_obligation(obligation, report.target):
            yield _Found(checked, shown, obligation)
    for obligation, shown in zip(report.risks, risks(report), strict=True):
        yield _Found(checked, shown, obligation)


def _kernel(checked: CheckedKernel) -> Json:
    """What was checked: proved obligations are no results."""
    report = checked.report
    found = None if report is None else report.specialised
    return {
        "kernel": checked.name,
        "label": checked.label,
        "target": checked.target,
        "verdict": checked.verdict,
        "equality": None
        if report is None or report.equality is None
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


def _result(found: _Found, index: int) -> dict[str, Json]:
    obligation, shown = found.obligation, found.shown
    undecided = obligation is not None and obligation.verdict is Verdict.UNKNOWN
    advice = shown.severity != "error"
    level = "warning" if undecided or advice else "error"
    lines = [f"{name}: {text}" if name else text for name, text in shown.evidence]
    lines += [*shown.notes, *([f"help: {shown.help}"] if shown.help else [])]
    text = "\n".join([f"{shown.message} (kernel {found.kernel.label})", *lines])
    result: dict[str, Json] = {
        "ruleId": shown.code,
        "ruleIndex": index,
        "kind": "open" if undecided else "fail",
        "message": {"text": text},
        "locations": [] if shown.span is None else [_location(shown.span)],
        "properties": {
            "kernel": found.kernel.name,
            "target": found.kernel.target,
            "specialisation": "" if obligation is None else obligation.specialisation,
        },
    }
    # "level" other than "none" goes with kind "fail" only.
    result["level"] = "none" if undecided else level
    others: list[Json] = [
        {**_location(x.span), "message": {"text": x.text}} for x in shown.related
    ]
    if others:
        result["relatedLocations"] = others
    flows = [] if obligation is None else _flows(obligation)
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
