"""Between which numbers a term lies, and whether it is a whole one, by its form.

What is rounded and cut to 8 bits is a whole number of 8 bits already where its author
has clipped it: cutting it once more changes nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from argus.terms.leaves import Call, Leaf, Max, Sum, Whole
from argus.terms.term import Term

__all__ = ["ends", "is_whole"]

End = int | Fraction | None
Ends = tuple[End, End]
"""A number that is not larger, and one that is not smaller; None: nothing is known."""

_OPEN: Ends = (None, None)
_ROUNDED = {"floor": floor, "ceil": ceil, "round": round}


def ends(term: Term) -> Ends:
    """The ends of a term, as far as they follow from maxima with numbers."""
    if term.special is not None:
        return _OPEN
    low: End = 0
    high: End = 0
    for part, coefficient in term.parts.items():
        factor = Fraction(coefficient)
        of_part = _OPEN
        if part.exponent is None and not part.factors:
            of_part = (1, 1)
        elif part.exponent is None and len(part.factors) == 1:
            ((leaf, power),) = part.factors
            of_part = _of_leaf(leaf) if power == 1 else _OPEN
        first, last = of_part if factor > 0 else (of_part[1], of_part[0])
        low = None if low is None or first is None else low + factor * first
        high = None if high is None or last is None else high + factor * last
    return low, high


def _of_leaf(leaf: Leaf) -> Ends:
    match leaf:
        case Max():
            known = [(g, ends(g.body)) for g in leaf.generators]
            always = [
                e[0] for g, e in known if not g.variables and g.domain.is_universe
            ]
            lows = [low for low in always if low is not None]
            highs = [e[1] for _, e in known]
            high = None if None in highs else max(h for h in highs if h is not None)
            return max(lows, default=None), high
        case Call(function=("floor" | "ceil" | "round") as name):
            low, high = ends(leaf.args[0])
            cut = _ROUNDED[name]
            return None if low is None else cut(low), None if high is None else cut(
                high
            )
        case _:
            return _OPEN


def is_whole(term: Term) -> bool:
    """Whether a term is a whole number by its form."""
    if term.special is not None:
        return False
    for part, coefficient in term.parts.items():
        if part.exponent is not None or Fraction(coefficient).denominator != 1:
            return False
        for leaf, power in part.factors:
            if Fraction(power).denominator != 1 or power < 0 or not _is_whole(leaf):
                return False
    return True


def _is_whole(leaf: Leaf) -> bool:
    match leaf:
        case Whole() | Call(function="floor" | "ceil" | "round"):
            return True
        case Max():
            return all(is_whole(g.body) for g in leaf.generators)
        case Sum():
            return is_whole(leaf.body)
        case _:
            return False
