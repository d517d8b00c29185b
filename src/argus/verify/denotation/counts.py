"""How often a role has done something, as scalars that no author wrote.

Fills of a ring, expectations of a barrier, writes to a stage that turns: a walk counts
them beside the program's own scalars, so that loops and branches treat both alike. A
counter of the program that differs from a count by a constant grows as it does, and so
never has one value twice. What was waited for last is kept in the same way.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import Ring
from argus.ir.walk import walk
from argus.terms import Integer, Unknown, Value, apply
from argus.verify.denotation.buffers import OneBarrier, arrives_at
from argus.verify.denotation.scalars import integer, integer_cases
from argus.verify.denotation.state import Context

__all__ = [
    "arrived",
    "count",
    "counted",
    "counted_in",
    "expected",
    "filled",
    "met",
    "turned",
    "waited",
]


def count(context: Context, op: o.AnyOp) -> None:
    """Take note of what an operation does, after it is done."""
    scalars, name = context.state.scalars, _name(context, op)
    if name is None:
        return
    if isinstance(op, o.RingWait | o.BarrierWait):
        try:
            scalars[name] = Value.whole(integer(context, op.n))
        except Unknown as why:
            scalars[name] = why
        return
    before = scalars.get(name, Value.whole(Integer.of(0)))
    if isinstance(before, Value):
        one = Value.whole(Integer.of(1))
        scalars[name] = apply(context.world, "add", before, one)


def _name(context: Context, op: o.AnyOp) -> str | None:
    """What an operation counts, or sets."""
    match op:
        case o.RingPublish():
            return f"#fills of {op.ring.name}"
        case o.RingWait():
            return f"#drain of {op.ring.name}"
        case o.BarrierExpect():
            return f"#phases of {OneBarrier.of(op.barrier).name}"
        case o.BarrierWait():
            return f"#wait for {OneBarrier.of(op.barrier).name}"
        case o.Sync() if op.name is not None:
            return f"#meetings at {op.name}"
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            one, view = arrives_at(op), op.filled()
            if one is not None:
                return f"#arrivals at {one.name}"
            known = context.buffers
            numbered = (*known.turning, *known.handed, *known.stored)
            if view is not None and view.alloc in numbered:
                return f"#writes {context.position(op)}"
            return None
        case _:
            assert_never(op)


def counted_in(context: Context, block: o.Block) -> list[tuple[str, bool]]:
    """What the operations of a block count or set; whether it is counted."""
    found: dict[str, bool] = {}
    for op in walk(block):
        name = _name(context, op)
        if name is not None:
            found[name] = not isinstance(op, o.RingWait | o.BarrierWait)
    return list(found.items())


def counted(context: Context, name: str) -> Value | Unknown:
    """A count at this place."""
    found = context.state.scalars.get(name)
    return Value.whole(Integer.of(0)) if found is None else found


def _one(context: Context, value: Value | Unknown | None, what: str) -> Integer:
    if value is None:
        raise Unknown(f"{what} that was not waited for")
    if isinstance(value, Unknown):
        raise value
    cases = integer_cases(context, value)
    if len(cases) != 1:
        raise Unknown(f"{what} depends on a condition")
    return cases[0][1]


def waited(context: Context, key: Ring | OneBarrier) -> Integer:
    """The fill, or the completion, that was waited for last. Raises Unknown."""
    kind = "drain of" if isinstance(key, Ring) else "wait for"
    name = f"#{kind} {key.name}"
    return _one(context, context.state.scalars.get(name), f"a fill of `{key.name}`")


def filled(context: Context, ring: Ring) -> Integer:
    """How many fills of a ring this role has published. Raises Unknown."""
    name = f"#fills of {ring.name}"
    return _one(context, counted(context, name), f"how often `{ring.name}` was filled")


def expected(context: Context, barrier: OneBarrier) -> Integer:
    """How often this role has expected copies on a barrier. Raises Unknown."""
    name = f"#phases of {barrier.name}"
    return _one(context, counted(context, name), f"the phase of `{barrier.name}`")


def met(context: Context, name: str) -> Integer:
    """How often this role has synced at a named barrier. Raises Unknown."""
    found = counted(context, f"#meetings at {name}")
    return _one(context, found, f"how often roles meet at `{name}`")


def arrived(context: Context, barrier: OneBarrier) -> Integer:
    """How often this role has arrived at a barrier. Raises Unknown."""
    found = counted(context, f"#arrivals at {barrier.name}")
    return _one(context, found, f"how often roles arrive at `{barrier.name}`")


def turned(context: Context, op: o.AnyOp) -> Integer:
    """How often this role has executed a write. Raises Unknown."""
    name = f"#writes {context.position(op)}"
    return _one(context, counted(context, name), "how often this is written")
