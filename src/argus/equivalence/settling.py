"""What equality decides in place of rules on data flow, and settles of them.

    report = verify(program, equal=terms_first(request, known))
    report = settled(report, request)

Rules on data flow (`SETTLED`) ask whether elements that meet belong together, as far as
names of dimensions tell. Where a kernel is shown to compute its reference, for every
size, what its result is made of is known, and such a rule has nothing to add: an output
that is added to, or written twice with the same numbers, is what the author asked for.

So terms are asked first, and of a kernel that is its reference names of dimensions are
not asked at all; of another one they show what is wrong, or that nothing is, and
equality settles what they leave open and it decides.

What is shown is about the tile program. It holds for the placed one that is launched
where that refines it, and where the analysis of the order has shown which write each
read sees (`_PREMISES`): else the report is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from argus.equivalence.concluding import equality_of
from argus.equivalence.deciding import Decided
from argus.equivalence.programs import KnownPrograms, Programs
from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.equivalence.unreferenced import questioned
from argus.ir.annotations import annotations_of
from argus.requests import Request
from argus.verify.order.sequential import updated
from argus.verify.refinement import gaps
from argus.verify.verdict import Equality, Obligation, Report, Verdict
from argus.verify.verifier import Equal

__all__ = [
    "SETTLED", "StatedReference", "asked", "is_wrong", "settled", "settled_by",
    "terms_first",
]  # fmt: skip

SETTLED = frozenset({
    "AG0301", "AG0302", "AG0303", "AG0304", "AG0305", "AG0306", "AG0307", "AG0308",
    "AG0309", "AG0310", "AG0315", "AG0316", "AG0321", "AG0390",
})  # fmt: skip
"""Rules on which element meets which, and on how often each is counted or written.

Not what an access may touch (AG0311 to AG0313, AG0320), and not what the author states
(AG0314, AG0318).
"""


_ONCE = "AG0307"
"""An element is written once. That a tensor is updated in place (AG0424) rests on it,
unless all accesses to the tensor are in program order."""
_PREMISES = ("AG0311", "AG0313", "AG04")
"""Rules, or how they begin: equality of a placed program rests on these."""


@dataclass(frozen=True)
class StatedReference:
    """A reference by its name, and how a kernel is compared with it."""

    name: str
    decide: Callable[[], Decided]


def terms_first(
    request: Request, known: KnownPrograms, said: StatedReference | None = None
) -> Equal | None:
    """For `verify`: whether a kernel is shown to be its reference; None without one.

    ``said``: the reference, where it is not that of the kernel's file. What the author
    states of names (`ag.tag`, `ag.check`) is for names to say.
    """
    declared = reference_of(request.kernel)
    if said is None and declared is not None:
        name = declared.name
        said = StatedReference(name, lambda: decided(request, declared, known=known))
    if said is None:
        return None
    reference = said

    def equal(found: Sequence[Obligation]) -> Equality | None:
        programs = known.of(request)
        if any(o.is_open for o in found) or _stated(programs):
            return None
        changed = updated(programs.placed)
        if changed and not changed <= programs.sequential:
            return None
        if gaps(programs.tile, programs.placed):
            return None
        made = reference.decide()
        return (
            Equality(reference.name, True, axioms=made.axioms) if made.equal else None
        )

    return equal


def _stated(programs: Programs) -> bool:
    """Whether the author states something of names of dimensions."""
    return any(op.is_of_names() for op in annotations_of(programs.placed))


def settled(
    report: Report, request: Request, known: KnownPrograms | None = None
) -> Report:
    """The report without obligations on data flow, where the kernel is its reference.

    They are listed as what is settled. The report is returned as it is where none is
    open, where the order is not proved, and where equality or refinement is not shown;
    and says why, where it is not known whether the kernel is its reference, whose terms
    do not differ as far as they could be compared (see `is_doubted`). Where the kernel
    has no reference, see `argus.equivalence.unreferenced`.
    ``known``: what else is asked of the kernel. Raises ArgusError of parsing and
    placing.
    """
    known = known or KnownPrograms()
    declared = reference_of(request.kernel)
    if declared is None:
        found = tuple(o for o in report.obligations if o.is_open and o.rule in SETTLED)
        if not found or is_wrong(report):
            return report
        return questioned(report, found, bool(asked(report)), known.of(request))
    if not asked(report):
        return report
    made = decided(request, declared, known=known)
    said = equality_of(declared.name, made)
    if not (said.shown or said.untraced or said.kernel):
        return replace(report, equality=said)
    return settled_by(report, known.of(request), declared.name, made)


def asked(report: Report) -> tuple[Obligation, ...]:
    """What is open and may be settled; nothing where a premise of that is open."""
    open_ = [o for o in report.obligations if o.is_open]
    if "order" not in report.seconds or any(
        o.rule.startswith(_PREMISES) for o in open_
    ):
        return ()
    return tuple(o for o in open_ if o.rule in SETTLED)


def settled_by(report: Report, programs: Programs, name: str, made: Decided) -> Report:
    """The report as far as what was decided of the programs settles it.

    ``name``: that of the reference or kernel that they were compared with.
    """
    found = asked(report)
    if not found or not made.equal or gaps(programs.tile, programs.placed):
        return report
    twice = any(o.rule == _ONCE for o in found)
    if twice and not updated(programs.placed) <= programs.sequential:
        return report
    return replace(
        report,
        obligations=tuple(o for o in report.obligations if o not in found),
        equality=Equality(name, True, axioms=made.axioms),
        settled=found,
    )


def is_wrong(report: Report) -> bool:
    """Whether something is refuted, whatever is computed.

    That a sum lacks a coordinate, which a replay may show, can be what is meant: rules
    on data flow are not certain beside a reference.
    """
    return any(
        o.verdict is Verdict.REFUTED and not o.slow and o.rule not in SETTLED
        for o in report.obligations
    )


def is_doubted(report: Report) -> bool:
    """Whether names of dimensions refute what terms could neither show nor refute.

    A kernel that is right may be so, on a machine or of a size on which comparing takes
    longer than it may. Only a run of it would tell.
    """
    found = report.equality
    refuted = report.verdict is Verdict.REFUTED and not is_wrong(report)
    return refuted and found is not None and not found.shown
