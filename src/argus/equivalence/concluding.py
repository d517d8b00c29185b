"""What a report says of a kernel's reference that is not shown to be equal.

    report = concluded(report, reference, made, at)

The one place that decides it. A reference that is terms in full says what each element
is: where the kernel's terms differ, or could not be compared, it is unknown whether the
kernel computes that (`RULE`). Of a reference of which a part has no terms nothing could
be shown, so that the verdict is that of the other obligations, and the report names the
part.
"""

from __future__ import annotations

from dataclasses import replace

from argus.diagnostics import Span
from argus.equivalence.deciding import Decided
from argus.verify.verdict import Equality, Obligation, Report, Verdict

__all__ = ["RULE", "concluded", "equality_of"]

RULE = "AG0322"


def concluded(report: Report, found: Equality, at: Span) -> Report:
    """The report with what was found of the reference, which stands ``at``."""
    report = replace(report, equality=found)
    if found.shown or found.untraced:
        return report
    what = f"`{found.output}`" if found.output else f"`{report.kernel}`"
    open_ = Obligation(
        RULE,
        f"{what} is what `{found.reference}` says",
        found.span or at,
        Verdict.UNKNOWN,
        "terms",
        found.reason,
    )
    return replace(report, obligations=(open_, *report.obligations))


def equality_of(reference: str, made: Decided, tried: int = 0) -> Equality:
    """A comparison as a report has it; ``tried`` runs found no difference."""
    first = None if made.decision is None else made.decision.first
    terms = ("", "", "", "")
    if first is not None:
        terms = first.tensor, first.kernel, first.specification, first.where
    return Equality(
        reference,
        made.equal,
        made.reason,
        made.span,
        made.axioms if made.equal else (),
        tried,
        made.untraced,
        *terms,
    )
