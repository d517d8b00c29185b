"""Global tiles that are written, and read again at the same coordinates.

What a role has written is kept in program order (`RoleValues.memory`). A load at the
very coordinates of a write finds what that wrote; any other write that may have reached
its element is a clash (`in_place.py`). A loop that writes one tile of a tensor in each
iteration, always the same, carries it like a tile of registers. One that writes another
tile in each leaves them all (`GlobalWrite.turns`): a load of one names its iteration.

Program order is what threads see only where `argus.verify.order.sequential` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from argus.ir import ops as o
from argus.ir.memory import GlobalTensor
from argus.ir.walk import walk
from argus.terms import (
    IndexSet,
    Integer,
    Unknown,
    Value,
    Variable,
    World,
    cast,
    element,
)
from argus.verify.denotation.cases import chosen, within
from argus.verify.denotation.scalars import scalars
from argus.verify.denotation.state import Context, GlobalWrite, SeenWrites, ranges

__all__ = [
    "CarriedTile",
    "carried_tiles",
    "current",
    "entry",
    "left_behind",
    "merge_memory",
    "remember",
    "updated",
]


def entry(context: Context, tensor: GlobalTensor, coords: Sequence[Integer]) -> Value:
    """The element of a tensor at coordinates, as it was before the launch."""
    if tensor.dtype.is_float:
        return Value.real(element(tensor.name, tuple(coords)))
    return Value.whole(context.world.entry(tensor.name, tuple(coords)))


def current(
    context: Context, tensor: GlobalTensor, coords: tuple[Integer, ...]
) -> tuple[Value, Mapping[int, SeenWrites]]:
    """The element of a tensor at coordinates here, and which writes that knows of.

    See `GlobalWrite.seen`. Raises Unknown.
    """
    world = context.world
    seen: dict[int, SeenWrites] = {}
    cases: list[tuple[IndexSet, Value]] = []
    taken = IndexSet.nothing
    here = context.state.where
    for every in reversed(context.state.memory.get(tensor.name, ())):
        write = _that_reaches(world, every, coords)
        if write is None:
            continue
        if every.turns:
            here = here & ranges(world, context.state.scope)
        for op, known in write.seen.items():
            # An operation that wrote twice is known of as far as the last time was.
            seen.setdefault(op, known)
        if world.is_empty(here & (write.where - taken)):
            continue
        if isinstance(write.value, Unknown):
            raise write.value
        cases.append((write.where - taken, write.value))
        taken = taken | write.where
    if not cases or not world.is_empty(here - taken):
        cases.append((~taken, entry(context, tensor, coords)))
    return chosen(world, cases), seen


def _that_reaches(
    world: World, write: GlobalWrite, coords: tuple[Integer, ...]
) -> GlobalWrite | None:
    """A write of the element at these coordinates, as one iteration made it."""
    turns: dict[Variable, Integer] = {}
    pairs = list(zip(write.coords, coords, strict=True))
    for _ in write.turns:
        for own, coord in pairs:
            moving = [v for v in write.turns if v in own.variables() - turns.keys()]
            if len(moving) == 1:
                made = _turn(world.substitute(own, turns), moving[0], coord)
                if made is None:
                    return None
                turns[moving[0]] = made
    if len(turns) < len(write.turns):
        return None
    if any(world.substitute(own, turns) != coord for own, coord in pairs):
        return None
    if not turns:
        return write
    value = write.value
    where = write.where & ranges(world, write.turns)
    return GlobalWrite(
        coords,
        world.substitute(where, turns),
        value if isinstance(value, Unknown) else world.substitute(value, turns),
        {
            op: SeenWrites(known.counters, {**known.turns, **turns})
            for op, known in write.seen.items()
        },
    )


def _turn(own: Integer, turn: Variable, coord: Integer) -> Integer | None:
    """The turn at which a coordinate that moves by a constant is another one."""
    step = own.coefficient(turn)
    if not step:
        return None
    rest = coord - (own - Integer.atom(turn) * step)
    if turn in rest.variables() or any(n % step for n in rest.terms.values()):
        return None
    return Integer({m: n // step for m, n in rest.terms.items()})


def remember(
    context: Context,
    op: o.AnyOp,
    tensor: GlobalTensor,
    coords: tuple[Integer, ...],
    where: IndexSet,
    value: Value | Unknown,
) -> None:
    """Keep it that an operation writes a value here."""
    if isinstance(value, Value):
        kind = "real" if tensor.dtype.is_float else "integer"
        value = cast(context.world, value, kind) if value.kind != kind else value
    seen = {context.position(op): SeenWrites()}
    made = GlobalWrite(coords, where & context.state.where, value, seen)
    memory = context.state.memory
    memory[tensor.name] = (*memory.get(tensor.name, ()), made)


def merge_memory(
    context: Context, states: Sequence[Mapping[str, tuple[GlobalWrite, ...]]]
) -> None:
    """Put the writes of both sides of a branch after those before it."""
    memory = context.state.memory
    before = {name: len(writes) for name, writes in memory.items()}
    for state in states:
        for name, writes in state.items():
            new = writes[before.get(name, 0) :]
            memory[name] = (*memory.get(name, ()), *new)


# ------------------------------------------------------------------------- loops


@dataclass(frozen=True)
class CarriedTile:
    """A tile of a tensor that an iteration of a loop finds as the last one left it."""

    tensor: GlobalTensor
    coords: tuple[Integer, ...]
    axes: tuple[Variable, ...]
    seen: Mapping[int, SeenWrites]

    def put(self, context: Context, value: Value | Unknown) -> None:
        """The tile has this value here."""
        made = GlobalWrite(self.coords, IndexSet.universe, value, self.seen)
        memory = context.state.memory
        memory[self.tensor.name] = (*memory.get(self.tensor.name, ()), made)

    def get(self, context: Context) -> Value:
        """The value of the tile here, where it lies in the tensor. Raises Unknown."""
        world, state = context.world, context.state
        value, _ = current(context, self.tensor, self.coords)
        inside = state.where & ranges(world, (*state.scope, *self.axes))
        for coord, extent in zip(
            self.coords, scalars(context, self.tensor.shape), strict=True
        ):
            inside = inside & world.compare(coord, ">=", 0)
            inside = inside & world.compare(coord, "<", extent)
        return within(world, value, inside)


def updated(body: o.Block, around: o.Block | None = None) -> dict[str, GlobalTensor]:
    """Tensors that a body stores by tiles in registers, and loads, or ``around`` it."""
    loaded = {
        op.view.tensor.name
        for op in walk(around or body)
        if isinstance(op, o.LoadGlobal)
    }
    return {
        op.view.tensor.name: op.view.tensor
        for op in walk(body)
        if isinstance(op, o.StoreGlobal) and op.view.tensor.name in loaded
    }


def carried_tiles(
    context: Context,
    body: o.Block,
    counter: Variable,
    before: Mapping[str, tuple[GlobalWrite, ...]],
    after: Mapping[str, tuple[GlobalWrite, ...]],
) -> Iterator[CarriedTile]:
    """Tiles that a loop carries in memory; ``after``: what an iteration has written.

    Of a tensor whose tiles differ by iteration, or of which there are several, none: a
    read of what an earlier iteration wrote is a clash.
    """
    for name, tensor in updated(body).items():
        new = after.get(name, ())[len(before.get(name, ())) :]
        if not new or any(w.coords != new[0].coords for w in new):
            continue
        coords = new[0].coords
        axes = _axes(context, coords)
        if axes is None or any(counter in c.variables() for c in coords):
            continue
        seen = {
            op: SeenWrites(known.counters | {counter})
            for w in new
            for op, known in w.seen.items()
        }
        yield CarriedTile(tensor, coords, axes, seen)


def left_behind(
    counter: Variable,
    before: Mapping[str, tuple[GlobalWrite, ...]],
    after: Mapping[str, tuple[GlobalWrite, ...]],
) -> Iterator[tuple[str, GlobalWrite]]:
    """Tiles that a loop has left in memory that it moves by its counter.

    ``after``: what one iteration has written. Of what it writes at one place, the last
    iteration counts, of which nothing is said here.
    """
    for name, writes in after.items():
        for write in writes[len(before.get(name, ())) :]:
            if any(counter in c.variables() for c in write.coords):
                yield name, replace(write, turns=(*write.turns, counter))


def _axes(context: Context, coords: Sequence[Integer]) -> tuple[Variable, ...] | None:
    """The axes that coordinates depend on; None where something else varies, too.

    Each element is that of one place in the tile: an axis is what it adds to one
    coordinate.
    """
    known = {*context.state.scope, *context.constants, *context.common}
    found: list[Variable] = []
    for coord in coords:
        axes = [v for v in coord.variables() if v not in known]
        if any(v not in context.all_axes for v in axes) or len(axes) > 1:
            return None
        if any(v in found or coord.coefficient(v) != 1 for v in axes):
            return None
        found += axes
    return tuple(found)
