"""Whole numbers of a type that does not hold them all: what is left of them.

    narrowed(world, Value.whole(x), (-128, 127))    # x - 256 * ((x + 128) // 256)

A number of n bits is a remainder by 2**n, which lies between the ends of its type. So
what wraps around is a quotient by a number, and the algebra of quotients makes the same
of ``narrow(narrow(x) + y)`` and ``narrow(x + y)``. A number that fits is itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from argus.terms.cast import truncated
from argus.terms.integers import Integer, Opaque
from argus.terms.magnitudes import LARGEST_SCALAR, between, integer_of
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.value import Case, Value, merged
from argus.terms.world import World

__all__ = ["LARGEST_SIZE", "fits", "is_narrowed", "narrowed", "outside"]

LARGEST_SIZE = 1 << 30
"""Sizes are no larger."""
Ends = tuple[int, int]


def outside(
    world: World,
    where: IndexSet,
    x: Integer,
    held: Ends,
    size: int = LARGEST_SIZE,
) -> IndexSet:
    """Where a number is less than the first of ``held``, or more than the second.

    ``size``: how large sizes are, at most, also those that only ``where`` speaks of:
    T == 16 * J bounds J. Scalars lie within 2**29.
    """
    found = world.compare(x, "<", held[0]) | world.compare(x, ">", held[1])
    return _of_sizes(world, world.close(where & found), x, size) & found


def _of_sizes(world: World, where: IndexSet, x: Integer, size: int) -> IndexSet:
    found = IndexSet.universe
    free = where.variables() | x.variables()
    for variable in sorted(free, key=lambda v: v.key):
        value = Integer.atom(variable)
        if variable.upper is None and variable.lower is not None:
            found = found & world.compare(value, "<=", size)
        elif variable.upper is None:
            most = min(size, LARGEST_SCALAR)
            found = found & world.compare(value, "<=", most)
            found = found & world.compare(value, ">=", -most)
    return found


def fits(
    world: World,
    where: IndexSet,
    x: Integer | Term,
    held: Ends,
    size: int = LARGEST_SIZE,
) -> bool:
    """Whether a whole number lies between two ends, for all that tables may hold.

    ``size``: how large sizes are, at most.
    """
    if isinstance(x, Integer):
        beyond = where & outside(world, where, x, held, size)
        if world.is_empty(beyond):
            return True
    for side, end in zip(
        between(world, where, x, world.tables), (-held[0], held[1]), strict=True
    ):
        if side is None:
            return False
        most, below = integer_of(side)
        beyond = where & world.compare(most, ">", end * below)
        beyond = beyond & _of_sizes(world, where, most, size)
        if not world.is_empty(beyond):
            return False
    return True


def narrowed(
    world: World,
    value: Value,
    held: Ends,
    where: IndexSet = IndexSet.universe,
) -> Value:
    """Whole numbers as those of a type, which holds them or takes what is left.

    ``value``: integers, or sums of integers, which are real numbers among terms.
    ``where``: where it is asked for; a number that fits there is itself.
    """
    if all(fits(world, where & here, x, held) for here, x in value.cases):
        return value
    cases: list[Case] = []
    for here, x in value.cases:
        whole = truncated(world, x) if isinstance(x, Term) else x
        if not fits(world, where & here, x, held):
            whole = _left(world, whole, held)
        cases.append((here, whole))
    return merged(world, "integer", cases)


def _left(world: World, x: Integer, held: Ends) -> Integer:
    count = held[1] - held[0] + 1
    return x - count * world.quotient(x - held[0], count)


def is_narrowed(value: Value, counts: Mapping[int, object] | Iterable[int]) -> bool:
    """Whether remainders by one of some numbers are in a value of whole numbers."""
    wanted = set(counts)
    return value.kind == "integer" and any(
        number in wanted for _, x in value.integers for number in _divisors(x)
    )


def _divisors(x: Integer) -> Iterator[int]:
    for atom in x.all_atoms():
        if isinstance(atom, Opaque) and atom.op == "div":
            number = atom.args[1].constant
            if number is not None:
                yield number
