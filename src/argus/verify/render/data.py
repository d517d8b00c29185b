"""A report as JSON, and back: for tools, and for the cache of results.

    {"version": 1, "kernel": ..., "target": ..., "verdict": "proved",
     "analyses": {"tags": 0.31, ...},                      seconds
     "obligations": [{"rule", "title", "claim", "span", "verdict", "method", "reason",
                      "slow", "specialisation", "counterexample": null or {...}}],
     "assumptions": [{"kind", "text", "span"}],
     "specialised": null or {
         "text", "count",
         "programs": [{"text", "verdict", "dtypes": {...}, "facts": {...}}],
         "refused": [{"text", "code", "message"}], "left": ["..."]},
     "equality": null or {"reference", "shown", "reason", "span": null or {...},
                          "axioms": ["..."], "tried"},
     "settled": [obligations that equality decides instead],
     "risks": [obligations on numerical safety, which do not bind]}

    counterexample: {"message", "label", "place": {"role", "thread", "block",
                     "iteration"}, "sizes", "operands": [{"label", "tag", "coordinate",
                     "chain": [{"text", "span"}]}], "interleaving": [{"role", "text",
                     "span", "iteration"}], "notes", "help", "replayed"}

These keys are always there. ``version`` grows if one changes its meaning. A span has
file, line, column, end_line and end_column, which count from 1, the end exclusive.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from argus.diagnostics import Span, lookup
from argus.verify.evidence import (
    Counterexample,
    Event,
    OperandElement,
    Step,
    ThreadPlace,
)
from argus.verify.verdict import (
    Assumption,
    Equality,
    Obligation,
    Placed,
    Refused,
    Report,
    Specialised,
    Verdict,
)

if TYPE_CHECKING:
    from argus.diagnostics import Json

VERSION = 1


def report_json(report: Report) -> dict[str, Json]:
    """The report; see the module for its keys."""
    return {
        "version": VERSION,
        "kernel": report.kernel,
        "target": report.target,
        "verdict": str(report.verdict),
        "analyses": dict(report.seconds),
        "obligations": [_obligation(o) for o in report.obligations],
        "assumptions": [
            {"kind": a.kind, "text": a.text, "span": {**a.span.to_json()}}
            for a in report.assumptions
        ],
        "specialised": _specialised(report.specialised),
        "equality": None
        if report.equality is None
        else _plain(asdict(report.equality)),
        "settled": [_obligation(o) for o in report.settled],
        "risks": [_obligation(o) for o in report.risks],
    }


def _specialised(found: Specialised | None) -> Json:
    if found is None:
        return None
    data: dict[str, Json] = _plain(asdict(found))
    data["programs"] = [
        {**_plain(asdict(p)), "verdict": str(p.verdict)} for p in found.programs
    ]
    return data


def _obligation(o: Obligation) -> dict[str, Json]:
    found = o.counterexample
    return {
        "rule": o.rule,
        "title": lookup(o.rule).title,
        "claim": o.claim,
        "span": {**o.span.to_json()},
        "verdict": str(o.verdict),
        "method": o.method,
        "reason": o.reason,
        "slow": o.slow,
        "specialisation": o.specialisation,
        # Its fields are plain values, records and tuples of them.
        "counterexample": None if found is None else _plain(asdict(found)),
    }


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case tuple() | list():
            return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        case bool() | int() | float() | str() | None:
            return value
        case np.integer():  # of enumerated cases
            return int(value)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            raise TypeError(f"{type(value).__name__} in a counterexample")


# ------------------------------------------------------------------------- and back


def report_of(data: dict[str, Any]) -> Report:
    """The report that ``report_json`` wrote.

    Raises KeyError, TypeError or ValueError for anything else.
    """
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']} of a report")
    return Report(
        data["kernel"],
        data["target"],
        tuple(_read(o) for o in data["obligations"]),
        tuple(
            Assumption(a["kind"], a["text"], Span(**a["span"]))
            for a in data["assumptions"]
        ),
        dict(data["analyses"]),
        None if data["specialised"] is None else _specialised_of(data["specialised"]),
        None if data["equality"] is None else _equality_of(data["equality"]),
        tuple(_read(o) for o in data["settled"]),
        tuple(_read(o) for o in data["risks"]),
    )


def _equality_of(data: dict[str, Any]) -> Equality:
    return Equality(
        data["reference"],
        data["shown"],
        data["reason"],
        None if data["span"] is None else Span(**data["span"]),
        tuple(data["axioms"]),
        data["tried"],
        data["untraced"],
        data["output"],
        data["kernel"],
        data["specification"],
        data["where"],
    )


def _specialised_of(data: dict[str, Any]) -> Specialised:
    return Specialised(
        data["text"],
        data["count"],
        tuple(
            Placed(p["text"], Verdict[p["verdict"].upper()], p["dtypes"], p["facts"])
            for p in data["programs"]
        ),
        tuple(Refused(**r) for r in data["refused"]),
        tuple(data["left"]),
    )


def _read(data: dict[str, Any]) -> Obligation:
    found = data["counterexample"]
    return Obligation(
        data["rule"],
        data["claim"],
        Span(**data["span"]),
        Verdict[data["verdict"].upper()],
        data["method"],
        data["reason"],
        None if found is None else counterexample_of(found),
        data["slow"],
        data["specialisation"],
    )


def counterexample_of(data: dict[str, Any]) -> Counterexample:
    """The counterexample in a record of a report. Raises like :func:`report_of`."""
    return Counterexample(
        data["message"],
        data["label"],
        ThreadPlace(**data["place"]),
        dict(data["sizes"]),
        tuple(_operand(o) for o in data["operands"]),
        tuple(
            Event(e["role"], e["text"], Span(**e["span"]), dict(e["iteration"]))
            for e in data["interleaving"]
        ),
        tuple(data["notes"]),
        data["help"],
        data["replayed"],
    )


def _operand(data: dict[str, Any]) -> OperandElement:
    chain = tuple(Step(s["text"], Span(**s["span"])) for s in data["chain"])
    return OperandElement(
        data["label"], dict(data["tag"]), tuple(data["coordinate"]), chain
    )
