"""Whole numbers of tiles that leave 32 bits, or 0, at sizes that a launch admits.

Terms take whole numbers for exact. What tiles compute of coordinates, blocks and sizes
has 32 bits and wraps; launches bound scalars only. So each result of arithmetic is held
against its type, for sizes below 2**30 and scalars within 2**29. Of entries of tables
of 32 bits nothing is known, and of sums of them that they fit is taken for granted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.terms import IndexSet, Integer, Variable
from argus.terms.integers import Applied, Atom, Entry, Opaque, Truncated, Truth
from argus.verify.denotation import Denotation, Noticed

__all__ = ["Bounds", "Overflow", "beyond", "overflow"]

_SIZES = (1 << 15, 1 << 17, 1 << 20, 1 << 30)
"""Limits of sizes, small ones first; at the last one more tile fits 32 bits, too."""
_SIZE = _SIZES[-1]
_SCALAR = 1 << 29
"""Whole scalar arguments are no larger."""

Bounds = tuple[int, int]
_Entries = Mapping[str, Bounds]


@dataclass(frozen=True)
class Overflow:
    """Arithmetic of which a result does not fit; ``sample`` says where, if known."""

    noticed: Noticed
    number: Integer
    sample: Mapping[Variable, int] | None


def overflow(found: Denotation) -> Overflow | None:
    """The first arithmetic that may not fit 32 bits, or a type without sign."""
    for noticed in found.noticed:
        dtype = noticed.dtype
        if noticed.kind != "whole" or (dtype.bits != 32 and dtype.signed):
            continue
        for where, x in noticed.value.cases:
            if not isinstance(x, Integer) or _of_integer(x, found.narrow) is None:
                continue
            made = beyond(found, noticed, where, x, dtype.integers)
            if made is not None:
                return made
    return None


def beyond(
    found: Denotation,
    noticed: Noticed,
    where: IndexSet,
    x: Integer,
    held: Bounds,
    largest: int = _SIZE,
) -> Overflow | None:
    """Where a number of what was noticed may lie outside of bounds; None: nowhere.

    ``where``: the points at which it is that number. ``largest``: of sizes.
    """
    low, high = held
    bounds = _of_integer(x, found.narrow)
    if bounds is not None and bounds[0] >= low and bounds[1] <= high:
        return None
    for size in (*(s for s in _SIZES if s < largest), largest):
        outside = noticed.where & where & _outside(found, noticed, x, size, held)
        if not found.world.is_empty(outside):
            return Overflow(noticed, x, found.world.sample(outside))
    return None


def _outside(
    found: Denotation, noticed: Noticed, x: Integer, size: int, held: Bounds
) -> IndexSet:
    """Where a number does not fit, of sizes that are not too large."""
    world = found.world
    outside = world.compare(x, "<", held[0]) | world.compare(x, ">", held[1])
    # Sizes that only requirements speak of are limited, too: T == 16 * J bounds J.
    free = world.close(noticed.where & outside).variables() | x.variables()
    for variable in sorted(free, key=lambda v: v.key):
        value = Integer.atom(variable)
        if variable.upper is None and variable.lower is not None:
            outside = outside & world.compare(value, "<=", size)
        elif variable.upper is None:
            most = min(size, _SCALAR)
            outside = outside & world.compare(value, "<=", most)
            outside = outside & world.compare(value, ">=", -most)
    return outside


def _of_integer(x: Integer, entries: _Entries) -> Bounds | None:
    """Bounds of an integer for sizes below a limit; None where data take part."""
    low = high = 0
    for monomial, coefficient in x.terms.items():
        ends = (1, 1)
        for atom in monomial:
            of_atom = _of_atom(atom, entries)
            if of_atom is None:
                return None
            products = [a * b for a in ends for b in of_atom]
            ends = min(products), max(products)
        both = sorted(coefficient * end for end in ends)
        low, high = low + both[0], high + both[1]
    return low, high


def _of_atom(atom: Atom, entries: _Entries) -> Bounds | None:
    match atom:
        case Variable(lower=Integer() as lower, upper=upper):
            first = _of_integer(lower, entries)
            last = (0, _SIZE + 1) if upper is None else _of_integer(upper, entries)
            if first is None or last is None:
                return None
            return first[0], max(last[1] - 1, first[0])
        case Variable():
            return -_SCALAR, _SCALAR
        case Opaque():
            return _of_opaque(atom, entries)
        case Entry():
            return entries.get(atom.tensor)
        case Truth() | Truncated() | Applied():
            return None  # data, or a function of which nothing is known
        case _:
            raise TypeError(f"an atom that is not known here: {atom}")


def _of_opaque(atom: Opaque, entries: _Entries) -> Bounds | None:
    left, right = (_of_integer(a, entries) for a in atom.args)
    if left is None or right is None:
        return None
    match atom.op:
        case "min":
            return min(left[0], right[0]), min(left[1], right[1])
        case "max":
            return max(left[0], right[0]), max(left[1], right[1])
        case "div" | "mod":
            most = max(abs(left[0]), abs(left[1]))
            if atom.op == "mod":
                most = max(abs(right[0]), abs(right[1]))
            elif right[0] >= 1:
                return min(left[0] // right[0], 0), max(left[1] // right[0], 0)
            return -most, most
