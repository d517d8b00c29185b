"""Sums and maxima over all of a row, as those over its even and its odd places.

A kernel that reads pairs adds up ``X[2*k]`` and ``X[2*k + 1]``, and its reference all
``X[k]``. Where one side steps through a dimension in strides, what the other one takes
of it at every place is taken at each remainder by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from argus.terms import (
    ZERO,
    Base,
    Call,
    Element,
    Integer,
    Leaf,
    Max,
    Sum,
    Term,
    Variable,
    World,
    leaf_term,
    number,
)
from argus.terms.arithmetic import called
from argus.terms.integers import Entry, variable_of
from argus.terms.maxima import Source, maximum_over, opened
from argus.terms.powers import exponential, raised
from argus.terms.sums import sum_over, tidy
from argus.verify.equality.mentioned import leaves

__all__ = ["by_residues"]

_MOST = 8
"""Steps of strides that are looked at, at most."""
_Strides: TypeAlias = Mapping[tuple[str, int], int]


def by_residues(world: World, *terms: Term) -> list[Term]:
    """The same terms, with sums and maxima by remainders of the strides in them."""
    strides = _strides(terms)
    return [_term(world, strides, t) for t in terms] if strides else list(terms)


def _strides(terms: Sequence[Term]) -> _Strides:
    """By tensor and dimension, the steps in which a bound variable walks it."""
    found: dict[tuple[str, int], int] = {}
    for leaf in (x for term in terms for x in leaves(term)):
        for over in leaf.overs:
            for place, index in _places(over.body):
                steps = {abs(index.coefficient(v) or 0) for v in over.variables}
                few = [n for n in steps if 1 < n <= _MOST]
                if few:
                    found[place] = max(found.get(place, 0), *few)
    return found


def _places(term: Term) -> Iterator[tuple[tuple[str, int], Integer]]:
    """Tensors and dimensions that a term reads, and at which index."""
    for read in _reads(term):
        for dim, index in enumerate(read.indices):
            yield (read.tensor, dim), index


def _reads(term: Term) -> Iterator[Element | Entry]:
    """Elements of tensors, and entries of tables."""
    for leaf in leaves(term):
        if isinstance(leaf, Element):
            yield leaf
        for value in leaf.integers:
            yield from (a for a in value.all_atoms() if isinstance(a, Entry))


def _term(world: World, strides: _Strides, term: Term) -> Term:
    if term.special is not None or not term.height:
        return term
    total = ZERO
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        if part.exponent is not None:
            made = made * exponential(_term(world, strides, part.exponent))
        for leaf, power in part.factors:
            made = made * raised(_leaf(world, strides, leaf), power)
        total = total + made
    return tidy(world, total)


def _leaf(world: World, strides: _Strides, leaf: Leaf) -> Term:
    if isinstance(leaf, Base):
        return _term(world, strides, leaf.term)
    if isinstance(leaf, Call):
        args = [_term(world, strides, a) for a in leaf.args]
        return called(world, leaf.function, args)
    if isinstance(leaf, Sum):
        total = ZERO
        source = leaf.variables, leaf.domain, leaf.body
        for names, domain, body in _sources(world, strides, [source]):
            total = total + sum_over(world, names, domain, body)
        return total
    if isinstance(leaf, Max):
        given = [(g.variables, g.domain, g.body) for g in leaf.generators]
        return maximum_over(world, _sources(world, strides, given))
    return leaf_term(leaf)


def _sources(
    world: World, strides: _Strides, sources: Sequence[Source]
) -> Iterator[Source]:
    """The same sources, each at the remainders of its variables by themselves."""
    for names, domain, body in opened(world, sources):
        yield from _split(
            world, strides, (names, domain, _term(world, strides, body)), names
        )


def _split(
    world: World, strides: _Strides, source: Source, left: Sequence[Variable]
) -> Iterator[Source]:
    """The same of those of its variables that are left."""
    if not left:
        yield source
        return
    names, domain, body = source
    variable, *others = left
    stride = _stride(strides, body, variable)
    for remainder in range(stride):
        each = source
        if stride > 1:
            step = world.fresh("f")
            env = {variable: step * stride + remainder}
            each = (
                [*(v for v in names if v != variable), variable_of(step)],
                world.substitute(domain, env),
                world.substitute(body, env),
            )
        if not world.is_empty(each[1]):
            yield from _split(world, strides, each, others)


def _stride(strides: _Strides, body: Term, variable: Variable) -> int:
    """In which steps a variable is looked at; 1 where it stays as it is."""
    for place, index in _places(body):
        if place in strides and index.coefficient(variable) in (1, -1):
            return strides[place]
    return 1
