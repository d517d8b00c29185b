"""What a loop has counted by data, as a sum over its iterations.

    counted_scalar(context, expression)

Inside of the walk a sum of steps that data decide is a function of the iterations
before (`RunningSum`): rings and barriers ask only where two of them are the same. Where
a scalar becomes an element of a tile it is the sum itself, which a reference says of a
mask: how many entries are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.expr import Expr
from argus.ir.wrapping import wrapped_parts
from argus.terms import ZERO, Integer, Leaf, Term, Value, apply, replace, whole
from argus.terms.cast import cast, truncated
from argus.terms.integers import Applied, Atom, variable_of
from argus.terms.narrowing import narrowed
from argus.terms.sums import sum_over
from argus.verify.denotation.scalars import scalar
from argus.verify.denotation.state import Context, RunningSum, ranges

__all__ = ["counted_scalar"]


def counted_scalar(context: Context, e: Expr) -> Value:
    """A scalar, with sums of steps written out. Raises Unknown."""
    parts = wrapped_parts(e)
    if parts is None:
        return _written_out(context, scalar(context, e))
    inner, bits, more = parts
    half = 2 ** (bits - 1)
    value = cast(context.world, counted_scalar(context, inner), "integer")
    here = context.state.where & ranges(context.world, context.state.scope)
    left = narrowed(context.world, value, (-half, half - 1), here)
    return apply(context.world, "add", left, Value.whole(more))


def _written_out(context: Context, value: Value) -> Value:
    sums = {one.name: one for one in context.sums if one.over is None}
    atoms: dict[Atom, Integer] = {}
    for _, x in value.cases if sums else ():
        for atom in _atoms(x):
            if isinstance(atom, Applied) and atom.function in sums:
                if any(v.name.startswith("$") for v in atom.variables):
                    return value  # a sum around it binds what it depends on
                atoms[atom] = _total(context, sums[atom.function], atom)
    return replace(context.world, value, _stays, atoms=atoms) if atoms else value


def _stays(leaf: Leaf) -> None:
    return None


def _atoms(x: Term | Integer) -> Iterator[Atom]:
    """Atoms of which a number is made, also those inside of others."""
    if isinstance(x, Integer):
        yield from x.all_atoms()
        return
    for part in x.parts:
        for leaf, _ in part.factors:
            for integer in leaf.integers:
                yield from _atoms(integer)
            for term in leaf.terms:
                yield from _atoms(term)
        if part.exponent is not None:
            yield from _atoms(part.exponent)


def _total(context: Context, counted: RunningSum, atom: Applied) -> Integer:
    """The sum of the steps of iterations before the last argument of an atom."""
    world = context.world
    *outer, end = atom.args
    known = len(counted.shared)
    names = dict(zip(counted.shared, outer[:known], strict=True))
    iteration = world.fresh("t")
    for place, value in enumerate([*outer[known:], iteration]):
        names[variable_of(context.blank(place))] = value
    inside = world.compare(iteration, ">=", 0) & world.compare(iteration, "<", end)
    total = ZERO
    step = _written_out(context, world.substitute(counted.step, names))
    for where, x in step.cases:
        term = whole(x) if isinstance(x, Integer) else x
        domain = where & inside
        total = total + sum_over(world, [variable_of(iteration)], domain, term)
    return truncated(world, total)
