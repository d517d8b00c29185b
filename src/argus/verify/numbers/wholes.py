"""Whole numbers that leave their type at sizes, and for entries, that a launch admits.

Terms take whole numbers for exact. What tiles compute of coordinates, blocks and sizes
has 32 bits and wraps; launches bound scalars only. So each result of arithmetic is held
against its type, for sizes below 2**30 and scalars within 2**29.

What is computed of data is held against its type for all entries: those of their type,
or of which the kernel assumes less, summed over as many points as a size has
(`argus.terms.magnitudes`). A reference adds whole numbers up in 64 bits, so that what
wraps in fewer is another number. Those of 64 bits wrap alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.terms import IndexSet, Integer, Term, Value, Variable
from argus.terms.integers import Applied, Atom, Entry, Opaque, Truncated, Truth
from argus.terms.leaves import Fold, Sum, Whole
from argus.terms.magnitudes import LARGEST_SCALAR, between, integer_of
from argus.terms.narrowing import LARGEST_SIZE, outside
from argus.terms.remainders import remainders
from argus.verify.denotation import Denotation, Noticed
from argus.verify.equality.additions import total

__all__ = ["Bounds", "Overflow", "adds_up", "beyond", "of_data", "overflow"]

_SIZES = (1 << 15, 1 << 17, 1 << 20, 1 << 23, LARGEST_SIZE)
"""Limits of sizes, small ones first; at the last one more tile fits 32 bits, too."""
_SIZE = _SIZES[-1]
_BITS = 8 << 40
"""A tensor takes less."""

Bounds = tuple[int, int]
_Entries = Mapping[str, Bounds]


@dataclass(frozen=True)
class Overflow:
    """Arithmetic of which a result does not fit; ``sample`` says where, if known.

    ``most``: how far from 0 a number of data may lie, where a size bounds it.
    """

    span: Span
    dtype: DType
    where: IndexSet
    number: Integer | Term
    sample: Mapping[Variable, int] | None
    most: Integer | None = None


def overflow(found: Denotation) -> Overflow | None:
    """The first arithmetic that may not fit its type, but for 64 bits with a sign."""
    for noticed in found.noticed:
        dtype = noticed.dtype
        observed = noticed.kind == "observed"
        if not observed and noticed.kind != "whole":
            continue
        if _wraps_alike(dtype) or (not observed and dtype.bits != 32 and dtype.signed):
            continue
        for where, x in noticed.value.cases:
            known = isinstance(x, Integer) and _of_integer(x, found.narrow) is not None
            made = None
            if observed and not known and adds_up(x):
                inside = noticed.where & where
                made = of_data(found, inside, x, dtype, noticed.op.span)
            elif not observed and known and isinstance(x, Integer):
                made = beyond(found, noticed, where, x, dtype.integers)
            if made is not None:
                return made
    for store in found.stores:
        dtype = store.tensor.dtype
        if dtype.kind != "int" or _wraps_alike(dtype):
            continue
        value, within = store.value, store.where
        if store.atomic == "add":
            at = [found.world.fresh("at") for _ in store.coords]
            value = total(found.world, [store], at, Value.whole(0))
            within = IndexSet.universe
        for where, x in value.cases:
            if adds_up(x):
                made = of_data(found, within & where, x, dtype, store.span)
                if made is not None:
                    return made
    return None


def adds_up(x: Integer | Term) -> bool:
    """Whether a sum or product over points is in it: references do these in 64 bits.

    Where a few entries are added they compute in the type of the entries.
    """
    if isinstance(x, Integer):
        return any(adds_up(i) for i in _inside(x))
    leaves = [leaf for part in x.parts for leaf, _ in part.factors]
    return any(
        isinstance(leaf, Sum)
        or (isinstance(leaf, Fold) and leaf.function == "prod")
        or any(adds_up(term) for term in leaf.terms)
        or (isinstance(leaf, Whole) and adds_up(Integer.atom(leaf.atom)))
        for leaf in leaves
    )


def _inside(x: Integer) -> Iterator[Integer | Term]:
    """What the atoms of an integer are made of; of truths nothing is counted."""
    for atom in x.atoms():
        if isinstance(atom, Opaque | Applied):
            yield from atom.args
        elif isinstance(atom, Truncated) and isinstance(atom.term, Term):
            yield atom.term


def _wraps_alike(dtype: DType) -> bool:
    """Whether references compute in the same type."""
    return dtype.bits == 64 and dtype.signed


def of_data(
    found: Denotation, inside: IndexSet, x: Integer | Term, dtype: DType, span: Span
) -> Overflow | None:
    """Where a number that is made of data may lie outside of its type; None: nowhere.

    ``inside``: the points at which it is that number.
    """
    world, (low, high) = found.world, dtype.integers
    if world.is_empty(inside):
        return None
    if isinstance(x, Integer) and world.is_empty(
        inside & outside(world, inside, x, dtype.integers)
    ):
        return None  # by what is assumed of entries beside sizes
    sides = between(world, inside, x, found.entries)
    for side, end in zip(sides, (-low, high), strict=True):
        if side is None:
            return Overflow(span, dtype, inside, x, None)
        most, below = integer_of(side)
        held = world.compare(most, ">", end * below)
        for bits in found.bits:
            held = held & world.compare(bits, "<", _BITS)
        for size in _SIZES:
            there = held
            for variable in sorted(most.variables(), key=lambda v: v.key):
                value = Integer.atom(variable)
                there = there & world.compare(value, "<=", size)
            if not world.is_empty(there):
                sample = world.sample(there)
                return Overflow(span, dtype, inside, x, sample, most)
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
        beside = outside(found.world, noticed.where, x, held, size)
        there = noticed.where & where & beside
        if not found.world.is_empty(there):
            sample = found.world.sample(there)
            return Overflow(noticed.op.span, noticed.dtype, noticed.where, x, sample)
    return None


def _of_integer(x: Integer, entries: _Entries) -> Bounds | None:
    """Bounds of an integer for sizes below a limit; None where data take part."""
    low = high = 0
    left, x = remainders(x)
    for coefficient, count in left:
        low += min(0, coefficient * (count - 1))
        high += max(0, coefficient * (count - 1))
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
            return -LARGEST_SCALAR, LARGEST_SCALAR
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
