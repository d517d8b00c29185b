"""Element-wise functions on values, by the names of `argus.ir.functions`.

Arithmetic is exact. Functions of which no law is used are calls: equal arguments give
equal results. Approximate instructions (`fdiv`, `tanh_approx`) are their function, and
casts between floats are the identity: terms are real numbers.

Integers stay integers under the functions that are defined on integers; their overflow
is not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product as choices
from math import prod

from argus.terms.arithmetic import (
    absolute,
    add,
    exponential_of,
    infinite_at,
    larger,
    logarithm_of,
    multiply,
    natural_power,
    power,
    rounded,
    smaller,
    tidied_call,
    zero_at,
)
from argus.terms.bits import counted, encoded, of_bits
from argus.terms.cast import to_integer, to_real, to_truth
from argus.terms.choosing import selected
from argus.terms.cleared import cleared
from argus.terms.comparisons import asked
from argus.terms.domains import (
    NumberNeed,
    divided_by,
    divisors,
    exponent_of,
    is_log_of_zero,
    needs,
    note_lost,
)
from argus.terms.ends import is_whole
from argus.terms.folds import together
from argus.terms.integers import Comparison, Integer
from argus.terms.obligations import TermObligation
from argus.terms.sets import IndexSet, union
from argus.terms.sums import sum_over, tidy
from argus.terms.term import LN2, ONE, ZERO, Product, Term, leaf_term, number, whole
from argus.terms.unknown import Unknown
from argus.terms.value import Case, Value, merged
from argus.terms.world import World

COMPARISONS: dict[str, Comparison] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_LOGICAL = ("and", "or", "xor")
_ARITHMETIC = ("add", "sub", "mul", "neg", "fma", "maximum", "minimum", "abs")
_QUOTIENTS = ("floordiv", "mod")
_ENCODINGS = ("twice_e2m1", "mulhi32", "mulhi64", "popcount32", "popcount64")
"""Functions of the bits of whole numbers that are whole numbers."""
_SUMS = ("add", "sub", "fma")
_MOST_CASES = 16
"""Of a sum; beyond, its summands are put into one case each."""
_CALLS = ("tanh", "erf", "sin", "cos", "atan", "fmod")
"""Functions of which nothing is used but what `parity` says."""
_SAME = {"fdiv": "div", "tanh_approx": "tanh"}
"""Approximate instructions, and the functions that they are."""
_LN2_TERM = leaf_term(LN2)
_PER_LN2 = leaf_term(LN2, -1)

RealFunction = Callable[[World, IndexSet, Sequence[Term]], Term]


def apply(world: World, function: str, *values: Value) -> Value:
    """An element-wise function of values.

    Raises Unknown for a function that has no meaning here.
    """
    name = _SAME.get(function, function)
    if name in COMPARISONS:
        left, right = values
        return compared(world, COMPARISONS[name], left, right)
    if name == "where":
        return _chosen(world, *values)
    if name == "not" or (name in _LOGICAL and all(v.kind == "truth" for v in values)):
        return _logical(world, name, values)
    if name in (*_QUOTIENTS, *_LOGICAL, *_ENCODINGS):
        return _on_integers(world, name, [_as_whole(world, name, v) for v in values])
    if name in _ARITHMETIC and all(v.kind != "real" for v in values):
        return _on_integers(world, name, values)
    if name not in REAL:
        raise Unknown(f"the function {function}")
    if name in _SUMS and prod(len(v.cases) for v in values) > _MOST_CASES:
        values = tuple(_of_one_case(world, v) for v in values)
    return lifted(world, REAL[name], values)


def _as_whole(world: World, name: str, value: Value) -> Value:
    """Whole numbers, also sums of them, which are real numbers among terms."""
    if not is_whole_value(value):
        raise Unknown(f"{name} of numbers that are not integers")
    return to_integer(world, value)


def is_whole_value(value: Value) -> bool:
    """Whether a value is a whole number by its form, in all cases."""
    return value.kind != "real" or all(is_whole(x) for _, x in value.terms)


def _of_one_case(world: World, value: Value) -> Value:
    """A value as the sum of what its cases add up, each where it does.

    Summands of which each has two cases of its own have two to the power of their
    number together, which no step could look at. What all cases have is one summand.
    """
    real = to_real(world, value)
    if len(real.cases) == 1 or any(x.special is not None for _, x in real.terms):
        return value
    held: dict[tuple[Product, int | Fraction], list[IndexSet]] = {}
    for where, term in real.terms:
        for part in term.parts.items():
            held.setdefault(part, []).append(where)
    total = ZERO
    for (part, coefficient), sets in held.items():
        where = union(sets)
        if len(sets) == len(real.terms) and world.is_empty(~where):
            where = IndexSet.universe
        summand = Term({part: coefficient})
        total = total + sum_over(world, [], world.close(where), summand)
    return Value.real(tidy(world, total))


def lifted(world: World, function: RealFunction, values: Sequence[Value]) -> Value:
    """A function of terms, case by case."""
    reals = [to_real(world, v) for v in values]
    cases: list[Case] = []
    for chosen in choices(*(v.terms for v in reals)):
        where = _meet(world, [held for held, _ in chosen])
        if where is not None:
            cases.append((where, _made(world, where, function, [x for _, x in chosen])))
    return merged(world, "real", cases)


def _made(
    world: World, where: IndexSet, function: RealFunction, args: Sequence[Term]
) -> Term:
    """A function of terms; what they need and their result does not show is noted."""
    made = function(world, where, args)
    if function in _DIVIDING:
        needed = divided_by(world, tidy(world, args[-1]))
    elif function in _EXPONENTIAL:
        needed = exponent_of(world, args[-1])
    else:
        needed = needs(world, args[-1])
    needed = needed.union(*(needs(world, x) for x in args[:-1]))
    if needed:
        note_lost(world, where, args, needed, needs(world, made))
    return made


def compared(world: World, op: Comparison, left: Value, right: Value) -> Value:
    """Where one value compares with another: of data, by atoms that are 0 or 1."""
    found: list[IndexSet] = []
    if left.kind != "real" and right.kind != "real":
        left, right = to_integer(world, left), to_integer(world, right)
        for (s, x), (t, y) in choices(left.integers, right.integers):
            found.append(s & t & world.compare(x, op, y))
        return Value.truth(union(found))
    left, right = to_real(world, left), to_real(world, right)
    for (s, x), (t, y) in choices(left.terms, right.terms):
        where = _meet(world, [s, t])
        if where is not None and not _undefined(world, where, x, y):
            holds = compared_terms(world, op, x, y)
            needed = needs(world, x) | needs(world, y)
            if needed:
                note_lost(world, where, [x, y], needed, needs(world, holds))
            found.append(where & holds)
    return Value.truth(union(found))


def _undefined(world: World, where: IndexSet, *terms: Term) -> bool:
    """Whether a term is not defined there: padding that is divided by.

    What it compares with is nothing to go by, and no store gets there: this is noted.
    """
    found = next((t for t in terms if t.undefined is not None), None)
    if found is not None:
        why = "it is compared, and not defined"
        nowhere = IndexSet.nothing
        world.obligations.add(TermObligation("finite", found, where, nowhere, why))
    return found is not None


def compared_terms(world: World, op: Comparison, left: Term, right: Term) -> IndexSet:
    """Where one term compares with another."""
    if left.special is not None or right.special is not None:
        return _compared_special(world, op, left, right)
    difference = left - right
    whole, _ = cleared(difference)
    if whole is not None:
        return world.compare(whole, op, 0)
    if op in (">=", "<") and is_whole(difference):
        # In one form: a count is at least 1 where it is above 0.
        difference, op = difference + ONE, ">" if op == ">=" else "<="
    for sign in (1, -1):
        zero = zero_at(world, difference.scaled(sign))
        if zero is not None:
            above = world.compare(sign, op, 0)
            return (zero & world.compare(0, op, 0)) | (above - zero)
    reversed_ = op in ("<", ">=")
    shown = -difference if reversed_ else difference
    kind = "eq" if op in ("==", "!=") else "gt"
    holds = op in ("==", ">", "<")
    shown = asked(shown, signed=kind == "gt")
    return world.told(world.truth_of(kind, shown), holds)


def _compared_special(
    world: World, op: Comparison, left: Term, right: Term
) -> IndexSet:
    for term in (left, right):
        if term.undefined is not None:
            raise Unknown(f"a comparison with what is not defined: {term.undefined}")
        if is_log_of_zero(world, term):
            raise Unknown("a comparison of the logarithm of 0 with infinity")
    if not (left.infinite and right.infinite):
        world.convention("data is finite where it is compared with infinity")
    found: list[IndexSet] = []
    (first, one), (second, other) = (infinite_at(world, x) for x in (left, right))
    for sign, where in ((first, one), (0, ~one)):
        for against, there in ((second, other), (0, ~other)):
            found.append(where & there & world.compare(sign - against, op, 0))
    return union(found)


def _meet(world: World, sets: Sequence[IndexSet]) -> IndexSet | None:
    """The common points of several cases, or None where there are none."""
    where = IndexSet.universe
    narrowed = 0
    for one in sets:
        where = where & one
        narrowed += not one.is_universe
    return None if narrowed > 1 and world.is_empty(where) else where


def _logical(world: World, name: str, values: Sequence[Value]) -> Value:
    sets = [to_truth(world, v).where for v in values]
    if name == "not":
        return Value.truth(~sets[0])
    left, right = sets
    if name == "and":
        return Value.truth(left & right)
    if name == "or":
        return Value.truth(left | right)
    return Value.truth((left - right) | (right - left))


def _chosen(world: World, condition: Value, then: Value, other: Value) -> Value:
    where = to_truth(world, condition).where
    if then.kind != other.kind:
        real = "real" in (then.kind, other.kind)
        change = to_real if real else to_integer
        then, other = change(world, then), change(world, other)
    return selected(world, where, then, other)


def _on_integers(world: World, name: str, values: Sequence[Value]) -> Value:
    integers = [to_integer(world, v) for v in values]
    cases: list[Case] = []
    for chosen in choices(*(v.integers for v in integers)):
        where = _meet(world, [held for held, _ in chosen])
        if where is not None:
            args = [x for _, x in chosen]
            cases.append((where, _of_integers(world, where, name, args)))
    return merged(world, "integer", cases)


def _of_integers(
    world: World, where: IndexSet, name: str, args: Sequence[Integer]
) -> Integer:
    match name, *args:
        case "add", x, y:
            return x + y
        case "sub", x, y:
            return x - y
        case "mul", x, y:
            return x * y
        case "fma", x, y, z:
            return x * y + z
        case "neg", x:
            return -x
        case "abs", x:
            return world.maximum(x, -x)
        case "floordiv", x, y:
            return _quotient(world, where, x, y)
        case "mod", x, y:
            return x - y * _quotient(world, where, x, y)
        case "maximum", x, y:
            return world.maximum(x, y)
        case "minimum", x, y:
            return world.minimum(x, y)
        case (("and" | "or" | "xor"), x, y):
            return of_bits(world, name, x, y)
        case "twice_e2m1", x:
            return encoded(world, name, x)
        case "mulhi32", x, y:
            return _quotient(world, where, x * y, Integer.of(1 << 32))
        case "mulhi64", x, y:
            return _quotient(world, where, x * y, Integer.of(1 << 64))
        case (("popcount32" | "popcount64"), x):
            return counted(name, x)
        case _:
            raise Unknown(f"{name} of integers")


def _quotient(
    world: World, where: IndexSet, dividend: Integer, divisor: Integer
) -> Integer:
    if divisor.constant == 0:
        raise Unknown(f"a division by 0: {dividend} // 0")
    made = world.quotient(dividend, divisor)
    if divisor.constant is None:
        needed = [NumberNeed("divisor", whole(divisor))]
        note_lost(world, where, [], needed, divisors(made))
    return made


def _call(name: str) -> RealFunction:
    return lambda world, where, args: tidied_call(world, name, args)


REAL: dict[str, RealFunction] = {
    "add": lambda world, where, a: add(world, where, a[0], a[1]),
    "sub": lambda world, where, a: add(world, where, a[0], -a[1]),
    "mul": lambda world, where, a: together(world, multiply(world, where, a[0], a[1])),
    "fma": lambda world, where, a: add(
        world, where, multiply(world, where, a[0], a[1]), a[2]
    ),
    "div": lambda world, where, a: multiply(
        world, where, a[0], power(world, where, a[1], -1)
    ),
    "neg": lambda world, where, a: -a[0],
    "nearest_tf32": lambda world, where, a: a[0],
    "abs": lambda world, where, a: absolute(world, a[0]),
    "maximum": lambda world, where, a: larger(world, a[0], a[1]),
    "minimum": lambda world, where, a: smaller(world, a[0], a[1]),
    "exp": lambda world, where, a: exponential_of(world, where, a[0]),
    "exp2": lambda world, where, a: exponential_of(
        world, where, multiply(world, where, a[0], _LN2_TERM)
    ),
    "expm1": lambda world, where, a: exponential_of(world, where, a[0]) - ONE,
    "log": lambda world, where, a: logarithm_of(world, where, a[0]),
    "log2": lambda world, where, a: multiply(
        world, where, logarithm_of(world, where, a[0]), _PER_LN2
    ),
    "log1p": lambda world, where, a: logarithm_of(world, where, a[0] + number(1)),
    "sqrt": lambda world, where, a: power(world, where, a[0], Fraction(1, 2)),
    "rsqrt": lambda world, where, a: power(world, where, a[0], Fraction(-1, 2)),
    "rcp": lambda world, where, a: power(world, where, a[0], -1),
    "floor": lambda world, where, a: rounded(world, "floor", a[0]),
    "ceil": lambda world, where, a: rounded(world, "ceil", a[0]),
    "round": lambda world, where, a: rounded(world, "round", a[0]),
    "pow": lambda world, where, a: natural_power(world, a[0], a[1]),
    **{name: _call(name) for name in _CALLS},
}
"""What each function is on terms that hold where a set does."""
_DIVIDING = tuple(REAL[name] for name in ("div", "rcp"))
_EXPONENTIAL = tuple(REAL[name] for name in ("exp", "exp2"))
