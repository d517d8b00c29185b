"""Which specialisations of a kernel calls accept, of those that are proved.

Some are of no launch: what a kernel requires of sizes excludes them. In others it does
not keep what it expects of its speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.compiler import Proof
from argus.ir.program import Program
from argus.verify.assumptions import excluded
from argus.verify.verdict import Placed, Refused, Verdict

__all__ = ["EXPECTED", "Proofs", "accepted", "without_launch"]

EXPECTED = "AG0513"
"""An expectation of speed."""
Proofs = list[tuple[Placed, Proof]]
PlacedFor = tuple[Program, Mapping[str, int]]
"""A placed program, and what divides its sizes and strides."""
_CONTRADICTED = "AG0318"


def without_launch(found: Proofs, programs: Sequence[PlacedFor]) -> frozenset[int]:
    """The numbers of those that no launch chooses, since requirements exclude them.

    N == 17 is divisible by no 16. Where all are excluded, they contradict each other.
    ``programs``: with what divides sizes, of each. A grid without blocks excludes
    nothing.
    """
    never = frozenset(
        number
        for number, (_, proof) in enumerate(found)
        if any(
            o.rule == _CONTRADICTED and o.verdict is Verdict.REFUTED
            for o in proof.report.obligations
        )
        and excluded(*programs[number])
    )
    return never if len(never) < len(found) else frozenset()


def accepted(found: Proofs, never: frozenset[int]) -> tuple[Proofs, list[Refused]]:
    """Those that calls accept, and those of which an expectation does not hold.

    No launch is among ``never``, by their numbers.

    A call with divisors with which a kernel does not keep what it expects of its speed
    (AG0513) ends in that error. If none keeps it, the kernel is wrong.
    """
    kept: Proofs = []
    refused: list[Refused] = []
    for number, (said, proof) in enumerate(found):
        if number in never:
            why = "no sizes satisfy all requirements and assumptions"
            refused.append(Refused(said.text, _CONTRADICTED, why))
            continue
        broken = [o for o in proof.report.obligations if o.is_open]
        if kept and broken and all(o.rule == EXPECTED for o in broken):
            refused.append(Refused(said.text, EXPECTED, broken[0].claim))
        else:
            kept.append((said, proof))
    return kept, refused
