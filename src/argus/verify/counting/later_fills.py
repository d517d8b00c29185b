"""Fills that a loop makes after others, as numbers that count on from these.

    for p in ag.static_range(2):             fills 0 and 1
        s[p].copy(...)
    for n in ag.range(0, steps):
        ... s[n % 2].load() ...
        s[n % 2].copy(...)                   fill n + 2: s[(n + 2) % 2]

To all analyses a stage that is written ``x % S`` means fill x. An author who fills
again what was read just before writes the stage of the fill that was read. It is the
same stage as that of a later fill: the first one of the loop that was not made before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Sym, evaluate, substitute, symbols
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.counting.blocks import changed, within

__all__ = ["with_later_fills"]

_Shifts = dict[int, Expr]
"""Stages as they are written instead, by the identity of the operation."""


def with_later_fills(program: Program) -> Program:
    """The same program with numbers of fills that go up; itself if all do."""
    slots = {alloc for ring in program.rings for alloc in ring.fields.values()}
    lets = {x.sym.name: x.value for x in walk(program.body) if isinstance(x, o.Let)}
    found: _Shifts = {}
    roles = [op for op in program.body.ops if isinstance(op, o.Roles)]
    common = [op for op in program.body.ops if not isinstance(op, o.Roles)]
    for ops in (common, *(role.body.ops for op in roles for role in op.roles)):
        found |= _of_body(ops, lets, slots)
    if not found:
        return program
    return replace(program, body=_rewritten(program.body, found))


def _of_body(
    ops: Iterable[o.AnyOp], lets: Mapping[str, Expr], slots: set[SharedAlloc]
) -> _Shifts:
    """What one role writes in its loops, after stages that it has filled by number."""
    found: _Shifts = {}
    made: dict[SharedAlloc, set[int]] = {}
    for op in ops:
        if not isinstance(op, o.For):
            for view in (view for x in walk(o.Block([op])) for view in _written(x)):
                if isinstance(view.stage, Const):
                    made.setdefault(view.alloc, set()).add(int(view.stage.value))
            continue
        if any(isinstance(x, o.For) for x in walk(op.body)):
            continue
        first: dict[str, Expr] = {op.var.name: op.start}
        first |= {carry.arg.name: carry.init for carry in op.scalars}
        for x in walk(op.body):
            for view in _written(x):
                count = len(made.get(view.alloc, ()))
                if view.alloc in slots or made.get(view.alloc) != set(range(count)):
                    continue
                later = _counted_on(view, count, lets, first)
                if later is not None:
                    found[id(x)] = later
    return found


def _written(op: o.AnyOp) -> tuple[SharedView, ...]:
    if isinstance(op, o.CopyAsync):
        return (op.dst,)
    return (op.view,) if isinstance(op, o.StoreShared) else ()


def _counted_on(
    view: SharedView, count: int, lets: Mapping[str, Expr], first: Mapping[str, Expr]
) -> Expr | None:
    """The stage of a later fill, if its first one is below ``count``; else None."""
    stages, stage = view.alloc.stages, view.stage
    while isinstance(stage, Sym) and stage.name in lets:
        stage = lets[stage.name]
    if not isinstance(stage, Binary) or stage.op != "%" or stage.right != Const(stages):
        return None
    begun, known = stage.left, {**lets, **first}
    while names := {s.name for s in symbols(begun) if s.name in known}:
        begun = substitute(begun, {name: known[name] for name in names})
    if any(True for _ in symbols(begun)):
        return None
    laps = -((int(evaluate(begun, {})) - count) // stages)
    if laps <= 0:
        return None
    return Binary("%", Binary("+", stage.left, Const(laps * stages)), stage.right)


def _rewritten(block: o.Block, found: _Shifts) -> o.Block:
    def change(op: o.AnyOp) -> Iterable[o.AnyOp]:
        stage = found.get(id(op))
        if stage is None:
            return (within(op, lambda b: _rewritten(b, found)),)
        if isinstance(op, o.CopyAsync):
            return (replace(op, dst=replace(op.dst, stage=stage)),)
        assert isinstance(op, o.StoreShared)
        return (replace(op, view=replace(op.view, stage=stage)),)

    return changed(block, change)
