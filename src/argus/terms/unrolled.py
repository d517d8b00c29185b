"""Sums and maxima over a few numbers, written out.

Of ``j * c`` with a size ``c`` nothing is known but facts; of ``2 * c`` everything. So
a sum over a variable of a few values that a product depends on is the sum of its parts.
Where terms differ else, all sums over a few numbers are: a window of an array that one
side adds up by positions and the other one element by element.
"""

from __future__ import annotations

from argus.terms.affine import least_of
from argus.terms.arithmetic import called
from argus.terms.cast import truncated
from argus.terms.folds import rebound_fold
from argus.terms.integers import Atom, Integer, Opaque, Truncated, Variable
from argus.terms.leaves import Base, Call, Fold, Leaf, Max, Sum, Whole
from argus.terms.maxima import Source, maximum_over, opened
from argus.terms.opening import closing
from argus.terms.positions import positions
from argus.terms.powers import exponential, raised
from argus.terms.sets import IndexSet
from argus.terms.sums import renamed, sum_over, tidy
from argus.terms.term import ZERO, Product, Term, leaf_term, number, whole
from argus.terms.world import World

__all__ = ["unrolled", "written_out"]

_MOST = 16
"""Values that a variable has, at most."""


def unrolled(world: World, term: Term, *, every: bool = False) -> Term:
    """The same term without such sums in its products.

    ``every``: also of those that nothing hides, from wherever they begin.
    """
    found = term
    for _ in range(_MOST):
        total, changed = ZERO, False
        for part, coefficient in found.parts.items():
            made = _in_product(world, part, every)
            changed = changed or made is not None
            one = Term({part: 1}) if made is None else made
            total = total + one.scaled(coefficient)
        if not changed:
            return found
        found = tidy(world, total)
    return found


def _in_product(world: World, part: Product, every: bool) -> Term | None:
    """A product with one of its sums written out; None where there is none."""
    for leaf, power in part.factors:
        if isinstance(leaf, Sum) and power == 1:
            for variable in leaf.variables:
                first = _first(world, leaf, variable, every)
                if first is not None:
                    rest = {f: y for f, y in part.factors if f is not leaf}
                    outer = Term({Product(rest, part.exponent): 1})
                    return outer * _written_out(world, leaf, variable, first)
    return None


@closing
def written_out(world: World, term: Term) -> Term:
    """The same term without sums and maxima over a few numbers, wherever they are."""
    found = unrolled(world, term, every=True)
    total, changed = ZERO, False
    for part, coefficient in found.parts.items():
        made = number(coefficient)
        if part.exponent is not None:
            exponent = written_out(world, part.exponent)
            changed = changed or exponent != part.exponent
            made = made * exponential(exponent)
        for leaf, power in part.factors:
            factor = _inside(world, leaf)
            changed = changed or factor is not None
            one = leaf_term(leaf) if factor is None else factor
            made = made * raised(one, power)
        total = total + made
    return total if changed else found


def _inside(world: World, leaf: Leaf) -> Term | None:
    """A leaf of which what is inside is written out; None where it stays."""
    match leaf:
        case Base():
            made = written_out(world, leaf.term)
            return made if made != leaf.term else None
        case Call():
            args = [written_out(world, a) for a in leaf.args]
            if args == list(leaf.args):
                return None
            return called(world, leaf.function, args)
        case Sum():
            source = leaf.variables, leaf.domain, leaf.body
            ((names, domain, body),) = opened(world, [source])
            made = written_out(world, body)
            if made != body:
                return sum_over(world, names, domain, made)
            found = unrolled(world, leaf_term(leaf), every=True)
            return found if found != leaf_term(leaf) else None
        case Max():
            return _maximum(world, leaf)
        case Fold():
            sources = opened(
                world, [(g.variables, g.domain, g.body) for g in leaf.generators]
            )
            out = [(v, s, written_out(world, x)) for v, s, x in sources]
            return rebound_fold(world, leaf, out) if out != sources else None
        case Whole(atom=Opaque(op="max" | "min") as atom):
            return _of_extreme(world, atom)
        case Whole(atom=Truncated(term=Term() as term)):
            made = written_out(world, term)
            return whole(truncated(world, made)) if made != term else None
        case _:
            return None


