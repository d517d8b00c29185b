"""What a scan or a fold is: a recurrence over the elements along its axis.

Let x be the states along the axis, f the function and e a state with f(e, x) = x. Then
c(0) = e and c(j+1) = f(c(j), x(j)) give the state after j elements, whatever the
grouping, since f is associative (`argus.verify.combining`). Where no e is known, c(0)
is the first element. The recurrence is closed as one that a loop carries is
(`recurrences.py`); sums, products and extremes of single numbers, and the best of pairs
of a number and its place, are what they are of the set of elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.ir import ops as o
from argus.terms import (
    Applied,
    Carried,
    Integer,
    Unknown,
    Value,
    Variable,
    apply,
    cast,
    leaf_term,
    reduce,
)
from argus.terms.integers import variable_of
from argus.verify.choosing_functions import Better, better
from argus.verify.combining import applied, associative, constant, neutral
from argus.verify.denotation.dependence import CARRIED
from argus.verify.denotation.recurrences import Recurrence, close_recurrences
from argus.verify.denotation.state import Context, integers

__all__ = ["combined"]


def combined(context: Context, op: o.Combining, axes: Sequence[Variable]) -> Value:
    """The value of a scan's or fold's result at its axes. Raises Unknown."""
    types = tuple(x.dtype for x in op.srcs)
    reason = associative(op.combine, types)
    if reason is not None:
        raise Unknown(f"a scan of a function that is not shown associative: {reason}")
    function = op.combine.reduction
    if function is not None:
        return _reduced(context, op, axes, function)
    kept = better(op.combine, types) if isinstance(op, o.ScanTotal) else None
    if kept is not None:
        return _best(context, op, axes, kept)
    return _recurrent(context, op, axes)


def _elements(
    context: Context, op: o.Combining, axes: Sequence[Variable], at: Integer
) -> list[Value]:
    """The state at a place along the axis."""
    indices = list(integers(axes))
    if isinstance(op, o.ScanTotal):
        indices.insert(op.axis, at)
    else:
        indices[op.axis] = _counted(op, at)
    return [context.element(x, indices) for x in op.srcs]


def _counted(op: o.Combining, at: Integer) -> Integer:
    """A place along the axis in the order in which elements come, and back."""
    backwards = isinstance(op, o.Scan) and op.reverse
    return Integer.of(op.srcs[0].shape[op.axis] - 1) - at if backwards else at


def _reduced(
    context: Context, op: o.Combining, axes: Sequence[Variable], function: str
) -> Value:
    world = context.world
    bound = variable_of(world.fresh("r", 0, op.srcs[0].shape[op.axis]))
    (value,) = _elements(context, op, axes, _counted(op, Integer.atom(bound)))
    if isinstance(op, o.ScanTotal):
        return reduce(world, function, (bound,), value)
    assert isinstance(op, o.Scan)
    order = ">=" if op.reverse else "<="
    upto = world.compare(Integer.atom(bound), order, Integer.atom(axes[op.axis]))
    return reduce(world, function, (bound,), value, upto)


def _best(
    context: Context, op: o.Combining, axes: Sequence[Variable], kept: Better
) -> Value:
    """The best of all pairs: an extreme number, or the first or last of its places.

    The best of two is the later one in an order of pairs, first by number and then by
    place, so that of all it is the last one.
    """
    world = context.world
    bound = variable_of(world.fresh("r", 0, op.srcs[0].shape[op.axis]))
    pair = _elements(context, op, axes, Integer.atom(bound))
    number, place = pair[kept.number], pair[1 - kept.number]
    best = reduce(world, "max" if kept.sign > 0 else "min", (bound,), number)
    if op.part == kept.number:
        return best
    where = apply(world, "eq", number, best).where
    return reduce(world, "min" if kept.first else "max", (bound,), place, where)


def _recurrent(context: Context, op: o.Combining, axes: Sequence[Variable]) -> Value:
    world, extent = context.world, op.srcs[0].shape[op.axis]
    types = tuple(x.dtype for x in op.srcs)
    start = neutral(op.combine, types)
    first = 0 if start is not None else 1
    counter = variable_of(world.fresh("j", 0, extent))
    others = tuple(axes)
    if isinstance(op, o.Scan):
        others = others[: op.axis] + others[op.axis + 1 :]
    after = _elements(context, op, axes, Integer.atom(counter) + first)
    if start is None:
        begin = _elements(context, op, axes, Integer.of(0))
    else:
        begin = [constant(world, x) for x in start]
    names = [f"scan {i}" for i in range(len(types))]
    before: list[Value] = []
    for name, t in zip(names, types, strict=True):
        if t.is_float:
            before.append(Value.real(leaf_term(Carried(name, integers(others)))))
        else:
            atom = Applied(CARRIED + name, integers(others))
            before.append(Value.whole(Integer.atom(atom)))
    kinds = ["real" if t.is_float else "integer" for t in types]
    after = [cast(world, x, k) for x, k in zip(after, kinds, strict=True)]  # type: ignore[arg-type]
    yielded = applied(world, op.combine, before, after)
    found = close_recurrences(
        world,
        counter,
        {
            name: Recurrence(name, others, init, made)
            for name, init, made in zip(names, begin, yielded, strict=True)
        },
    )
    form = found[names[op.part]]
    if isinstance(form, Unknown):
        raise form
    at = Integer.of(extent)
    if isinstance(op, o.Scan):
        at = _counted(op, Integer.atom(axes[op.axis])) + 1
    return form(at - first)
