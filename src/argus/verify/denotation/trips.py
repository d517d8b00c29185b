"""The iterations of a loop: how many there are, and the value of its variable."""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.ir import ops as o
from argus.terms import Integer, Unknown, Value, Variable
from argus.terms.integers import variable_of
from argus.verify.denotation.scalars import integer
from argus.verify.denotation.state import Context, integers

__all__ = ["Trips", "trips_of"]


@dataclass(frozen=True)
class Trips:
    """Iterations of a loop: ``counter`` = 0 .. ``count`` - 1.

    The tiles of a persistent loop have neither.
    """

    variables: tuple[Variable, ...]
    value: Integer
    """Of the loop's variable."""
    counter: Variable | None
    count: Integer | None
    over: Integer | None = None
    """The number of tiles of a persistent loop."""

    @property
    def iteration(self) -> Integer:
        """The present iteration; 0 in a persistent loop: nothing depends on it."""
        return Integer.of(0) if self.counter is None else Integer.atom(self.counter)

    @property
    def places(self) -> tuple[Integer, ...]:
        """The variables as integers."""
        return integers(self.variables)

    def enter(self, context: Context, op: o.For) -> None:
        """Define the loop's variable, and what is in scope in its body."""
        state = context.state
        state.scalars[op.var.name] = Value.whole(self.value)
        new = tuple(v for v in self.variables if v not in state.scope)
        *outer, (position, _) = state.path
        context.state = replace(
            state,
            scope=(*state.scope, *new),
            path=(*outer, (position, self.counter)),
        )


def trips_of(context: Context, op: o.For) -> Trips:
    """The iterations of a loop. Raises Unknown."""
    tiles = context.grid.persistent(op)
    if tiles is not None:
        return Trips(tiles.variables, tiles.number, None, None, tiles.total)
    world = context.world
    start, stop = integer(context, op.start), integer(context, op.stop)
    step = integer(context, op.step).constant
    if step is None or step < 1:
        raise Unknown(f"a loop in steps of {op.step}")
    count = world.quotient(stop - start + (step - 1), step)
    counter = world.fresh(op.var.name.strip("_") or "j", 0, count)
    # A loop whose end lies before its start has no iteration.
    negative = world.compare(count, "<", 0) & context.state.where
    trips = count if world.is_empty(negative) else world.maximum(count, 0)
    return Trips(
        (variable_of(counter),), start + counter * step, variable_of(counter), trips
    )
