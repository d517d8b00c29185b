"""Loops: what they carry is closed, then their body is read once, for all iterations.

Three passes over a body: its scalars (`counters.py`), the body with carried tiles as
unknown leaves (`recurrences.py`), and the body with everything that it carries known at
iteration j. Only the last records what it stores.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Sym
from argus.terms import (
    ZERO,
    Applied,
    Carried,
    Integer,
    Unknown,
    Value,
    Variable,
    cast,
    leaf_term,
)
from argus.terms.linear import parted
from argus.verify.denotation.counters import (
    Closed,
    close_counters,
    define_arguments,
    define_results,
)
from argus.verify.denotation.dependence import CARRIED
from argus.verify.denotation.left_shared import (
    LeftTiles,
    left_by,
    moved,
    read_first,
)
from argus.verify.denotation.memory import (
    CarriedTile,
    carried_tiles,
    left_behind,
    updated,
)
from argus.verify.denotation.recurrences import Form, Recurrence, close_recurrences
from argus.verify.denotation.scalars import scalar
from argus.verify.denotation.shared import after_loop, before_body
from argus.verify.denotation.state import Context, integers
from argus.verify.denotation.trips import Trips, trips_of

__all__ = ["read_loop"]

Carry = o.TileCarry | o.ScalarCarry | CarriedTile


def read_loop(context: Context, op: o.For) -> None:
    """Read a loop. Raises Unknown where it is not known what runs."""
    trips = trips_of(context, op)
    if _is_never_entered(context, trips):
        for carry in (*op.tiles, *op.scalars):
            _end(context, carry, _init(context, carry))
        return
    counters = close_counters(context, op, trips)
    others: dict[str, Carry] = {f"{c.arg.name}.{c.arg.id}": c for c in op.tiles}
    others |= {c.arg.name: c for c in op.scalars if c.arg.name not in counters}
    others |= _in_memory(context, op, trips, counters, others)
    left = _left(context, op, trips, counters, others)
    forms = _forms(context, op, trips, counters, others, left)
    before = context.state
    _enter(context, op, trips, counters)
    older = before_body(context, op.body, left)
    moves = trips.counter is not None and bool(updated(op.body, context.program.body))
    if older or moves or not context.dry:  # else it leaves but what it carries
        for name, carry in others.items():
            _begin(context, carry, _at(forms[name], trips.iteration))
        context.run(op.body)
    shared, memory = context.state.shared, context.state.memory
    context.state = before
    before.shared = shared
    if moves and trips.counter is not None:
        for tensor, write in left_behind(trips.counter, dict(before.memory), memory):
            before.memory[tensor] = (*before.memory.get(tensor, ()), write)
    if trips.counter is not None and trips.count is not None:
        after_loop(context, older, trips.counter, trips.count)
    else:
        for alloc in older:
            why = f"what a persistent loop leaves in `{alloc.name}`"
            before.shared[alloc] = (Unknown(why, op.span),)
    define_results(context, op, counters, trips)
    for name, carry in others.items():
        made: Value | Unknown = Unknown("what a persistent loop carries", op.span)
        if trips.count is not None:
            made = _at(forms[name], trips.count)
        _end(context, carry, made)


def _is_never_entered(context: Context, trips: Trips) -> bool:
    if trips.count is None:
        return False
    world = context.world
    some = world.compare(trips.count, ">=", 1)
    return world.is_empty(some & context.state.where)


def _left(
    context: Context,
    op: o.For,
    trips: Trips,
    counters: dict[str, Closed | Unknown],
    others: dict[str, Carry],
) -> LeftTiles:
    """Shared tiles that an iteration finds as the one before it has left them."""
    buffers = read_first(op.body)
    if trips.counter is None or not buffers:
        return {}
    before = context.state
    obligations = len(context.world.obligations)
    context.dry += 1
    try:
        _enter(context, op, trips, counters)
        for carry in others.values():
            _begin(context, carry, Unknown("what a loop carries", op.span))
        older = before_body(context, op.body)
        context.run(op.body)
        written = left_by(context, buffers, older)
        made = {a: moved(context, a, w, trips.counter) for a, w in written.items()}
        return {alloc: left for alloc, left in made.items() if left is not None}
    finally:
        context.dry -= 1
        context.state = before
        context.world.obligations.forget_after(obligations)


def _in_memory(
    context: Context,
    op: o.For,
    trips: Trips,
    counters: dict[str, Closed | Unknown],
    others: dict[str, Carry],
) -> dict[str, Carry]:
    """Tiles of tensors that the loop carries, from a reading of where it writes."""
    if trips.counter is None or not updated(op.body):
        return {}
    before = context.state
    context.dry += 1
    try:
        with context.world.obligations.muted():
            _enter(context, op, trips, counters)
            for carry in others.values():
                _begin(context, carry, Unknown("what a loop carries", op.span))
            before_body(context, op.body)
            context.run(op.body)
        after = context.state.memory
        tiles = carried_tiles(context, op.body, trips.counter, before.memory, after)
        return {f"`{t.tensor.name}` in {op.var.name}": t for t in tiles}
    finally:
        context.dry -= 1
        context.state = before


def _enter(
    context: Context, op: o.For, trips: Trips, counters: dict[str, Closed | Unknown]
) -> None:
    """Go into the body of a loop, at iteration j."""
    context.state = context.state.copy()
    trips.enter(context, op)
    define_arguments(context, counters, trips)


def _at(form: Form | Unknown, iteration: Integer) -> Value | Unknown:
    if isinstance(form, Unknown):
        return form
    try:
        return form(iteration)
    except Unknown as why:
        return why


def _begin(context: Context, carry: Carry, value: Value | Unknown) -> None:
    """What is carried has this value at the beginning of an iteration."""
    if isinstance(carry, CarriedTile):
        carry.put(context, value)
    else:
        _define(context, carry.arg, value)


def _end(context: Context, carry: Carry, value: Value | Unknown) -> None:
    """What is carried has this value after the loop."""
    if isinstance(carry, CarriedTile):
        carry.put(context, value)
    else:
        _define(context, carry.result, value)


def _define(context: Context, name: o.Tile | Sym, value: Value | Unknown) -> None:
    if isinstance(name, Sym):
        context.define(name, value)
    elif isinstance(value, Unknown):
        context.state.tiles[name] = value
    else:
        context.put(name, value)


def _forms(
    context: Context,
    op: o.For,
    trips: Trips,
    counters: dict[str, Closed | Unknown],
    others: dict[str, Carry],
    left: LeftTiles,
) -> dict[str, Form | Unknown]:
    """The values of tiles and fractions that a loop carries, by iteration."""
    if not others:
        return {}
    if trips.counter is None:
        why = Unknown("what a persistent loop carries", op.span)
        return dict.fromkeys(others, why)
    inits = {name: _init(context, carry) for name, carry in others.items()}
    made = _recurrences(context, op, trips, counters, others, inits, left)
    while sums := [n for n, one in made.items() if _is_sum_of_integers(one)]:
        # A sum of integers over a set is a term: so is what it is added to.
        for name in sums:
            init = inits[name]
            assert isinstance(init, Value)
            inits[name] = cast(context.world, init, "real")
        made = _recurrences(context, op, trips, counters, others, inits, left)
    return close_recurrences(context.world, trips.counter, made)


def _is_sum_of_integers(one: Recurrence | Unknown) -> bool:
    if isinstance(one, Unknown):
        return False
    return one.init.kind == "integer" and one.yielded.kind == "real"


def _recurrences(
    context: Context,
    op: o.For,
    trips: Trips,
    counters: dict[str, Closed | Unknown],
    others: dict[str, Carry],
    inits: dict[str, Value | Unknown],
    left: LeftTiles,
) -> dict[str, Recurrence | Unknown]:
    """What an iteration makes of what it carries, from one reading of the body."""
    before = context.state
    obligations = len(context.world.obligations)
    context.dry += 1
    try:
        _enter(context, op, trips, counters)
        for name, carry in others.items():
            _begin(context, carry, _unknown(context, name, carry, inits[name]))
        before_body(context, op.body, left)
        context.run(op.body)
        made = {n: _recurrence(context, n, c, inits[n]) for n, c in others.items()}
        for name, carry in others.items():
            _notice_sum(context, op, carry, made[name])
        return made
    finally:
        context.dry -= 1
        context.state = before
        context.world.obligations.forget_after(obligations)


def _notice_sum(
    context: Context, op: o.For, carry: Carry, found: Recurrence | Unknown
) -> None:
    """Keep it that a loop adds to what it carries in 16 bits."""
    if not isinstance(carry, o.TileCarry) or isinstance(found, Unknown):
        return
    dtype = carry.arg.dtype
    if not dtype.is_float or dtype.bits > 16 or found.yielded.kind != "real":
        return
    for _, term in found.yielded.terms:
        parts = parted(term, found.leaf)
        if parts is not None and parts[0] != ZERO and parts[1] != ZERO:
            value = Value.real(parts[1])
            context.notice("sum", op, value, dtype, carry.arg.name)


def _axes(context: Context, carry: Carry) -> tuple[Variable, ...]:
    if isinstance(carry, CarriedTile):
        return carry.axes
    return context.axes(carry.arg.shape) if isinstance(carry, o.TileCarry) else ()


def _init(context: Context, carry: Carry) -> Value | Unknown:
    try:
        if isinstance(carry, CarriedTile):
            return carry.get(context)
        if isinstance(carry, o.TileCarry):
            return context.own(carry.init, context.axes(carry.init.shape))
        return scalar(context, carry.init)
    except Unknown as why:
        return why


def _unknown(
    context: Context, name: str, carry: Carry, init: Value | Unknown
) -> Value | Unknown:
    """A carried value as a leaf."""
    places = integers(_axes(context, carry))
    if isinstance(init, Unknown):
        return init
    if init.kind == "real":
        return Value.real(leaf_term(Carried(name, places)))
    made = Value.whole(Integer.atom(Applied(CARRIED + name, places)))
    if init.kind == "integer":
        return made
    return Value.truth(context.world.told(made.integer, True))


def _recurrence(
    context: Context, name: str, carry: Carry, init: Value | Unknown
) -> Recurrence | Unknown:
    if isinstance(init, Unknown):
        return init
    axes = _axes(context, carry)
    try:
        if isinstance(carry, CarriedTile):
            yielded = carry.get(context)
        elif isinstance(carry, o.TileCarry):
            yielded = context.own(carry.yielded, axes)
        else:
            yielded = scalar(context, carry.yielded)
    except Unknown as why:
        return why
    return Recurrence(name, axes, init, yielded)