def _of_extreme(world: World, atom: Opaque) -> Term:
    """The larger, or the less, of two whole numbers as a maximum of terms."""
    sign = 1 if atom.op == "max" else -1
    sides = [written_out(world, whole(x)).scaled(sign) for x in atom.args]
    return maximum_over(world, [([], IndexSet.universe, x) for x in sides]).scaled(sign)


def _maximum(world: World, leaf: Max) -> Term | None:
    """A maximum over a few numbers as that of each; None where it stays."""
    sources: list[Source] = []
    changed = False
    for generator in leaf.generators:
        opened_ = opened(
            world, [(generator.variables, generator.domain, generator.body)]
        )
        for names, domain, body in opened_:
            points = _points(world, list(names), domain, body)
            for left, there, inner in points:
                out = written_out(world, inner)
                changed = changed or out != inner
                sources.append((left, there, out))
            changed = changed or len(points) != 1 or len(points[0][0]) != len(names)
    return maximum_over(world, sources) if changed else None


def _points(
    world: World, names: list[Variable], domain: IndexSet, body: Term
) -> list[Source]:
    """A source at each of the few values of its variables, as far as they are few."""
    for variable in names:
        first = least_of(world, domain, variable)
        if first is None or first.variables() & set(names):
            continue
        if not _are_few(world, domain, variable, first):
            continue
        found: list[Source] = []
        others = [v for v in names if v != variable]
        for count in range(_MOST):
            env = {variable: first + count}
            there = world.substitute(domain, env)
            if not world.is_empty(there):
                inner = world.substitute(body, env)
                found += _points(world, others, there, inner)
        return found
    return [(names, domain, body)]


def _first(world: World, leaf: Sum, variable: Variable, every: bool) -> Integer | None:
    """Where a sum over a few values begins; None where it stays as it is."""
    zero = Integer.of(0)
    if _is_hidden(leaf, variable):
        return zero if _is_small(world, leaf, variable, zero) else None
    if not every:
        return None
    first = least_of(world, leaf.domain, variable)
    if first is None or first.variables() & set(leaf.variables):
        return None
    return first if _is_small(world, leaf, variable, first) else None


def _is_hidden(leaf: Sum, variable: Variable) -> bool:
    """Whether a product or an atom with a definition depends on a variable."""
    monomials = [*leaf.domain.monomials]
    for _, index in positions(leaf.body, frozenset()):
        monomials += index.terms
    return any(
        monomial != (variable,) and any(_depends(a, variable) for a in monomial)
        for monomial in monomials
    )


def _depends(atom: Atom, variable: Variable) -> bool:
    return variable in atom.variables


def _is_small(world: World, leaf: Sum, variable: Variable, first: Integer) -> bool:
    return _are_few(world, leaf.domain, variable, first)


def _are_few(
    world: World, domain: IndexSet, variable: Variable, first: Integer
) -> bool:
    value = Integer.atom(variable) - first
    inside = world.compare(value, ">=", 0) & world.compare(value, "<", _MOST)
    return world.is_subset(domain, inside)


def _written_out(world: World, leaf: Sum, variable: Variable, first: Integer) -> Term:
    total = ZERO
    others = [v for v in leaf.variables if v != variable]
    for count in range(_MOST):
        names, fresh = renamed(world, others)
        env = {**names, variable: first + count}
        domain = world.substitute(leaf.domain, env)
        if not world.is_empty(domain):
            body = world.substitute(leaf.body, env)
            total = total + sum_over(world, fresh, domain, body)
    return total
