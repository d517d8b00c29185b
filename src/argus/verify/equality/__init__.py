"""Is what a kernel stores what its specification says, for every size and element?

    found = decide(denotation, specification.outputs, taken)

Both sides are terms of one world (`argus.terms`): the kernel's stores from
`argus.verify.denotation`, the outputs of a reference or of another kernel as functions
of a position. Nothing is run here. "equal" is a promise; where terms differ, a sample
of the difference says where a run should look.

    decide.py       all outputs: shapes, stores, what is not written, what is assumed
    same.py         whether two terms are equal wherever a set holds
    at_extremes.py  elements at the place of the largest of them
    aligned.py      indices that are written in two ways, as one
    coverage.py     which elements are written, and what the others hold
    permuted.py     stores whose places a table of different numbers names
    final.py        of several stores to an element, the last one
    additions.py    what an output is that blocks add to
    stored.py       the outputs of a kernel as functions of a position
    defined.py      what has to hold for terms to be numbers
    stored_axes.py  what is asked of a tile, at the elements that a store reads
    cancelled.py    divisors, roots and logarithms that terms do not show any more
    known_truths.py comparisons of data that a set decides, as numbers
    shifted_extremes.py  extremes, and what all their numbers have in common
    truths.py       comparisons of data that are the same truth, as one
    dominated.py    maxima without what is never the largest of them
    few_places.py   the place of the largest of a few numbers, by comparisons
    first_places.py the first place of a largest number; of places of lanes,
    lane_places.py, rows.py  the first one; rows of numbers
    least_numbers.py  extremes with a number that no other one is less than
    points.py       sums and maxima, and single points of them that stand beside
    least_powers.py powers of one base, as those with the least exponent
    residues.py     sums over a row, and over every n-th place of it
    squares.py      squares that are written out
    signs.py        absolute values and extremes of data, by which number is larger
    zeros.py        numbers that are equal where their difference is 0
    summands.py     sums over the same points that add nothing together
    indicators.py   how often a product is counted, by conditions
    telling.py      points at which terms that differ are different numbers
    differing.py    where something of two terms differs: indices, sets, choices
    mentioned.py    what a term speaks of
    result.py       what is handed on
"""

from argus.verify.equality.coverage import untraced_part
from argus.verify.equality.decide import decide
from argus.verify.equality.result import EqualityResult, Mismatch, OutputDecision
from argus.verify.equality.stored import stored_arrays

__all__ = [
    "EqualityResult",
    "Mismatch",
    "OutputDecision",
    "decide",
    "stored_arrays",
    "untraced_part",
]
