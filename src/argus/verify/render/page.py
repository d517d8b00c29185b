"""One HTML page about the kernels that were checked. It needs no network.

Style and text are in `page.html.j2` and `finding.*`; this file prepares what it shows:
the source around each place, the case in words, the pictures, the order of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from argus.diagnostics import Diagnostic, Span, lookup, source_text
from argus.ir.program import Program
from argus.verify.evidence import Counterexample
from argus.verify.render import svg, words
from argus.verify.render.checked import CheckedKernel
from argus.verify.render.diagnostics import of_obligation, risks, told
from argus.verify.render.picture import panels
from argus.verify.verdict import Obligation, Report, Specialised, Verdict

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).parent
"""With `finding.html.j2` and `finding.css`, which pages of others may include."""
_AROUND = 3
"""Lines of source before and after a place."""


@dataclass(frozen=True)
class SourceLine:
    """A line of source in three parts, the middle one marked."""

    number: int
    before: str
    marked: str
    after: str
    role: str
    """"place", "chain" (something on the way), or ""."""
    gap: bool = False
    """Lines were left out before this one."""


@dataclass(frozen=True)
class EventView:
    """An event in a lane of the timeline."""

    lane: int
    number: int
    role: str
    text: str
    where: str
    last: bool


@dataclass(frozen=True)
class PanelView:
    """The pictures of one element, drawn."""

    label: str
    figures: tuple[tuple[str, str, str], ...]
    """(title, caption, svg)."""


@dataclass(frozen=True)
class FindingView:
    """A mistake, a risk, or an obligation that is not proved."""

    anchor: str
    state: str
    code: str
    title: str
    explanation: str
    message: str
    label: str
    where: str
    source: tuple[SourceLine, ...]
    case: tuple[tuple[str, str], ...]
    chains: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """(operand, ((what happened, where), ...))."""
    panels: tuple[PanelView, ...]
    lanes: tuple[str, ...]
    moments: tuple[EventView, ...]
    notes: tuple[str, ...]
    help: str | None
    disagrees: bool


@dataclass(frozen=True)
class KernelView:
    """One kernel on the page."""

    anchor: str
    label: str
    target: str
    verdict: str
    facts: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]
    comparison: tuple[tuple[str, str], ...]
    """(word, text): what is known of the reference."""
    rests_on: tuple[str, ...]
    findings: tuple[FindingView, ...]
    proved: tuple[tuple[str, str, int, str], ...]
    """(code, title, how many, lines) of what was proved."""
    assumptions: tuple[tuple[str, str, str], ...]
    specialised: Specialised | None
    seconds: tuple[tuple[str, str], ...]


def page(checked: Sequence[CheckedKernel], version: str) -> str:
    """The page for these kernels. ``version`` is that of Argus."""
    views = [_kernel(f"k{i}", one) for i, one in enumerate(checked)]
    return _template().render(kernels=views, version=version)


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")


def _kernel(anchor: str, checked: CheckedKernel) -> KernelView:
    report = checked.report
    findings = tuple(_findings(anchor, checked))
    if report is None:
        return KernelView(
            anchor, checked.label, checked.target, checked.verdict, checked.facts,
            (), (), (), findings, (), (), None, (),
        )  # fmt: skip
    # What is fast enough is no obligation: the terminal does not count it either.
    counted = (
        o for o in report.obligations if o.verdict < Verdict.PROVED or not o.slow
    )
    states = Counter(map(_state, counted))
    states["risk"] = len(report.risks)
    order = ("wrong", "unknown", "slow", "risk", "proved")
    return KernelView(
        anchor,
        checked.label,
        checked.target,
        checked.verdict,
        checked.facts,
        tuple((s, states[s]) for s in order if states[s]),
        tuple(words.comparison(report)),
        () if report.equality is None else report.equality.axioms,
        findings,
        tuple(_proved(report)),
        tuple((a.kind, a.text, words.line(a.span)) for a in report.assumptions),
        _specialised(report),
        tuple((name, f"{t * 1000:.0f} ms") for name, t in report.seconds.items()),
    )


def _findings(anchor: str, checked: CheckedKernel) -> Iterable[FindingView]:
    """Everything about a kernel that the terminal tells at a line of its source."""
    report = checked.report
    for i, mistake in enumerate(checked.mistakes, 1):
        yield _mistake(f"{anchor}-{i}", mistake)
    if report is None or checked.program is None:
        return
    known = [(o, shown, _state(o)) for o, (shown, *_) in told(report)]
    known += [(o, d, "risk") for o, d in zip(report.risks, risks(report), strict=True)]
    for i, (o, shown, state) in enumerate(known, 1):
        program = checked.program(o.specialisation)
        yield _finding(f"{anchor}-{i}", o, program, shown, state)


def _specialised(report: Report) -> Specialised | None:
    """The specialisations, none of them with a better word than the kernel.

    What is refuted of a kernel without naming a specialisation, such as by its
    reference, is refuted of each.
    """
    found = report.specialised
    if found is None:
        return None
    all_wrong = any(
        o.verdict is Verdict.REFUTED and not o.slow and not o.specialisation
        for o in report.obligations
    )
    if not all_wrong:
        return found
    programs = tuple(replace(p, verdict=Verdict.REFUTED) for p in found.programs)
    return replace(found, programs=programs)


def _state(o: Obligation) -> str:
    match o.verdict:
        case Verdict.PROVED | Verdict.EQUAL:
            return "proved"
        case Verdict.UNKNOWN:
            return "unknown"
        case Verdict.REFUTED:
            return "slow" if o.slow else "wrong"


def _proved(report: Report) -> list[tuple[str, str, int, str]]:
    by_rule: dict[str, list[int]] = {}
    for o in report.obligations:
        if o.verdict is Verdict.PROVED:
            by_rule.setdefault(o.rule, []).append(o.span.line)
    return [
        (rule, lookup(rule).title, len(at), ", ".join(map(str, sorted(set(at)))))
        for rule, at in sorted(by_rule.items())
    ]


# ------------------------------------------------------------------------ findings


def finding_of(anchor: str, o: Obligation, program: Program) -> FindingView:
    """What the page shows of an obligation that is not proved."""
    shown = next(iter(of_obligation(o, program.target.name)))
    return _finding(anchor, o, program, shown, _state(o))


def _finding(
    anchor: str, o: Obligation, program: Program, shown: Diagnostic, state: str
) -> FindingView:
    found = o.counterexample
    lanes, moments = _timeline(found)
    return replace(
        _mistake(anchor, shown),
        state=state,
        source=_source(o.span, found),
        case=_case(found, o.specialisation, program.target.warp_threads),
        chains=_chains(found),
        panels=tuple(_drawn(program, o)),
        lanes=lanes,
        moments=moments,
        disagrees=found is not None and found.replayed is False,
    )


def _mistake(anchor: str, shown: Diagnostic) -> FindingView:
    """What the page shows of a diagnostic alone, which has no case."""
    span = shown.span
    entry = lookup(shown.code)
    others = (f"{words.line(x.span)}: {x.text}" for x in shown.related)
    return FindingView(
        anchor,
        "wrong",
        shown.code,
        entry.title,
        entry.explanation,
        shown.message,
        shown.label or "",
        "" if span is None else words.line(span),
        () if span is None else _source(span, None),
        shown.evidence,
        (),
        (),
        (),
        (),
        (*others, *shown.notes),
        shown.help,
        False,
    )


def _case(
    found: Counterexample | None, specialisation: str, lanes: int
) -> tuple[tuple[str, str], ...]:
    if found is None:
        return (("specialisation", specialisation),) if specialisation else ()
    where = words.place(found.place, lanes)
    rows = [("where", where)] if where else []
    for one in found.operands:
        tag = words.values(one.tag) or "no tag"
        rows.append((one.label, f"{tag}, element {words.coordinate(one.coordinate)}"))
    if found.sizes:
        rows.append(("sizes", words.values(found.sizes)))
    said = words.replay(found)
    if said is not None:
        rows.append(("replay", said))
    if specialisation:
        rows.append(("specialisation", specialisation))
    return tuple(rows)


def _chains(
    found: Counterexample | None,
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    if found is None:
        return ()
    return tuple(
        (one.label, tuple((s.text, words.line(s.span)) for s in one.chain))
        for one in found.operands
        if one.chain
    )


def _drawn(program: Program, o: Obligation) -> list[PanelView]:
    made: list[PanelView] = []
    for panel in panels(program, o):
        figures = [(r.title, r.caption, svg.region(r)) for r in panel.regions]
        figures += [(g.title, g.caption, svg.grid(g)) for g in panel.grids]
        made.append(PanelView(panel.label, tuple(figures)))
    return made


def _timeline(
    found: Counterexample | None,
) -> tuple[tuple[str, ...], tuple[EventView, ...]]:
    if found is None or not found.interleaving:
        return (), ()
    events = found.interleaving
    lanes = tuple(dict.fromkeys(e.role for e in events))
    moments: list[EventView] = []
    for i, e in enumerate(events, 1):
        when = f" ({words.values(e.iteration)})" if e.iteration else ""
        where = words.line(e.span) + when
        lane = lanes.index(e.role)
        moments.append(EventView(lane, i, e.role, e.text, where, i == len(events)))
    return lanes, tuple(moments)


# ------------------------------------------------------------------------- source


def _source(span: Span, found: Counterexample | None) -> tuple[SourceLine, ...]:
    """Lines around the place, and around each step on the way, of the same file."""
    text = source_text(span.file)
    if text is None:
        return ()
    others: set[int] = set()
    if found is not None:
        spans = [s.span for one in found.operands for s in one.chain]
        spans += [e.span for e in found.interleaving]
        others = {s.line for s in spans if s.file == span.file}
    wanted: set[int] = set()
    for center, around in [(span.line, _AROUND), *((n, 1) for n in others)]:
        wanted |= set(range(center - around, center + around + 1))
    wanted |= set(range(span.line, min(span.end_line, span.line + 12) + 1))
    lines = {n: line for n in sorted(wanted) if (line := text.line(n)) is not None}
    while lines and not lines[max(lines)].strip():
        del lines[max(lines)]
    indents = [len(x) - len(x.lstrip()) for x in lines.values() if x.strip()]
    cut = min(indents, default=0)
    shown: list[SourceLine] = []
    last = None
    for number, line in lines.items():
        gap = last is not None and number != last + 1
        made = _line(number, line, span, number in others, gap)
        # The cut is white space, which is in front of anything marked.
        shown.append(replace(made, before=made.before[cut:]))
        last = number
    return tuple(shown)


def _line(number: int, line: str, span: Span, chain: bool, gap: bool) -> SourceLine:
    if not span.line <= number <= span.end_line:
        return SourceLine(number, line, "", "", "chain" if chain else "", gap)
    indent = len(line) - len(line.lstrip())
    start = span.column - 1 if number == span.line else indent
    end = span.end_column - 1 if number == span.end_line else len(line)
    return SourceLine(number, line[:start], line[start:end], line[end:], "place", gap)
