"""A kernel against another one, which says what is right.

    made = compare_kernels(request, other)
    made.verdict        refuted, unknown or equal

The naive kernel is the specification of every optimised one. First runs look for a
difference, then both are compared as terms, for all sizes. "equal" needs a proof of the
kernel, too: that its placed program is its tile program, in any order of its roles.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.equivalence.deciding import Decided, decided_alike
from argus.equivalence.programs import programs_of
from argus.evaluation.equal.alike import kernel_reference
from argus.evaluation.equal.refuting import SECONDS, refute, tried_at
from argus.evaluation.equal.witness import Witness
from argus.ir.program import Program
from argus.requests import Request
from argus.verify.verdict import Report, Verdict

__all__ = ["Comparison", "compare_kernels"]


@dataclass(frozen=True)
class Comparison:
    """What is known of two kernels. ``program`` and ``report`` are of the first.

    ``witness``: inputs for which they differ. ``decided``: what the comparison of their
    terms came to; None where there is a witness. ``runs`` found no difference.
    """

    kernel: str
    other: str
    program: Program
    report: Report
    witness: Witness | None
    decided: Decided | None
    runs: int

    @property
    def verdict(self) -> Verdict:
        """Refuted with a witness; equal where terms are, and the kernel is proved."""
        if self.witness is not None:
            return Verdict.REFUTED
        if self.report.verdict < Verdict.PROVED:
            return self.report.verdict
        shown = self.decided is not None and self.decided.equal
        return Verdict.EQUAL if shown else Verdict.UNKNOWN


def compare_kernels(
    request: Request, other: Request, report: Report, *, seconds: float = SECONDS
) -> Comparison:
    """Compare a kernel with another.

    ``report`` is what the verifier says of the first. Raises ArgusError of parsing and
    placing.
    """
    programs, given = programs_of(request), programs_of(other)
    program, reference = programs.typed, kernel_reference(given.typed)
    tried = refute(request, program, reference, seconds=seconds)
    runs = tried.runs - tried.differed
    made: Decided | None = None
    if tried.witness is None:
        made = decided_alike(programs, given.tile, whole=True)
        for place in () if made.equal else made.places:
            if tried.witness is None:
                tried = tried_at(request, program, reference, place)
                runs += tried.runs - tried.differed
    names = request.kernel.name, other.kernel.name
    witness = tried.witness
    return Comparison(*names, program, report, witness, None if witness else made, runs)
