"""Values of one kind as values of another."""

from __future__ import annotations

from argus.terms.arithmetic import larger, rounded, smaller, whole_number
from argus.terms.cleared import cleared
from argus.terms.ends import ends, is_whole
from argus.terms.integers import Atom, Integer, Opaque, Truncated
from argus.terms.powers import raised
from argus.terms.sets import IndexSet, union
from argus.terms.term import ONE, ZERO, Term, number, whole
from argus.terms.unknown import Unknown
from argus.terms.value import Case, Kind, Value, merged
from argus.terms.world import World


def cast(world: World, value: Value, kind: Kind) -> Value:
    """A value as one of another kind: floats cut towards zero, truths as 0 or 1."""
    change = {"real": to_real, "integer": to_integer, "truth": to_truth}
    return change[kind](world, value)


def to_real(world: World, value: Value) -> Value:
    """A value as real numbers."""
    if value.kind == "real":
        return value
    if value.kind == "integer":
        return Value("real", tuple((s, _real(world, x)) for s, x in value.integers))
    return _by_truth(world, value.where, ONE, ZERO)


def to_integer(world: World, value: Value) -> Value:
    """A value as integers."""
    if value.kind == "integer":
        return value
    if value.kind == "truth":
        return _by_truth(world, value.where, Integer.of(1), Integer.of(0))
    return merged(world, "integer", [(s, truncated(world, x)) for s, x in value.terms])


def to_truth(world: World, value: Value) -> Value:
    """Where a value is not 0."""
    if value.kind == "truth":
        return value
    if value.kind == "integer":
        return Value.truth(
            union(s & world.compare(x, "!=", 0) for s, x in value.integers)
        )
    found: list[IndexSet] = []
    for where, term in value.terms:
        if term.special is not None:
            raise Unknown(f"the truth of {term}")
        integer = term.integer
        if integer is not None:
            found.append(where & world.compare(integer, "!=", 0))
        else:
            found.append(where & world.told(world.truth_of("eq", term), False))
    return Value.truth(union(found))


def _real(world: World, integer: Integer) -> Term:
    """An integer as a real number: of what was whole before it was cut, that.

    A quotient of such numbers is what is rounded down.
    """
    if not integer.height:
        return whole(integer)
    total = ZERO
    for monomial, coefficient in integer.terms.items():
        product = number(coefficient)
        for atom in monomial:
            product = product * _real_of_atom(world, atom)
        total = total + product
    return total


def _real_of_atom(world: World, atom: Atom) -> Term:
    match atom:
        case Truncated(term=Term() as term) if is_whole(term):
            return term
        case Opaque(op="div"):
            above, below = (_real(world, x) for x in atom.args)
            if any(_is_cut(x) for x in atom.args):
                return rounded(world, "floor", above * raised(below, -1))
        case Opaque(op="min" | "max" as name) if any(_is_cut(x) for x in atom.args):
            one, other = (_real(world, x) for x in atom.args)
            return (smaller if name == "min" else larger)(world, one, other)
        case _:
            pass
    return whole(Integer.atom(atom))


def _is_cut(integer: Integer) -> bool:
    """Whether a whole number that was cut, and is that of a term, is in an integer."""
    return any(
        (isinstance(a, Truncated) and isinstance(a.term, Term) and is_whole(a.term))
        or (isinstance(a, Opaque) and a.op != "mod" and any(map(_is_cut, a.args)))
        for a in integer.atoms()
    )


def saturated(world: World, value: Value, low: int, high: int) -> Value:
    """Real numbers as whole ones of a type, which takes what is beyond to its ends."""
    return merged(
        world,
        "integer",
        [(s, truncated(world, _clipped(world, x, low, high))) for s, x in value.terms],
    )


def _clipped(world: World, term: Term, low: int, high: int) -> Term:
    if term.special is not None:
        return term
    integer = term.integer
    if integer is not None:
        beyond = world.compare(integer, "<", low) | world.compare(integer, ">", high)
        if world.is_empty(beyond):
            return term
    first, last = ends(term)
    if last is None or last > high:
        term = smaller(world, term, number(high))
    if first is None or first < low:
        term = larger(world, term, number(low))
    return term


def truncated(world: World, term: Term) -> Integer:
    """A term cut towards zero."""
    integer = term.integer
    if integer is not None:
        return integer
    constant = term.constant
    if constant is not None:
        return Integer.of(int(constant))
    if term.special is not None:
        raise Unknown(f"the integer that {term} is cut to")
    above, below = cleared(term)
    if above is not None and world.is_empty(world.compare(above, "<", 0)):
        return world.quotient(above, below)
    if is_whole(term):
        return whole_number(world, term)
    return world.truncation_of(term)


def _by_truth(
    world: World, where: IndexSet, then: Term | Integer, other: Term | Integer
) -> Value:
    kind: Kind = "real" if isinstance(then, Term) else "integer"
    cases: list[Case] = [(where, then), (~where, other)]
    return merged(world, kind, cases)
