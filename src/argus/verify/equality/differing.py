"""Where two terms that differ may be different numbers: parts of their mismatch.

Terms of which one is clamped at 100000 are the same number at all small sizes. What
makes them differ says where they do: an element has another index, a minimum is its
other side, a quotient is not 0, a sum has a point that the other one lacks. Each of
these is a condition on sizes and places, which isl solves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from argus.terms import (
    Element,
    IndexSet,
    Integer,
    Opaque,
    Sum,
    Term,
    Unknown,
    Variable,
    World,
)
from argus.terms.leaves import Generator, Leaf, Whole
from argus.verify.equality.result import Mismatch

__all__ = ["differing"]

_PAIRS = 24
"""Pairs of elements of one tensor that are compared, at most."""


def differing(world: World, found: Mismatch) -> Iterator[IndexSet]:
    """Parts of a mismatch at which something of the terms differs; some are empty."""
    left, right = (list(_placed(term)) for term in (found.left, found.right))
    outside = [_Placed(Whole(a), ()) for m in found.where.monomials for a in m]
    ways = (
        _by_choices(world, [*left, *right, *outside]),
        _by_indices(world, left, right),
        _by_sets(world, left, right),
    )
    for way in ways:
        for made in way:
            try:
                yield found.where & made()
            except Unknown:
                continue  # it speaks of what is bound in a way that isl has no form for


_Part = Callable[[], IndexSet]


@dataclass(frozen=True)
class _Placed:
    """A leaf and what binds variables around it, outermost first."""

    leaf: Leaf
    overs: tuple[Sum | Generator, ...]

    def somewhere(self, world: World, where: IndexSet) -> IndexSet:
        """Whether there are values of bound variables for which a condition holds."""
        for over in reversed(self.overs):
            where = _without(world, over.domain & where, over.variables)
        return where


def _placed(term: Term, overs: tuple[Sum | Generator, ...] = ()) -> Iterator[_Placed]:
    for part in term.parts:
        for leaf, _ in part.factors:
            yield _Placed(leaf, overs)
            inner = {id(over.body): over for over in leaf.overs}
            for body in leaf.terms:
                over = inner.get(id(body))
                yield from _placed(body, overs if over is None else (*overs, over))
        if part.exponent is not None:
            yield from _placed(part.exponent, overs)


def _by_indices(
    world: World, left: Sequence[_Placed], right: Sequence[_Placed]
) -> Iterator[_Part]:
    """Elements that one term has and the other has not: their indices differ."""
    mine, theirs = (
        {x.leaf: x for x in placed if isinstance(x.leaf, Element)}
        for placed in (left, right)
    )
    own = [x for leaf, x in mine.items() if leaf not in theirs]
    other = [x for leaf, x in theirs.items() if leaf not in mine]
    pairs = [(a, b) for a in own for b in other if _tensor(a) == _tensor(b)]
    for a, b in pairs[:_PAIRS]:
        for one, two in zip(a.leaf.integers, b.leaf.integers, strict=True):
            if one == two:
                continue
            apart = world.compare(one, "!=", two)
            deeper = max(a, b, key=lambda x: len(x.overs))
            yield lambda x=deeper, apart=apart: x.somewhere(world, apart)


def _tensor(placed: _Placed) -> str:
    assert isinstance(placed.leaf, Element)
    return placed.leaf.tensor


def _by_sets(
    world: World, left: Sequence[_Placed], right: Sequence[_Placed]
) -> Iterator[_Part]:
    """Sums and maxima over sets that differ: a point of one; any point."""
    mine, theirs = (
        [(x, over) for x in placed for over in x.leaf.overs] for placed in (left, right)
    )
    for x, one in mine:
        for _, two in theirs:
            if one.variables != two.variables or one.domain is two.domain:
                continue
            for a, b in ((one, two), (two, one)):
                rest = a.domain - b.domain
                yield lambda x=x, rest=rest, a=a: x.somewhere(
                    world, _without(world, rest, a.variables)
                )
    for some, others in ((mine, theirs), (theirs, mine)):
        known = [over.domain for _, over in others]
        for x, over in some:
            if not any(over.domain is domain for domain in known):
                yield lambda x=x, over=over: x.somewhere(
                    world, _without(world, over.domain, over.variables)
                )


def _without(world: World, where: IndexSet, variables: Sequence[Variable]) -> IndexSet:
    """Where there are values of variables for which a condition holds, or may hold.

    What depends on them in a way that sets cannot say (an entry of a table) may be any.
    """
    gone = set(variables)
    monomials = [m for m in where.monomials if any(a.variables & gone for a in m)]
    bounds = [v for v in variables if (v,) not in monomials]
    names = [world.space.name(m) for m in (*monomials, *((v,) for v in bounds))]
    return where.without(names)


def _by_choices(world: World, placed: Sequence[_Placed]) -> Iterator[_Part]:
    """Minima, maxima, quotients and remainders: as each of their sides."""
    seen: set[Opaque] = set()
    for x in placed:
        for atom in _atoms(x):
            if atom in seen:
                continue
            seen.add(atom)
            a, b = atom.args
            ways = ("<", ">") if atom.op in ("min", "max") else (">=",)
            bound = atom.variables & frozenset(
                v for o in x.leaf.overs for v in o.variables
            )
            overs = tuple(o for o in x.leaf.overs if bound & set(o.variables))
            for way in ways:
                part = world.compare(a, way, b)
                if atom.op in ("min", "max"):
                    side = a if (way == "<") == (atom.op == "min") else b
                    part = part & world.compare(Integer.atom(atom), "==", side)
                yield lambda x=x, part=part, overs=overs: _Placed(
                    x.leaf, (*x.overs, *overs)
                ).somewhere(world, part)


def _atoms(placed: _Placed) -> Iterator[Opaque]:
    """Choices in the indices of a leaf and in the sets that it is over."""
    for integer in placed.leaf.integers:
        yield from _inside(integer)
    for over in placed.leaf.overs:
        for monomial in over.domain.monomials:
            for atom in monomial:
                yield from _inside(Integer.atom(atom))


def _inside(integer: Integer) -> Iterator[Opaque]:
    yield from (a for a in integer.all_atoms() if isinstance(a, Opaque))
