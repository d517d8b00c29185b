"""From a tile program to its stores: the order of roles, and the passes over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import symbols
from argus.ir.memory import GlobalTensor, SharedAlloc, SharedView
from argus.ir.program import Program, ScalarParam
from argus.ir.walk import bodies, walk
from argus.terms import Integer, Scalar, Unknown, Value, World, leaf_term
from argus.verify.counting import with_numbers
from argus.verify.denotation.assumptions import require, require_elements
from argus.verify.denotation.in_place import overwritten
from argus.verify.denotation.ranges import assume_range, range_of
from argus.verify.denotation.result import Denotation
from argus.verify.denotation.scalars import scalars
from argus.verify.denotation.shared import meet
from argus.verify.denotation.stages import with_stages_apart
from argus.verify.denotation.state import Record
from argus.verify.denotation.walk import ProgramWalk

__all__ = ["denote"]

_PASSES = 4
"""Most passes over a role that drains what it fills: each finds fills for the next."""

NOTES = (
    "casts between floats are the identity",
    "elements are real numbers: nothing is rounded, NaN or infinite",
    "sizes are below 2**30, and whole scalar arguments within 2**29",
    "sums of a few entries of tables of 32 bits fit their type",
    "a tensor has less than 2**40 bytes",
    "floats that are cut to whole numbers of 32 bits are within 2**30",
    "tensors do not overlap in memory",
)


def denote(program: Program, world: World) -> Denotation:
    """What a tile program stores, for all sizes that its launches admit.

    ``program`` is not placed. Its requirements and assumptions become facts of the
    world. What is not known is in the result (`Denotation.lost`), and not raised.
    """
    if program.placed:
        raise ValueError("a placed program: `denote` reads tile programs")
    program = with_numbers(with_stages_apart(program))
    walk_ = ProgramWalk(program, world)
    try:
        _parameters(walk_, program)
        require(walk_, program)
        require_elements(walk_, program, _outputs(program))
        walk_.grid.enter()
    except Unknown as why:
        return Denotation((), world, dict.fromkeys(_outputs(program), why), NOTES)
    _run(walk_, program)
    record = walk_.earlier
    lost = dict(record.lost)
    for why in overwritten(walk_, record.accesses).values():
        for tensor in _outputs(program):
            lost.setdefault(tensor, why)
    return Denotation(
        tuple(record.stores),
        world,
        lost,
        (*NOTES, *walk_.notes),
        tuple(walk_.noticed.values()),
        frozenset(a.tensor for a in record.accesses if a.seen),
        dict(_narrow(program)),
        {
            p.name: p.dtype.integers
            for p in program.params
            if isinstance(p, GlobalTensor) and p.dtype.kind == "int"
        },
        tuple(_bits(walk_, program)),
    )


def _outputs(program: Program) -> list[str]:
    """Names of the tensors that a program stores to."""
    found: dict[str, None] = {}
    for op in walk(program.body):
        match op:
            case o.StoreGlobal():
                found.setdefault(op.view.tensor.name)
            case o.CopyOut():
                found.setdefault(op.dst.tensor.name)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                | o.LoadGlobal() | o.LoadShared() | o.StoreShared() | o.CopyAsync()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
    return list(found)


def _narrow(program: Program) -> Iterator[tuple[str, tuple[int, int]]]:
    """Tables whose entries have a range, by name."""
    for param in program.params:
        found = range_of(param.dtype) if isinstance(param, GlobalTensor) else None
        if found is not None:
            yield param.name, found


def _bits(context: ProgramWalk, program: Program) -> Iterator[Integer]:
    """How many bits the elements of each tensor take."""
    for param in program.params:
        if isinstance(param, GlobalTensor):
            size = Integer.of(param.dtype.bits)
            try:
                for extent in scalars(context, param.shape):
                    size = size * extent
            except Unknown:
                continue  # it depends on data
            yield size


def _parameters(context: ProgramWalk, program: Program) -> None:
    """Sizes, strides and scalar arguments."""
    world, scalars = context.world, context.state.scalars
    for param in program.params:
        match param:
            case ScalarParam():
                name = param.sym.name
                if param.sym.type == "float":
                    scalars[name] = Value.real(leaf_term(Scalar(name)))
                else:
                    scalars[name] = Value.whole(world.variable(name))
            case GlobalTensor():
                assume_range(world, param)
                for e in param.shape:
                    for s in symbols(e):
                        scalars.setdefault(s.name, Value.whole(world.size(s.name)))
                for e in param.strides:
                    for s in symbols(e):
                        scalars.setdefault(s.name, Value.whole(world.variable(s.name)))

    values = (v for v in scalars.values() if isinstance(v, Value))
    integers = (v.integer for v in values if v.kind == "integer")
    context.constants = frozenset(x for i in integers for x in i.variables())


def _run(context: ProgramWalk, program: Program) -> None:
    """Walk the common code, then each role; the record is left in ``earlier``."""
    (_, common), *roles = bodies(program.body)
    _walk_body(context, "block", common)
    start = context.state
    for role, body in _ordered(roles):
        context.state = start.copy()
        _walk_body(context, role, body)


def _walk_body(context: ProgramWalk, role: str, body: o.Block) -> None:
    """Walk a body until the fills that it drains itself are known."""
    context.role = role
    before, start = context.earlier, context.state
    missing = None
    for turn in range(_PASSES):
        obligations = len(context.world.obligations)
        context.state = start.copy()
        context.record = Record()
        context.filling = {}
        if role != "block":
            meet(context)
        context.run(body)
        if not _drains_own(context, body):
            break
        found = _missing(context.record)
        if turn and found in (0, missing):
            break
        missing = found
        context.earlier = _joined(before, Record(fills=context.record.fills))
        if turn < _PASSES - 1:
            context.world.obligations.forget_after(obligations)
    context.earlier = _joined(before, context.record)


def _missing(record: Record) -> int:
    """How many writes of fills are not known."""
    return sum(
        isinstance(write.held, Unknown)
        for fills in record.fills.values()
        for fill in fills
        for writes in fill.writes.values()
        for write in writes
    )


def _reads(body: o.Block) -> set[SharedAlloc]:
    """Shared buffers that a body reads."""
    found: set[SharedAlloc] = set()
    for op in walk(body):
        match op:
            case o.LoadShared():
                found.add(op.view.alloc)
            case o.CopyOut():
                found.add(op.src.alloc)
            case o.Dot():
                operands = (op.a, op.b)
                found |= {x.alloc for x in operands if isinstance(x, SharedView)}
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.LoadGlobal()
                | o.StoreGlobal() | o.StoreShared() | o.CopyAsync()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
    return found


def _writes(body: o.Block) -> set[SharedAlloc]:
    views = (op.filled() for op in walk(body))
    return {view.alloc for view in views if view is not None}


def _drains_own(context: ProgramWalk, body: o.Block) -> bool:
    """Whether a body reads slots that it fills itself."""
    slots = context.buffers.turning | set(context.buffers.ring)
    return bool(_reads(body) & _writes(body) & slots)


def _ordered(roles: list[tuple[str, o.Block]]) -> list[tuple[str, o.Block]]:
    """Roles, those that write buffers before those that read them."""
    left, found = list(roles), list[tuple[str, o.Block]]()
    while left:
        first = left[0]
        for one in left:
            others = (body for name, body in left if name != one[0])
            if not any(_writes(body) & _reads(one[1]) for body in others):
                first = one
                break
        left.remove(first)
        found.append(first)
    return found


def _joined(first: Record, second: Record) -> Record:
    fills = {key: list(found) for key, found in first.fills.items()}
    for key, found in second.fills.items():
        fills.setdefault(key, []).extend(found)
    return Record(
        [*first.stores, *second.stores],
        fills,
        [*first.accesses, *second.accesses],
        {**second.lost, **first.lost},
        {**second.unfilled, **first.unfilled},
    )
