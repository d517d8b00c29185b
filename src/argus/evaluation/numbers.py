"""What a report says of numbers: whole ones that do not fit, and numerical safety.

    report = with_numbers(requests, report)

Called by `proving.py` for kernels of files. What the terms of a kernel say is unsafe
(`argus.verify.numbers`) is a finding of its own, which does not bind. At sizes at which
nothing is divided by nothing, or the maximum of nothing is stored, the kernel is run:
what is no finite number there (or -1e30, which stands for one), of finite inputs, is
refuted, and so is the place of a maximum of nothing that is stored. What the reference
says, too (minus infinity for the largest of no elements), is meant.

Rounding binds where nothing is left of a result: a run in the kernel's own types beside
exact arithmetic (`rounded_runs.py`), where a sum of 16 bits is over a long dimension,
or a float does not hold the whole number by which the program decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argus.clock import now
from argus.diagnostics import ArgusError, Span
from argus.equivalence.fitting import (
    Inexact,
    RefusedSize,
    refused_size,
    require_exact,
)
from argus.equivalence.programs import KnownPrograms, Programs
from argus.equivalence.references import Unusable, load, reference_of
from argus.equivalence.sizes import free_sizes
from argus.evaluation.equal.stored import stores_of
from argus.evaluation.equal.trying import Trial, WholeTensor, found_by, said
from argus.evaluation.rounded_runs import LAST, Lost, lost_at, trial_at
from argus.evaluation.tiles import NotExecutable, Stuck
from argus.interpret.numbers import Array
from argus.ir.program import Program
from argus.requests import Request, of_each_form
from argus.terms import Unknown
from argus.terms.literals import STAND_IN
from argus.verify.denotation import Denotation
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.numbers import NumericalFinding, findings
from argus.verify.verdict import Obligation, Report, Verdict

__all__ = ["with_numbers"]

FITS = "AG0323"
_CONFIRMED = ("AG0331", "AG0332")
"""Findings that a run can show."""
_SECONDS = 5.0
"""CPU time for questions about numbers."""
_BLOCKS = 96
_HELD = 1 << 12
"""Whole numbers up to here are those of a float of few bits: sizes beyond are small."""
_SMALL = 3
_NARROW = "AG0333"
_LONG, _BESIDE = ((1 << 14, 1 << 12), (1 << 16, LAST), (1 << 17, LAST)), 16
"""Sizes at which a sum of 16 bits has stopped growing, and blocks; sizes beside them.
"""


def with_numbers(
    requests: Sequence[Request], report: Report, known: KnownPrograms
) -> Report:
    """The report with what is unsafe about a kernel's numbers.

    ``requests``: one for each different program; ``known`` has what they become. They
    differ in what numbers do not depend on, but for element types and optional tensors:
    one of each is looked at.
    """
    begin = now()
    wrong: dict[tuple[str, str, int], Obligation] = {}
    risks: dict[tuple[str, str, int], Obligation] = {}
    for request in of_each_form(requests):
        for found in _of_request(request, known):
            into = risks if found.advisory else wrong
            one = found.obligation
            into.setdefault((one.rule, one.claim, one.span.line), one)
    seconds = {**report.seconds, "numbers": now() - begin}
    return replace(
        report,
        obligations=(*wrong.values(), *report.obligations),
        risks=tuple(x for key, x in risks.items() if key not in wrong),
        seconds=seconds,
    )


@dataclass(frozen=True)
class _Said:
    """An obligation that is refuted, or one that only advises."""

    obligation: Obligation
    advisory: bool


def _of_request(request: Request, made: KnownPrograms) -> list[_Said]:
    try:
        programs = made.of(request)
        refused = refused_size(programs)
        first = made.first(programs)
        with first.denoted.asked(_SECONDS) as denotation:
            known = list(findings(first.tile, denotation))
            wraps = _inexact(first.tile, denotation)
    except (ArgusError, Unknown, RecursionError):
        return []  # nothing is known of it, which the other analyses say
    said: list[_Said] = []
    if refused is not None:
        said.append(_Said(_does_not_fit(*refused), False))
    if wraps is not None and wraps.sizes:
        said.append(_Said(_wraps(wraps, _lost_beyond(request, programs, wraps)), False))
    lost = None
    if any(finding.rule == _NARROW for finding in known):
        lost = _lost_in_sums(request, programs)
    for finding in known:
        if finding.rule == _NARROW and lost is not None:
            stored = next(stores_of(programs.tile, lost.output), finding.span)
            one = _lost(lost, finding.message, stored, _NARROW)
            said.append(_Said(one, False))
            continue
        sizes = _shown(request, programs.tile, finding)
        said.append(_Said(_obligation(finding, sizes), sizes is None))
    return said


def _lost_beyond(request: Request, programs: Programs, found: Inexact) -> Lost | None:
    """What is lost at sizes at which a float does not hold what decides, or beyond."""
    if not found.decides:
        return None
    large = {n: size for n, size in found.sizes.items() if size > _SMALL}
    tried = [(large, 0), ({n: 4 * size for n, size in large.items()}, 0)]
    if found.held <= _HELD:
        # One of them may be enough, and far less than a solver says.
        tried += (({name: 5 * found.held}, 0) for name in large)
    for sizes, beyond in (*tried, (large, found.held)):
        lost = lost_at(
            request, programs.tile, sizes, _SMALL, _BLOCKS, decides=True, beyond=beyond
        )
        if lost is not None:
            return lost
    return None


def _lost_in_sums(request: Request, programs: Programs) -> Lost | None:
    """What is lost where one dimension is long, and a sum of 16 bits may be over it.

    A loop adds up in each block, or all blocks do together.
    """
    program = programs.tile
    for dim in free_sizes(program):
        for long, blocks in _LONG:
            lost = lost_at(request, program, {dim: long}, _BESIDE, blocks)
            if lost is not None:
                return lost
    return None


def _lost(found: Lost, claim: str, span: Span, rule: str) -> Obligation:
    return Obligation(
        rule,
        claim,
        span,
        Verdict.REFUTED,
        "interpreter",
        counterexample=Counterexample(
            found.message,
            "what is rounded is made or stored here",
            ThreadPlace(""),
            sizes=dict(found.sizes),
            replayed=True,
        ),
    )


def _inexact(program: Program, found: Denotation) -> Inexact | None:
    try:
        require_exact(program, found)
    except Inexact as why:
        return why
    return None


def _wraps(found: Inexact, lost: Lost | None) -> Obligation:
    """A number of a tile that is not exact: what is proved takes it for that."""
    assert found.span is not None
    claim, there = "whole numbers of tiles fit their types", "wraps there"
    if found.decides:
        claim = "floats that decide hold the whole numbers that they are"
        there = "what is decided by it is another"
    if lost is not None:
        return _lost(lost, claim, found.span, FITS)
    return Obligation(
        FITS,
        claim,
        found.span,
        Verdict.UNKNOWN,
        "terms",
        f"{found.reason}, and {there}: proofs take it for exact",
    )


def _does_not_fit(dim: str, found: RefusedSize) -> Obligation:
    """A size that a launch refuses, since a number of it does not fit."""
    size = found.sizes[dim]
    return Obligation(
        FITS,
        "whole numbers fit 32 bits at sizes of which tensors are small",
        found.span,
        Verdict.REFUTED,
        "enumeration",
        counterexample=Counterexample(
            f"a whole number does not fit 32 bits at {dim} = {size}",
            "it is computed here, and a launch refuses that size",
            ThreadPlace(""),
            sizes=dict(found.sizes),
            notes=(f"a launch requires {found.cond}",),
            help=f"compute with smaller numbers, or require that {dim} is small",
        ),
    )


def _obligation(found: NumericalFinding, sizes: Mapping[str, int] | None) -> Obligation:
    return Obligation(
        found.rule,
        found.message,
        found.span,
        Verdict.REFUTED,
        "terms" if sizes is None else "interpreter",
        counterexample=Counterexample(
            found.message,
            found.label,
            ThreadPlace(""),
            sizes=dict(sizes or {}),
            notes=found.notes,
            help=found.help,
            replayed=None if sizes is None else True,
        ),
    )


def _shown(
    request: Request, program: Program, found: NumericalFinding
) -> dict[str, int] | None:
    """Sizes at which a run stores what is no finite number; None: it shows nothing."""
    if found.rule not in _CONFIRMED or found.sample is None:
        return None
    names = {v.name: n for v, n in found.sample.items()}
    trial = trial_at(request, program, names, _SMALL)
    if trial is None:
        return None
    try:
        if trial.grid > _BLOCKS:
            return None
        with np.errstate(all="ignore"):
            made = found_by(trial, range(trial.grid), seconds=2.0)
    except (Stuck, NotExecutable, ZeroDivisionError, ArgusError):
        return None
    most = STAND_IN if found.rule == "AG0332" else np.inf
    strange = {
        name: one.written & ~(np.abs(one.values) < most)
        for name, one in made.items()
        if one.values.dtype.kind == "f"
    }
    if found.place:
        strange[found.place] = made[found.place].written
    if not any(there.any() for there in strange.values()):
        return None
    return None if _meant(request, trial, made, strange) else dict(trial.sizes)


def _meant(
    request: Request,
    trial: Trial,
    made: Mapping[str, WholeTensor],
    strange: Mapping[str, Array],
) -> bool:
    """Whether the reference says the same infinities: of nothing, they are right."""
    declared = reference_of(request.kernel)
    if declared is None:
        return False
    try:
        with np.errstate(all="ignore"):
            wanted = said(trial, load(declared))
    except (Unusable, ArgusError):
        return False
    return all(
        not there.any()
        or (name in wanted and (made[name].values == wanted[name])[there].all())
        for name, there in strange.items()
    )
