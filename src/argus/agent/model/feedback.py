"""Verdicts for a language model to read: rule, line, thread, element, replay."""

from __future__ import annotations

import json
import re

from argus.evaluation.judge.findings import said
from argus.runs.records import Finding, JudgeVerdict

MOST_FINDINGS = 3
LONGEST_TEXT = 2500
"""Characters of one rendered finding."""
LONGEST_RECORD = 2500
"""Characters of one counterexample's record."""

_PATH = re.compile(r"(?<![\w.)\]])/(?:[\w.+@~-]+/)+(?=[\w.-])")
"""Folders of this machine, which no provider needs to know."""

_WORDS = {
    "rejected": "is not a program that can be compiled",
    "refuted": "is wrong, and the compiler shows a case",
    "unknown": "could not be proved",
    "unbuildable": "cannot be built",
    "duplicate": "changes nothing",
    "hung": "took longer to compile than it may",
    "crashed": "ended the compiler's process",
    "wrong": "computes something else",
}


def unusable(why: str) -> JudgeVerdict:
    """An answer that is no kernel."""
    return _own("AG1062", why, "rejected")


def unchanged(why: str) -> JudgeVerdict:
    """An edit that is none."""
    return _own("AG1063", why, "duplicate")


def _own(code: str, why: str, status: str) -> JudgeVerdict:
    finding = said(code, why)
    text = f"{code}: {why}"
    return JudgeVerdict.model_validate(
        {
            "status": status,
            "stage": "parse",
            "findings": (finding,),
            "summary": text,
        }
    )


def told(verdict: JudgeVerdict) -> str:
    """A verdict on an attempt, as text."""
    words = _WORDS.get(verdict.status, f"was judged: {verdict.status}")
    parts = [f"Your kernel {words}."]
    if not verdict.findings:
        parts.append(verdict.summary)
    parts += [_finding(f) for f in verdict.findings[:MOST_FINDINGS]]
    more = len(verdict.findings) - MOST_FINDINGS
    if more > 0:
        parts.append(f"There are {more} more findings of this kind.")
    return "\n\n".join(p for p in parts if p)


def _finding(finding: Finding) -> str:
    where = f", line {finding.line}" if finding.line is not None else ""
    text = _PATH.sub("", finding.text or finding.message)
    parts = [f"{finding.code}{where}:", _cut(text, LONGEST_TEXT)]
    if finding.counterexample:
        record = json.dumps(_short(finding.counterexample), separators=(",", ":"))
        parts.append(f"Counterexample: {_cut(record, LONGEST_RECORD)}")
    return "\n".join(parts)


def _short(record: dict[str, object]) -> dict[str, object]:
    """What is not in the text already, or is said better by a record."""
    kept = ("place", "sizes", "operands", "interleaving", "replayed")
    return {k: _lines_only(record[k]) for k in kept if record.get(k)}


def _lines_only(value: object) -> object:
    """Spans are long: their line says as much."""
    match value:
        case {"line": int(line), "file": str()}:
            return line
        case dict():
            items: dict[object, object] = value  # pyright: ignore[reportUnknownVariableType]
            return {k: _lines_only(v) for k, v in items.items()}
        case list() | tuple():
            many: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return [_lines_only(v) for v in many]
        case _:
            return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 6] + " [...]"
