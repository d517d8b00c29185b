"""Parts of counterexamples in words: places, tags, operands, events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from argus.diagnostics import Span
from argus.verify.evidence import (
    Counterexample,
    Event,
    OperandElement,
    Step,
    ThreadPlace,
)
from argus.verify.verdict import Equality, Report, Verdict


def values(pairs: Mapping[str, int]) -> str:
    """`M = 128, K = 64`."""
    return ", ".join(f"{name} = {value}" for name, value in pairs.items())


def line(span: Span) -> str:
    """`gemm.py:15`."""
    return f"{Path(span.file).name}:{span.line}"


def place(who: ThreadPlace, lanes: int) -> str:
    """`thread 165 (role math, warp 1 of it, lane 5), block 0, k = 64`.

    ``lanes``: threads of a warp. Empty for what is not about who did it.
    """
    parts: list[str] = []
    if who.thread is None and not who.role:
        pass
    elif who.thread is None:
        parts.append(f"role {who.role}")
    else:
        warp, lane = divmod(who.thread, lanes)
        parts.append(f"thread {who.thread} (role {who.role}, warp {warp}, lane {lane})")
    if who.block is not None:
        parts.append(f"block {who.block}")
    if who.iteration:
        parts.append(values(who.iteration))
    return ", ".join(parts)


def coordinate(at: tuple[int, ...]) -> str:
    """`(37, 16)`."""
    return f"({', '.join(map(str, at))})"


def step(one: Step) -> str:
    """`loaded into ring slot 3 at gemm.py:15`."""
    return f"{one.text} at {line(one.span)}"


def operand(one: OperandElement) -> str:
    """An element: what it is, where in its tile it is, and how it came there."""
    tag = values(one.tag) or "no tag"
    way = "".join(f"; {step(s)}" for s in one.chain)
    at = f" at element {coordinate(one.coordinate)}" if one.coordinate else ""
    return f"{tag}{at}{way}"


def event(one: Event) -> str:
    """`waits for ring_full[2] at gemm.py:20 (k = 64)`."""
    when = f" ({values(one.iteration)})" if one.iteration else ""
    return f"{one.text} at {line(one.span)}{when}"


def replay(found: Counterexample) -> str | None:
    """What the interpreter said; None where it was not asked."""
    match found.replayed:
        case None:
            return None
        case True:
            return "the interpreter shows the same at these sizes"
        case False:
            return (
                "THE INTERPRETER DOES NOT SHOW THIS: a bug of the verifier; please "
                "report it"
            )


def tried(runs: int) -> str:
    """How many runs found no difference, which shows nothing."""
    if runs == 0:
        return "no run could be compared"
    return f"{runs} run{'s' if runs > 1 else ''} found no difference"


def equality(found: Equality, verdict: Verdict) -> str:
    """`equal to ref`, or `not shown equal to ref: the reason, at line 12`.

    Of a reference that is not traced: why, since then nothing is to be shown.
    """
    if found.shown and verdict is Verdict.EQUAL:
        return f"equal to `{found.reference}` for all sizes, in real arithmetic"
    if found.shown:
        return (
            f"its tiles are equal to `{found.reference}`, and what is not proved above "
            "is open"
        )
    where = "" if found.span is None else f", at line {found.span.line}"
    if found.untraced:
        said = f"not shown equal to `{found.reference}`, which has no terms"
        return f"{said}: {found.reason}{where}"
    return f"not shown equal to `{found.reference}`: {found.reason}{where}"


def comparison(report: Report) -> list[tuple[str, str]]:
    """What is known of the reference: lines of text, each with a word for its kind.

    Empty where there is no reference, or something else is wrong already.
    """
    rules = ", ".join(
        dict.fromkeys(f"{x.rule} at line {x.span.line}" for x in report.settled)
    )
    found = report.equality
    if found is None:
        what = "each element is what names of dimensions say, by its terms"
        return [("settled", f"{rules}: {what}")] if rules else []
    text = equality(found, report.verdict)
    if not found.shown and found.tried:
        text += f"; {tried(found.tried)}"
    rows = [("equal" if report.verdict is Verdict.EQUAL else "open", text)]
    if found.kernel:
        rows.append(("kernel", found.kernel))
        rows.append(("says", found.specification))
        rows.append(("where", found.where))
    if rules:
        rows.append(
            ("settled", f"{rules}: what elements meet is decided by the reference")
        )
    return rows
