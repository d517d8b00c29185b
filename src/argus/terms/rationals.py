"""Rational numbers by their divisors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import gcd

_LARGEST_PRIME = 1000
"""Numbers are divided by primes up to here; what is left counts as a prime."""


def common_number(left: Fraction, right: Fraction) -> Fraction:
    """The largest rational number of which both are integer multiples."""
    if not left:
        return abs(right)
    common = gcd(left.numerator * right.denominator, right.numerator * left.denominator)
    return Fraction(common, left.denominator * right.denominator)


def primes(value: Fraction) -> Mapping[int, int]:
    """The powers of primes whose product a positive number is."""
    found: dict[int, int] = {}
    for rest, sign in ((value.numerator, 1), (value.denominator, -1)):
        prime = 2
        while rest > 1 and prime <= _LARGEST_PRIME:
            while rest % prime == 0:
                rest //= prime
                found[prime] = found.get(prime, 0) + sign
            prime += 1
        if rest > 1:
            found[rest] = found.get(rest, 0) + sign
    return {p: n for p, n in found.items() if n}
