"""Remainders by numbers, in what `division.py` has made of them.

``x mod n`` is ``x - n * (x // n)``. Bounds of both parts alone would say nothing of a
number that lies between 0 and n - 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms.division import complement, parts
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
        for whole, number in _multiples(quotient, value):
            if number < 2 or coefficient % number:
                continue
            times = -coefficient // number
            rest = value - times * (whole - number * Integer.atom(quotient))
            if rest.terms.keys() <= value.terms.keys() - {monomial} | {()}:
                found.append((times, number))
                value = rest
                break
    return found, value


def _multiples(quotient: Opaque, value: Integer) -> Iterator[tuple[Integer, int]]:
    """What a quotient is the quotient of, and by which number.

    ``y // 6`` is that of y by 6, and of ``y // 2`` by 3, which of ``y = 5 x`` is
    ``2 x + x // 2``.
    """
    dividend, divisor = quotient.args
    number = divisor.constant
    if number is None:
        return
    yield dividend, number
    for atom in value.atoms():
        if not isinstance(atom, Opaque) or atom.op != "div":
            continue
        less = atom.args[1].constant
        if not less or less < 2 or number % less:
            continue
        whole = Integer({m: c // less for m, c in dividend.terms.items()})
        rest = dividend - less * whole
        if atom.args[0] == rest:
            yield whole + Integer.atom(atom), number // less
        elif atom.args[0] == complement(rest, less):
            yield whole + parts(rest) - Integer.atom(atom), number // less
