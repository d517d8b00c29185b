"""Functions that are odd or even, and what they are at 0 and at parts of pi.

The sine of ``z - x`` is the negative of that of ``x - z``, and their cosines are the
same: of an argument and its negative the one is taken whose first coefficient is
positive. ``cos(2 pi / 4)`` is 0, so that a transform of a few points has no cosine.
"""

from __future__ import annotations

from fractions import Fraction

from argus.terms.leaves import Call
from argus.terms.powers import raised
from argus.terms.term import ONE, PI, ZERO, Product, Term, leaf_term, number, simple

__all__ = ["call"]

_ODD, _EVEN = ("sin", "erf", "atan", "tanh"), ("cos",)
_HALF = Fraction(1, 2)
_ROOTS: dict[Fraction, tuple[Fraction, int]] = {
    Fraction(0): (Fraction(0), 1),
    Fraction(1, 6): (_HALF, 1),
    Fraction(1, 4): (_HALF, 2),
    Fraction(1, 3): (_HALF, 3),
    _HALF: (Fraction(1), 1),
}
"""The sine of so many times pi: a fraction of the root of a number."""


def call(name: str, *args: Term) -> Term:
    """A function of terms that are tidy, defined and finite."""
    (term, *others) = args
    if others or name not in _ODD + _EVEN:
        return leaf_term(Call(name, args))
    if not term.parts:
        return ONE if name in _EVEN else ZERO
    turns = _times_pi(term)
    if turns is not None and name in ("sin", "cos"):
        found = _sine(turns if name == "sin" else turns + _HALF)
        if found is not None:
            return found
    if next(iter(term.parts.values())) < 0:
        made = leaf_term(Call(name, (-term,)))
        return -made if name in _ODD else made
    return leaf_term(Call(name, (term,)))


def _times_pi(term: Term) -> Fraction | None:
    """The rational number of which a term is so many times pi."""
    if len(term.parts) != 1:
        return None
    ((part, coefficient),) = term.parts.items()
    return Fraction(coefficient) if part == Product({PI: 1}) else None


def _sine(turns: Fraction) -> Term | None:
    """The sine of so many times pi, where it is a root."""
    within = turns % 2
    sign = 1 if within < 1 else -1
    within %= 1
    known = _ROOTS.get(min(within, 1 - within))
    if known is None:
        return None
    times, square = known
    return raised(number(square), _HALF).scaled(simple(times * sign))
