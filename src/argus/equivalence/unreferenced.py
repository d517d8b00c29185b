"""What terms say of a report on data flow where there is no reference.

    report = questioned(report, programs)

Rules on data flow (`SETTLED`) go by names of dimensions, and a name only suggests what
meets what. A refutation is a promise, so that the terms of the kernel are asked
(`argus.verify.named`):

- They are sound: each element of an output is what the names say. The rules are settled
  where the placed program is shown to be the tile program, as by a reference.
- They show where tiles end, which no meaning explains: what is refuted stays so.
- Neither: what a rule refutes is unknown, with the term as the reason.

One rule needs no term: `ag.dot` contracts dimensions by name (AG0301), as AG0204 says
of names that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.diagnostics import ArgusError
from argus.equivalence.fitting import require_exact, require_fitting
from argus.equivalence.programs import Programs
from argus.terms import Unknown
from argus.verify.named import NamedTerms, judged
from argus.verify.refinement import gaps
from argus.verify.verdict import Obligation, Report, Verdict

__all__ = ["CERTAIN", "questioned"]

CERTAIN = frozenset({"AG0301"})
"""Rules that hold by names alone, whatever is computed."""
_PADDING = "AG0310"
"""What a tile is filled with stands in no term where it is a number of the author's."""
_ASK = "an `@ag.reference` decides what is meant"
_TERM = 200
"""Characters of a term in a reason."""


def questioned(
    report: Report, found: Sequence[Obligation], provable: bool, programs: Programs
) -> Report:
    """The report with what terms say of the open obligations that are ``found``.

    ``provable``: whether what equality rests on is proved (`settling.asked`).
    """
    if not provable and not any(_refuted(o) for o in found):
        return report
    asked = _asked(programs)
    if asked.faults:
        return _kept(report, found, asked.faults[0])
    sound = provable and asked.sound and all(_may_be_settled(o) for o in found)
    if sound and not gaps(programs.tile, programs.placed):
        rest = tuple(o for o in report.obligations if o not in found)
        return replace(report, obligations=rest, settled=tuple(found))
    return _doubted(report, found, asked)


def _asked(programs: Programs) -> NamedTerms:
    try:
        require_fitting(programs)
        with programs.denoted.asked() as denotation:
            require_exact(programs.tile, denotation)
            if denotation.sequential:
                denotation = denotation.in_order(programs.sequential)
            return judged(programs.tile, denotation)
    except Unknown as why:
        return NamedTerms(why.reason)
    except RecursionError:
        return NamedTerms("the terms are nested too deeply")
    except ArgusError as error:
        return NamedTerms(error.diagnostics[0].message)


def _may_be_settled(obligation: Obligation) -> bool:
    return obligation.rule != _PADDING


def _refuted(obligation: Obligation) -> bool:
    return obligation.verdict is Verdict.REFUTED and obligation.rule not in CERTAIN


def _kept(report: Report, found: Sequence[Obligation], fault: str) -> Report:
    """The report, with the fault beside what is refuted."""
    changed: list[Obligation] = []
    for o in report.obligations:
        counter = o.counterexample
        if o in found and counter is not None:
            counter = replace(counter, notes=(*counter.notes, fault))
            o = replace(o, counterexample=counter)
        changed.append(o)
    return replace(report, obligations=tuple(changed))


def _doubted(report: Report, found: Sequence[Obligation], asked: NamedTerms) -> Report:
    """The report with what is refuted by names alone as unknown."""
    changed = [
        _unknown(o, asked) if o in found and _refuted(o) else o
        for o in report.obligations
    ]
    return replace(report, obligations=tuple(changed))


def _unknown(obligation: Obligation, asked: NamedTerms) -> Obligation:
    counter = obligation.counterexample
    said = obligation.claim if counter is None else counter.label
    known = asked.text or asked.reason
    if len(known) > _TERM:
        known = known[:_TERM] + " ..."
    reason = f"{said}, as far as names of dimensions tell; {known}; {_ASK}"
    return replace(
        obligation, verdict=Verdict.UNKNOWN, reason=reason, counterexample=None
    )
