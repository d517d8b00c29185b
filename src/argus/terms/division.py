"""Quotients, remainders, minima and maxima, in one form each.

``a // b`` is split into what ``b`` divides, term by term, and the rest. What is left of
a quotient by a number has coefficients from 0 to ``b - 1``, and no constant beside what
every launch has as a multiple of ``b``; of what is rounded down and of what is rounded
up it is the one with the smaller sum of coefficients. So equal quotients are equal
atoms. ``a mod b`` is ``a - b * (a // b)``, so that there are quotients only. The rest
has quotient 0 where its facts say that it lies between 0 and ``b``: Euclid's division,
also of mixed radix with symbolic divisors.

Divisors are not 0: a convention of each quotient by what may be 0.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Literal

from argus.terms.integers import Integer, Monomial, Opaque, without_factors

if TYPE_CHECKING:
    from argus.terms.world import World


def quotient(world: World, dividend: Integer, divisor: Integer) -> Integer:
    """``dividend // divisor``, rounded down."""
    number = divisor.constant
    if number == 0:
        raise ZeroDivisionError(f"{dividend} // 0")
    if number is not None and number < 0:
        return quotient(world, -dividend, Integer.of(-number))
    key = ("quotient", dividend, divisor)
    if key not in world.memory:
        world.memory[key] = (
            _by_symbol(world, dividend, divisor)
            if number is None
            else _by_number(world, dividend, number)
        )
    found = world.memory[key]
    assert isinstance(found, Integer)
    return found


def remainder(world: World, dividend: Integer, divisor: Integer) -> Integer:
    """``dividend - divisor * (dividend // divisor)``."""
    return dividend - divisor * quotient(world, dividend, divisor)


def extreme(
    world: World, op: Literal["min", "max"], left: Integer, right: Integer
) -> Integer:
    """The smaller or the larger of two integers."""
    small, large = (left, right) if op == "min" else (right, left)
    if world.is_empty(world.compare(small, ">", large)):
        return left
    if world.is_empty(world.compare(small, "<", large)):
        return right
    first, second = sorted((left, right), key=lambda i: i.key)
    return Integer.atom(Opaque(op, (first, second)))


def _by_number(world: World, dividend: Integer, number: int) -> Integer:
    """A quotient by a positive number."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in dividend.terms.items():
        whole[monomial], rest[monomial] = divmod(coefficient, number)
    left = Integer(rest)
    if left.constant is not None:
        return Integer(whole)
    return Integer(whole) + _of_rest(world, left, number)


def _of_rest(world: World, rest: Integer, number: int) -> Integer:
    """A quotient by a positive number that divides no coefficient."""
    common = gcd(number, *(c for m, c in rest.terms.items() if m))
    if common > 1:
        # (g y + c) // (g b) = (y + c // g) // b
        smaller = Integer({m: c // common for m, c in rest.terms.items()})
        return _by_number(world, smaller, number // common)
    constant = rest.terms.get((), 0)
    inner = (rest - constant).single
    if isinstance(inner, Opaque) and inner.op == "div":
        below = inner.args[1].constant
        if below is not None:
            # (x // a + c) // b = (x + a c) // (a b)
            return _by_number(world, inner.args[0] + below * constant, below * number)
    if _lies_within(world, rest, Integer.of(number)):
        return Integer.of(0)
    if constant and world.is_multiple(rest - constant, number):
        return _of_rest(world, rest - constant, number)  # 0 <= constant < number
    smaller = _without_low_part(world, rest, number)
    if smaller is not None:
        return smaller
    up = complement(rest, number)
    if _coefficients(up) != _coefficients(rest) and _weight(up) < _weight(rest):
        return parts(rest) - _of_rest(world, up, number)
    return Integer.atom(Opaque("div", (rest, Integer.of(number))))


def complement(rest: Integer, number: int) -> Integer:
    """What a rest is rounded up as: its quotient is its `parts` less that of this one.

    ``(127 y) // 128`` is ``y - (y + 127) // 128``.
    """
    turned = {m: number - c for m, c in rest.terms.items() if m}
    return Integer({**turned, (): number - 1 - rest.terms.get((), 0)})


def parts(rest: Integer) -> Integer:
    """The sum of the monomials of a rest."""
    return Integer({m: 1 for m in rest.terms if m})


def _coefficients(rest: Integer) -> list[int]:
    return [c for m, c in rest.terms.items() if m]


def _weight(rest: Integer) -> tuple[int, int, list[int]]:
    """Of a rest and its complement the lighter one is the form of both."""
    coefficients = _coefficients(rest)
    return sum(coefficients), rest.terms.get((), 0), coefficients


def _without_low_part(world: World, rest: Integer, number: int) -> Integer | None:
    """``(g y + r) // (g b)`` is ``y // b`` where ``0 <= r < g``; None without such a g.

    The digits of a number: of ``32 j + k`` with ``k < 32`` only j matters to ``// 96``.
    """
    constant = rest.terms.get((), 0)
    tried = {gcd(number, c) for m, c in rest.terms.items() if m} - {1, number}
    for g in sorted(tried):
        high = {m: c // g for m, c in rest.terms.items() if m and c % g == 0}
        low = {m: c for m, c in rest.terms.items() if m and c % g}
        whole, left = divmod(constant, g)
        if (
            high
            and low
            and _lies_within(world, Integer({**low, (): left}), Integer.of(g))
        ):
            return _by_number(world, Integer({**high, (): whole}), number // g)
    return None


def _by_symbol(world: World, dividend: Integer, divisor: Integer) -> Integer:
    """A quotient by what is not a number."""
    if not world.is_empty(world.compare(divisor, "==", 0)):
        world.convention(f"the divisor {divisor} is not 0")
    if dividend == divisor:
        return Integer.of(1)
    inner = dividend.single
    if isinstance(inner, Opaque) and inner.op == "div":
        below = inner.args[1]
        if below.constant is None and world.is_empty(world.compare(divisor, "<", 0)):
            return quotient(world, inner.args[0], below * divisor)
    whole, rest = _split(dividend, divisor)
    if rest == divisor:
        return whole + 1
    if not rest.terms or _lies_within(world, rest, divisor):
        return whole
    smaller = _without_low_symbol(world, rest, divisor)
    if smaller is not None:
        return whole + smaller
    below = world.is_empty(world.compare(divisor, "<", 0))
    if below and sum(_coefficients(rest)) < 0:
        # What is rounded up as what is rounded down: -(-x // d) is (x + d - 1) // d.
        return whole - 1 - quotient(world, -rest - 1, divisor)
    return whole + Integer.atom(Opaque("div", (rest, divisor)))


def _without_low_symbol(
    world: World, rest: Integer, divisor: Integer
) -> Integer | None:
    """``(d y + r) // (d b)`` is ``y // b`` where ``0 <= r < d``; None without such a d.

    ``b`` is not negative; ``d``: a part of the divisor that is no number.
    """
    if len(divisor.terms) != 1:
        return None
    ((atoms, number),) = divisor.terms.items()
    for at in range(1, len(atoms) + 1):
        for part in dict.fromkeys((atoms[:at], atoms[-at:])):
            inner = Integer({part: 1})
            left = list(atoms)
            for atom in part:
                left.remove(atom)
            outer = Integer({tuple(left): number})
            if outer.constant == 1 or not world.is_empty(world.compare(outer, "<", 0)):
                continue
            high, low = _split(rest, inner)
            if high.terms and _lies_within(world, low, inner):
                return quotient(world, high, outer)
    return None


def _split(dividend: Integer, divisor: Integer) -> tuple[Integer, Integer]:
    """(q, r) with dividend = q * divisor + r.

    Of a divisor of several monomials q has those that the dividend has all products of:
    ``i p + i q + j`` is ``i (p + q) + j``.
    """
    wanted, number = next(iter(divisor.terms.items()))
    whole: dict[Monomial, int] = {}
    rest = dividend
    for monomial, coefficient in dividend.terms.items():
        left = without_factors(monomial, wanted)
        if left is None or coefficient % number:
            continue
        part = Integer({left: coefficient // number})
        products = part * divisor
        if all(rest.terms.get(m) == c for m, c in products.terms.items()):
            whole.update(part.terms)
            rest = rest - products
    return Integer(whole), rest


def _lies_within(world: World, value: Integer, bound: Integer) -> bool:
    """Whether 0 <= value < bound, by the facts of what they mention."""
    return world.is_empty(world.compare(value, "<", 0)) and world.is_empty(
        world.compare(value, ">=", bound)
    )
