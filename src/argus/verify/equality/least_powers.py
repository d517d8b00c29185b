"""Powers of one base, as those with the least exponent.

A recurrence ``c' = a*c + g`` adds up g(i) * a^(n-1-i), and one that has begun a step
earlier, or that is asked for a step later, a^(n-i). For n - i >= 1 that is
``a * a^(n-1-i)``, and a^0 is 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import ONE, Call, IndexSet, Integer, Product, Sum, Term, World
from argus.terms.maxima import opened
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ZERO, leaf_term, whole

__all__ = ["with_least_powers"]

_APART = 4
"""How far exponents of one base are apart, at most."""
_Least = dict[tuple[Term, Integer], int]
"""The least constant in exponents of a base that differ in constants only."""


def with_least_powers(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with powers of fewer exponents."""
    least = _least(term)
    if least is None:
        return term
    total = ZERO
    for part, coefficient in term.parts.items():
        made = Term({Product({}, part.exponent): coefficient})
        for leaf, power in part.factors:
            if isinstance(leaf, Sum) and power == 1:
                factor = _in_sum(world, leaf, least)
            elif isinstance(leaf, Call) and power == 1:
                factor = _alone(world, here, leaf, least)
            else:
                factor = leaf_term(leaf, power)
            made = made * factor
        total = total + made
    return tidy(world, total)


def _least(term: Term) -> _Least | None:
    """The least constants; None where no base has several."""
    found: _Least = {}
    several = False
    for call in _powers(term):
        base, rest, constant = _split(call)
        key = base, rest
        several = several or found.get(key, constant) != constant
        found[key] = min(found.get(key, constant), constant)
    return found if several else None


def _powers(term: Term) -> Iterator[Call]:
    """Powers with whole exponents that are factors, also in what sums add up."""
    for part in term.parts:
        for leaf, power in part.factors:
            if power != 1:
                continue
            if isinstance(leaf, Sum):
                yield from _powers(leaf.body)
            elif isinstance(leaf, Call) and _is_power(leaf):
                yield leaf


def _is_power(leaf: Call) -> bool:
    return leaf.function == "pow" and leaf.args[1].integer is not None


def _split(call: Call) -> tuple[Term, Integer, int]:
    """The base, and the exponent without its constant, and that."""
    base, exponent = call.args[0], call.args[1].integer
    assert exponent is not None
    constant = exponent.terms.get((), 0)
    return base, exponent - constant, constant


def _alone(world: World, here: IndexSet, leaf: Call, least: _Least) -> Term:
    """A power that no sum is around."""
    if not _is_power(leaf):
        return leaf_term(leaf)
    base, rest, constant = _split(leaf)
    first = least[base, rest]
    if constant - first > _APART:
        return leaf_term(leaf)
    if not world.is_subset(here, world.compare(rest + first, ">=", 0)):
        return leaf_term(leaf)
    return _raised(base, constant - first) * _power(leaf, rest + first)


def _in_sum(world: World, leaf: Sum, least: _Least) -> Term:
    """A sum in which the exponent is the least, and where it would be below 0, numbers.

    Its body is one product.
    """
    call = next((c for c in _powers(leaf.body) if _above(c, least)), None)
    if call is None or len(leaf.body.parts) != 1:
        return leaf_term(leaf)
    base, rest, constant = _split(call)
    first = least[base, rest]
    ((part, coefficient),) = leaf.body.parts.items()
    others = {f: y for f, y in part.factors if f is not call}
    beside = Term({Product(others, part.exponent): coefficient})
    exponent = rest + constant
    above = world.compare(rest + first, ">=", 0)
    natural = world.compare(exponent, ">=", 0)
    pieces = [
        (above, _raised(base, constant - first) * _power(call, rest + first)),
        (~natural, leaf_term(call)),
    ]
    for number in range(constant - first):
        at = world.compare(exponent, "==", number)
        pieces.append((at, _raised(base, number)))
    total = ZERO
    for there, factor in pieces:
        source = leaf.variables, leaf.domain & there, beside * factor
        if world.is_empty(source[1]):
            continue
        ((names, domain, body),) = opened(world, [source])
        total = total + sum_over(world, names, domain, body)
    return total


def _above(call: Call, least: _Least) -> bool:
    base, rest, constant = _split(call)
    return 0 < constant - least[base, rest] <= _APART


def _raised(base: Term, times: int) -> Term:
    found = ONE
    for _ in range(times):
        found = found * base
    return found


def _power(like: Call, exponent: Integer) -> Term:
    return leaf_term(Call("pow", [like.args[0], whole(exponent)]))
