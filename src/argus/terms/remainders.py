"""Remainders by numbers, in what `division.py` has made of them.

``x mod n`` is ``x - n * (x // n)``. Bounds of both parts alone would say nothing of a
number that lies between 0 and n - 1.
"""

from __future__ import annotations

from argus.terms.integers import Integer, Opaque

__all__ = ["remainders"]


def remainders(value: Integer) -> tuple[list[tuple[int, int]], Integer]:
    """Pairs (c, n) of c times a remainder by n, and the integer that is left.

    The value is their sum. A quotient is left where its dividend is not beside it.
    """
    found: list[tuple[int, int]] = []
    for monomial, coefficient in value.terms.items():
        quotient = monomial[0] if len(monomial) == 1 else None
        if not isinstance(quotient, Opaque) or quotient.op != "div":
            continue
        dividend, divisor = quotient.args
        number = divisor.constant
        if number is None or number < 2 or coefficient % number:
            continue
        times = -coefficient // number
        rest = value - times * (dividend - number * Integer.atom(quotient))
        if rest.terms.keys() <= value.terms.keys() - {monomial} | {()}:
            found.append((times, number))
            value = rest
    return found, value
