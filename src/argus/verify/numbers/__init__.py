"""Numerical safety: where real arithmetic hides what floating point does not forgive.

    for finding in findings(program, denotation):
        print(finding.rule, finding.message, finding.span)

Terms are real numbers, so that a kernel that is equal to its reference may still
overflow, divide by nothing, or lose digits. These are findings of their own. They
are advice, except where a run shows what is not a number (`argus.evaluation`).

    divisors.py     divisors that may be 0, maxima of nothing (AG0331, AG0332)
    exponents.py    arguments of exponentials that nothing bounds (AG0330)
    flow.py         what becomes of an exponential that may overflow
    wholes.py       whole numbers, and sums of them, that leave their type (equality is
                    open then)
    products.py     products with entries of tables that leave their type (the same)
    residues.py     which numbers may leave their type, since only last bits matter
    in_floats.py    whole numbers that a float may not hold and that decide (the same)
    narrow.py       sums that are kept in 16 bits (AG0333)
    cancelling.py   roots of what rounding may make negative (AG0334)
    finding.py      what is handed on
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.program import Program
from argus.verify.denotation import Denotation
from argus.verify.numbers.cancelling import cancelled_roots
from argus.verify.numbers.divisors import empty_divisors
from argus.verify.numbers.exponents import unbounded_exponents
from argus.verify.numbers.finding import NumericalFinding
from argus.verify.numbers.narrow import narrow_sums

__all__ = ["NumericalFinding", "findings"]


def findings(program: Program, found: Denotation) -> Iterator[NumericalFinding]:
    """What is numerically unsafe in a tile program, as far as its terms are known."""
    yield from unbounded_exponents(program, found)
    yield from empty_divisors(found)
    yield from narrow_sums(program, found)
    yield from cancelled_roots(program)
