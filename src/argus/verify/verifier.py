"""All analyses of one placed program, joined into a report.

    verify(program) -> Report

Each analysis is a package with ``obligations(program)``. This file times them, and
applies what the kernel says about its own proof: Trust turns what is unknown about a
statement into an assumption, Expect makes findings about speed binding, and every
Assume is listed. It proves nothing itself, and it hides nothing: all analyses run (but
that of names, where terms have decided), and one that an installation lacks is an
unknown obligation.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from argus.diagnostics import Span
from argus.ir.annotations import Assume, Expect, Fact, Trust, annotations_of
from argus.ir.program import Program
from argus.verify.collecting import rarely_collected
from argus.verify.expectations import MeasuredFact, Usage, judge
from argus.verify.verdict import Assumption, Equality, Obligation, Report, Verdict

if TYPE_CHECKING:
    from argus.verify.order.sharing import SharedOrder
    from argus.verify.tags import ProgramScope

ANALYSES = ("assumptions", "tags", "order", "performance")
"""In the order in which they run."""

Analysis = Callable[..., Iterable[Obligation]]
Equal = Callable[[Sequence[Obligation]], Equality | None]
"""Whether a program is shown to compute its reference, beside what else was found."""


def verify(
    program: Program,
    *,
    only: Sequence[str] | None = None,
    usage: Usage | None = None,
    shared: SharedOrder | None = None,
    equal: Equal | None = None,
) -> Report:
    """Prove or refute everything that must hold for a placed program.

    ``only`` names the analyses to run (default: all); the report speaks of no other,
    and its ``seconds`` name those that ran. ``usage`` is
    what the machine code uses, if it was built; expectations about it are unknown
    without. ``shared``: what was proved of the order of other specialisations.
    ``equal``: asked when all else is known, whether the program is shown to compute its
    reference. Then names of its dimensions have nothing to say, and are not asked.
    Raises ValueError for a program that is not placed, and for an unknown
    analysis.
    """
    if not program.placed:
        raise ValueError(f"program {program.name} is not placed")
    names = ANALYSES if only is None else tuple(only)
    if odd := set(names) - set(ANALYSES):
        raise ValueError(f"no analysis {', '.join(sorted(odd))}")
    found: list[Obligation] = []
    seconds: dict[str, float] = {}
    # Sizes are tried at which something divides by zero: found by what comes out.
    equality: Equality | None = None
    with rarely_collected(), np.errstate(divide="ignore", invalid="ignore"):
        known: ProgramScope | None = None
        for name in names:
            with _timed(seconds, name):
                if name == "tags" and equal is not None and "order" in names:
                    known, some = _accessed(program)
                    found += some
                else:
                    found += _run(name, program, shared)
        if known is not None and equal is not None:
            with _timed(seconds, "reference"):
                equality = equal(found)
            if equality is None:
                with _timed(seconds, "tags"):
                    found += _named(known)
    if "performance" in names:
        found += _expected(program, usage)
    found, trusted = _trusted(program, found)
    assumed = [
        Assumption("assume", op.text, op.span)
        for op in annotations_of(program)
        if isinstance(op, Assume)
    ]
    return Report(
        program.name,
        program.target.name,
        tuple(sorted(found, key=_position)),
        tuple(assumed + trusted),
        seconds,
        equality=equality,
    )


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Generator[None]:
    begin = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin


def available(name: str) -> Analysis | None:
    """The entry of an analysis; None where this installation lacks it."""
    module = f"argus.verify.{name}"
    if find_spec(module) is None:
        return None
    return importlib.import_module(module).obligations


def _accessed(program: Program) -> tuple[ProgramScope | None, list[Obligation]]:
    """What is known of the part of an analysis that equality does not answer."""
    if available("tags") is None:
        return None, _run("tags", program, None)
    from argus.verify.tags import ProgramScope, accessed

    known = ProgramScope.of(program)
    return known, accessed(known)


def _named(known: ProgramScope) -> list[Obligation]:
    from argus.verify.tags import named

    return named(known)


def _run(name: str, program: Program, shared: SharedOrder | None) -> list[Obligation]:
    analysis = available(name)
    if analysis is None:
        claim = f"the {name} analysis has nothing to object"
        reason = f"this installation lacks the {name} analysis"
        return [
            Obligation(
                "AG0394", claim, program.span, Verdict.UNKNOWN, "none", reason,
                slow=name == "performance",
            )
        ]  # fmt: skip
    if name == "order" and shared is not None:
        return list(analysis(program, shared))
    return list(analysis(program))


def _position(o: Obligation) -> tuple[Verdict, str, int, int, str]:
    """The worst first, then by place."""
    return (o.verdict, o.span.file, o.span.line, o.span.column, o.rule)


# ---------------------------------------------------------------------- annotations


def _expected(program: Program, usage: Usage | None) -> list[Obligation]:
    """What the kernel expects of its speed: obligations of their own (AG0513)."""
    expects = [op for op in annotations_of(program) if isinstance(op, Expect)]
    if not expects:
        return []
    measured, missing = _measured(program, usage)
    return judge(expects, measured, missing)


def _measured(
    program: Program, usage: Usage | None
) -> tuple[dict[Fact, MeasuredFact], dict[Fact, str]]:
    """What is known of each fact, and why the others are not."""
    from argus.verify.performance import PerformanceFinding, measure

    facts = measure(program, None if usage is None else usage.registers)
    by, blocks = facts.occupancy.by, facts.occupancy.blocks
    known: dict[Fact, MeasuredFact] = {
        "occupancy": MeasuredFact(blocks, "count", why=f"what limits it: {by}")
    }
    missing: dict[Fact, str] = {}
    counted: dict[Fact, PerformanceFinding | None] = {
        "bank_conflicts": facts.bank_conflicts,
        "excess_sectors": facts.excess_sectors,
        "access_bytes": facts.access_bytes,
    }
    uncounted = "; ".join(dict.fromkeys(why for _, why in facts.unknown))
    for fact, found in counted.items():
        if found is None and fact == "access_bytes":
            missing[fact] = uncounted or "no access to global memory has a width"
            continue
        worst = facts.worst()[fact]
        known[fact] = MeasuredFact(
            worst,
            "enumeration",
            None if found is None else found.span,
            "" if found is None or worst == 0 else found.why,
            uncounted,
        )
    if usage is None:
        missing["spills"] = missing["registers"] = "it is known only after building"
    else:
        known["spills"] = MeasuredFact(usage.spill_bytes, "machine code")
        known["registers"] = MeasuredFact(usage.registers, "machine code")
    return known, missing


def _trusted(
    program: Program, found: list[Obligation]
) -> tuple[list[Obligation], list[Assumption]]:
    """Obligations without those that are unknown and trusted; what is trusted."""
    trusts = [op for op in annotations_of(program) if isinstance(op, Trust)]
    kept: list[Obligation] = []
    used: dict[int, list[Obligation]] = {}
    for obligation in found:
        if obligation.verdict is Verdict.UNKNOWN:
            by = next((t for t in trusts if _covers(t, obligation, program)), None)
            if by is not None:
                used.setdefault(id(by), []).append(obligation)
                continue
        kept.append(obligation)
    listed: list[Assumption] = []
    for trust in trusts:
        open_ = used.get(id(trust), [])
        rules = sorted({o.rule for o in open_})
        what = f"{len(open_)} unknown: {', '.join(rules)}" if open_ else "nothing"
        listed.append(Assumption("trust", f"{trust.reason} ({what})", trust.span))
    return kept, listed


def _covers(trust: Trust, obligation: Obligation, program: Program) -> bool:
    if trust.whole and obligation.span == program.span:
        return True
    return _inside(obligation.span, trust.covers)


def _inside(inner: Span, outer: Span) -> bool:
    return (
        inner.file == outer.file
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )
