"""Powers, exponentials and logarithms of terms, in normal form.

The laws are those of real numbers where both sides are defined:

- ``(x y)^a = x^a y^a`` for integers ``a``, or where ``x`` is not negative;
- ``exp(x)^a = exp(a x)``, ``exp(log x) = x``, ``exp(a ln 2) = 2^a``;
- ``log(c x) = log c + log x`` for ``c > 0``, ``log(exp(x)) = x``;
- rational numbers are powers of primes, so that ``1 / sqrt(128)`` has one form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from argus.terms.integers import Integer, Truth, Variable
from argus.terms.leaves import Base, Call, Constant, Leaf, Max, Sum, Whole
from argus.terms.rationals import common_number, primes
from argus.terms.term import (
    LN2,
    ONE,
    ZERO,
    Product,
    Rational,
    Term,
    leaf_term,
    number,
    simple,
    undefined,
)
from argus.terms.unknown import Unknown

_MOST_BITS = 2048
"""Of a number that is written out; powers of two that are larger stay exponentials."""
_EXPANDED = 8
"""Powers up to here are multiplied out; a higher one of a sum stays a power."""
LOG_OF_ZERO = Call("log", (ZERO,))
"""Of which no law is used but that ``exp(a log 0)`` is 0 for ``a > 0``."""


def raised(term: Term, power: Rational) -> Term:
    """A term to a rational power."""
    power = simple(Fraction(power))
    if term.undefined is not None or power == 1:
        return term
    if power == 0:
        return ONE
    if term.infinite:
        return _raised_infinity(term, power)
    if not term.parts:
        return ZERO if power > 0 else undefined("a division by 0")
    value = term.constant
    if value is not None:
        return _raised_number(Fraction(value), power)
    if len(term.parts) == 1:
        ((part, coefficient),) = term.parts.items()
        return _raised_product(part, Fraction(coefficient), power)
    if isinstance(power, int) and 0 < power <= _EXPANDED:
        result = term
        for _ in range(power - 1):
            result = result * term
        return result
    one = _one_product(term)
    if one is not None:
        return raised(one, power)
    if isinstance(power, Fraction) and abs(power) > 1:
        # As where roots are multiplied: the sign of a whole power is one of two.
        return raised(term, int(power)) * raised(term, power - int(power))
    outside, inside = _content(term, isinstance(power, int))
    base = leaf_term(Base(inside), power)
    return base if outside == ONE else raised(outside, power) * base


def multiplied_out(product: Product) -> Term | None:
    """A product whose bases have powers that are to be worked out, or None."""
    for leaf, power in product.factors:
        if isinstance(leaf, Call) and leaf.function == "abs":
            if not isinstance(power, int) or power % 2 or power < 0:
                continue
            rest = Product({f: y for f, y in product.factors if f is not leaf})
            square = raised(leaf.args[0], power)
            return square * Term({rest.times(Product({}, product.exponent)): 1})
        if not isinstance(leaf, Base):
            continue
        value = leaf.term.constant
        if value is not None:
            done = isinstance(power, Fraction) and 0 < power < 1
        elif isinstance(power, int):
            done = power < 0 or power > _EXPANDED
            done = done and raised(leaf.term, power) == leaf_term(leaf, power)
        else:
            done = True
        if not done:
            rest = {f: y for f, y in product.factors if f is not leaf}
            others = Term({Product(rest, product.exponent): 1})
            return raised(leaf.term, power) * others
    return None


def exponential(term: Term) -> Term:
    """The exponential of a term."""
    if term.undefined is not None:
        return term
    if term.infinite:
        if term.infinite < 0:
            return ZERO
        return term
    outside = ONE
    inside: dict[Product, Rational] = {}
    for part, coefficient in term.parts.items():
        leaf, power = part.factors[0] if len(part.factors) == 1 else (None, 0)
        plain = part.exponent is None and power == 1
        if plain and leaf == LN2 and abs(coefficient) < _MOST_BITS:
            outside = outside * raised(number(2), coefficient)
        elif plain and _is_log(leaf):
            assert isinstance(leaf, Call)
            outside = outside * raised(leaf.args[0], coefficient)
        else:
            inside[part] = coefficient
    if not inside:
        return outside
    return outside * Term({Product({}, Term(inside)): 1})


def logarithm(term: Term) -> Term:
    """The natural logarithm of a term; of what is negative it is not defined.

    That of 0 is no number, but multiples of it are exponents: 0 to the power of them.
    """
    if term.undefined is not None:
        return term
    if term.infinite:
        return undefined("the logarithm of infinity")
    if not term.parts:
        return leaf_term(LOG_OF_ZERO)
    value = term.constant
    if value is not None:
        return _log_of_number(Fraction(value))
    if len(term.parts) > 1:
        one = _one_product(term)
        if one is not None:
            return logarithm(one)
        outside, inside = _content(term, False)
        log = leaf_term(Call("log", (inside,)))
        return log if outside == ONE else logarithm(outside) + log
    ((part, coefficient),) = term.parts.items()
    total = part.exponent if part.exponent is not None else ZERO
    rest: dict[Leaf, Rational] = {}
    if coefficient > 0:
        total = total + _log_of_number(Fraction(coefficient))
        coefficient = 1
    for leaf, power in part.factors:
        if is_nonnegative(leaf):
            argument = leaf.term if isinstance(leaf, Base) else leaf_term(leaf)
            total = total + _log_of_positive(argument).scaled(power)
        else:
            rest[leaf] = power
    if not rest and coefficient == 1:
        return total
    if coefficient == 1 and len(rest) == 1:
        ((leaf, power),) = rest.items()
        if _keeps_sign(power):
            argument = leaf.term if isinstance(leaf, Base) else leaf_term(leaf)
            return total + leaf_term(Call("log", (argument,))).scaled(power)
    left = Term({Product(rest): coefficient})
    return total + leaf_term(Call("log", (left,)))


def is_nonnegative(value: Leaf | Term) -> bool:
    """Whether a number is at least 0 by its form."""
    match value:
        case Term():
            return all(
                c > 0 and _is_nonnegative_product(p) for p, c in value.parts.items()
            )
        case Constant():
            return True
        case Call(function="abs"):
            return True
        case Base(term=term):
            return is_nonnegative(term)
        case Sum(body=body):
            return is_nonnegative(body)
        case Max():
            return _is_some(value, is_nonnegative)
        case Whole(atom=Variable(lower=Integer() as lower)):
            low = lower.constant
            return low is not None and low >= 0
        case Whole(atom=Truth()):
            return True
        case _:
            return False


def is_positive(term: Term) -> bool:
    """Whether a term is greater than 0 by its form, if no sum in it is empty."""
    if term.special is not None or not is_nonnegative(term):
        return False
    return any(_is_positive_product(p) for p in term.parts)


def _is_positive_product(product: Product) -> bool:
    for leaf, _ in product.factors:
        match leaf:
            case Constant():
                pass
            case Sum(body=body) if is_positive(body):
                pass
            case Base(term=term) if is_positive(term):
                pass
            case Max() if _is_some(leaf, is_positive):
                pass
            case _:
                return False
    return True


def _is_some(leaf: Max, holds: Callable[[Term], bool]) -> bool:
    """Whether one of the numbers of a maximum has a sign, or the mean of two has."""
    whole = [g for g in leaf.generators if not g.variables and g.domain.is_universe]
    bodies = [g.body for g in whole if g.body.special is None]
    return any(map(holds, bodies)) or any(
        holds(one + other) for one, other in combinations(bodies, 2)
    )


def _is_nonnegative_product(product: Product) -> bool:
    return all(
        (isinstance(power, int) and power % 2 == 0)
        or (isinstance(power, Fraction) and power.denominator % 2 == 0)
        or is_nonnegative(leaf)
        for leaf, power in product.factors
    )


def _keeps_sign(power: Rational) -> bool:
    """Whether x^power > 0 says that x > 0: of odd powers, and of even roots."""
    if isinstance(power, int):
        return power % 2 == 1
    return power.denominator % 2 == 0 or power.numerator % 2 == 1


def _is_log(leaf: Leaf | None) -> bool:
    return isinstance(leaf, Call) and leaf.function == "log"


def _raised_infinity(term: Term, power: Rational) -> Term:
    if power < 0:
        return ZERO
    if isinstance(power, int):
        return -term if term.infinite < 0 and power % 2 == 0 else term
    return undefined("a root of infinity")


def _raised_number(value: Fraction, power: Rational) -> Term:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits * abs(power) > _MOST_BITS and abs(value) != 1:
        raise Unknown(f"a power of a number that has more than {_MOST_BITS} bits")
    if isinstance(power, int):
        return number(simple(value**power))
    if value < 0:
        return undefined("a root of a negative number")
    factor = Fraction(1)
    leaves: dict[Leaf, Rational] = {}
    for prime, count in primes(value).items():
        exponent = count * power
        below = exponent.numerator // exponent.denominator
        factor *= Fraction(prime) ** below
        rest = exponent - below
        if rest:
            leaves[Base(number(prime))] = rest
    return Term({Product(leaves): simple(factor)})


def _raised_product(part: Product, coefficient: Fraction, power: Rational) -> Term:
    exponent = part.exponent.scaled(power) if part.exponent is not None else None
    if isinstance(power, int):
        factors = {leaf: y * power for leaf, y in part.factors}
        raised_part = Product(factors, exponent)
        out = multiplied_out(raised_part)
        result = Term({raised_part: 1}) if out is None else out
        return result.scaled(simple(coefficient**power))
    known: dict[Leaf, Rational] = {}
    rest: dict[Leaf, Rational] = {}
    for leaf, y in part.factors:
        even_root = isinstance(y, Fraction) and y.denominator % 2 == 0
        if even_root or is_nonnegative(leaf):
            known[leaf] = y * power
        elif isinstance(y, int) and y % 2 == 0:
            known[_absolute(leaf)] = y * power
        else:
            rest[leaf] = y
    sign = 1 if coefficient > 0 else -1
    if sign > 0 and len(rest) == 1:
        ((leaf, y),) = rest.items()
        known[leaf] = y * power
        rest = {}
    result = _raised_number(abs(coefficient), power)
    outside = Product(known, exponent)
    out = multiplied_out(outside)
    result = result * (Term({outside: 1}) if out is None else out)
    if rest or sign < 0:
        result = result * leaf_term(Base(Term({Product(rest): sign})), power)
    return result


def _absolute(leaf: Leaf) -> Leaf:
    return Call("abs", (leaf_term(leaf),))


def _content(term: Term, integral: bool) -> tuple[Term, Term]:
    """(c, p) with term = c * p: what all parts have in common, and the rest.

    For a power that is no integer, only what is positive is taken out. An exponential
    is never 0, so that of each of its terms the least multiple is taken out, as of
    Laurent polynomials: 1 + exp(-x) and exp(x) + 1 leave the same.
    """
    parts = list(term.parts.items())
    number_ = Fraction(0)
    for _, coefficient in parts:
        number_ = common_number(number_, Fraction(coefficient))
    exponent = _least_exponent([p.exponent for p, _ in parts])
    shared: dict[Leaf, Rational] = {}
    for leaf, power in parts[0][0].factors:
        powers = [dict(p.factors).get(leaf, 0) for p, _ in parts]
        least = min(powers) if power > 0 else max(powers)
        if all(y * power > 0 for y in powers) and (integral or is_nonnegative(leaf)):
            shared[leaf] = least
    inverse = Product({leaf: -y for leaf, y in shared.items()}, -exponent)
    rest = Term({p.times(inverse): simple(Fraction(c) / number_) for p, c in parts})
    if integral and next(iter(rest.parts.values())) < 0:
        number_, rest = -number_, -rest
    return Term({Product(shared, exponent): simple(number_)}), rest


def _one_product(term: Term) -> Term | None:
    """A sum of fractions that is one product: ``1 / b`` of ``1 - (b - 1) / b``.

    None where it is none with all divisors that are not negative as one.
    """
    found = over_one_divisor(term)
    if found is None or len(found[0].parts) != 1 or found[0].special is not None:
        return None
    return found[0] * Term({found[1]: 1})


def over_one_divisor(term: Term) -> tuple[Term, Product] | None:
    """(a, d) with ``term = a*d``: d divides by all divisors that are not negative.

    None where there are none, or where their powers are not written out.
    """
    below: dict[Leaf, int] = {}
    for part in term.parts:
        for leaf, power in part.factors:
            if not isinstance(leaf, Base) or not is_nonnegative(leaf):
                continue
            if isinstance(power, int) and power < 0:
                below[leaf] = max(below.get(leaf, 0), -power)
    if not below:
        return None
    above = ZERO
    for part, coefficient in term.parts.items():
        factors = {f: y for f, y in part.factors if f not in below}
        made = Term({Product(factors, part.exponent): coefficient})
        powers = dict(part.factors)
        for leaf, times in below.items():
            left = powers.get(leaf, 0) + times
            if not isinstance(left, int) or left > _EXPANDED:
                return None
            assert isinstance(leaf, Base)
            made = made * raised(leaf.term, left)
        above = above + made
    return above, Product({leaf: -times for leaf, times in below.items()})


def _least_exponent(exponents: Sequence[Term | None]) -> Term:
    """Of each part of several exponents the least multiple; one that lacks it has 0."""
    found = [{} if e is None else e.parts for e in exponents]
    every = dict.fromkeys(part for parts in found for part in parts)
    return Term({p: min(parts.get(p, 0) for parts in found) for p in every})


def _log_of_positive(term: Term) -> Term:
    if term.constant is not None:
        return _log_of_number(Fraction(term.constant))
    return leaf_term(Call("log", (term,)))


def _log_of_number(value: Fraction) -> Term:
    if value <= 0:
        return undefined("the logarithm of a number that is not positive")
    total = ZERO
    for prime, count in primes(value).items():
        log = leaf_term(LN2 if prime == 2 else Call("log", (number(prime),)))
        total = total + log.scaled(count)
    return total
