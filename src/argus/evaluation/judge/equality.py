"""Is a candidate equal to a kernel that is right, for all sizes? Before anything runs.

    known = compared(request, programs, subject)

The kernel that a user's file has is the specification of every candidate for it, and
the naive form is that of a library problem. Both are compared as terms, at all sizes
that are divided by what divides those of the problem (`Request.facts`). Where terms
differ, inputs are looked for on which the candidate gives another result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.equivalence.deciding import SECONDS, Decided
from argus.equivalence.kept import kept_alike
from argus.equivalence.programs import Programs, programs_of
from argus.evaluation.equal.located import located
from argus.evaluation.equal.witness import Witness
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.subject import Subject, own_request
from argus.kernels.library import design_spaces
from argus.requests import Request
from argus.runs.records import EqualityRecord, LibraryProblem

__all__ = ["EqualityFound", "compared", "compared_with", "undecided"]


@dataclass(frozen=True)
class EqualityFound:
    """What is known of a candidate: what terms say, and a witness if there is one."""

    other: str
    decided: Decided
    witness: Witness | None = None

    @property
    def record(self) -> EqualityRecord:
        """As a record."""
        made = self.decided
        if self.witness is not None:
            said = self.witness.message
            return EqualityRecord(verdict="refuted", other=self.other, reason=said)
        if made.equal:
            axioms = made.axioms
            return EqualityRecord(verdict="equal", other=self.other, axioms=axioms)
        return EqualityRecord(
            verdict="unknown",
            other=self.other,
            reason=made.reason,
            line=None if made.span is None else made.span.line,
        )


def compared(
    request: Request, programs: Programs, subject: Subject, seconds: float = SECONDS
) -> EqualityFound:
    """Compare a candidate with the specification of its problem.

    ``seconds`` of CPU time, for terms. Raises ArgusError where the problem is broken.
    """
    other, name = _specification(subject)
    return compared_with(request, programs, other, name, subject, seconds)


def compared_with(
    request: Request,
    programs: Programs,
    other: Request,
    name: str,
    subject: Subject,
    seconds: float = SECONDS,
) -> EqualityFound:
    """Compare two kernels of a problem; ``name``: of the one that is right."""
    given = programs_of(other)
    made = kept_alike(
        request,
        programs,
        other,
        given.tile,
        seconds=seconds,
        divisors=_divisors(request.facts, subject.case.sizes),
    )
    witness: Witness | None = None
    for place in () if made.equal else made.places:
        if place.element is not None and witness is None:
            witness = located(
                request,
                programs.typed,
                given.typed,
                place.sizes,
                place.element,
                subject.scalars,
            )
    return EqualityFound(name, made, witness)


def undecided(subject: Subject, why: str) -> EqualityFound:
    """What is known where the comparison itself came to no end."""
    return EqualityFound(_specification(subject)[1], Decided(None, why))


def _divisors(facts: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in facts.items() if n > 1 and name in sizes}


def _specification(subject: Subject) -> tuple[Request, str]:
    """The kernel that says what is right, and what it is called."""
    problem = subject.problem
    if isinstance(problem, LibraryProblem):
        for space in design_spaces():
            if problem.entry in space.entries:
                naive = space.candidate(space.start(problem), problem)
                request = request_of(naive, subject)
                return request, f"`{naive.kernel}`, the naive kernel"
    name = f"`{subject.kernel.name}`, the problem's own kernel"
    return own_request(subject), name
