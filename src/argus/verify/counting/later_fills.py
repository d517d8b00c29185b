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
from dataclasses import fields, replace

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Sym, evaluate, substitute, symbols
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import bodies, lets, loops, walk
from argus.verify.counting.blocks import changed, within

__all__ = ["with_later_fills"]

_Stages = dict[int, Expr]
"""Stages as they are written instead, by the identity of the operation."""


def with_later_fills(program: Program) -> Program:
    """The same program with numbers of fills that go up; itself if all do."""
    slots = {alloc for ring in program.rings for alloc in ring.fields.values()}
    named = lets(program.body)
    found: _Stages = {}
    for _, body in bodies(program.body):
        found |= _of_body(body, named, slots)
    if not found:
        return program
    return replace(program, body=_rewritten(program.body, found))


def _of_body(
    body: o.Block, named: Mapping[str, Expr], slots: set[SharedAlloc]
) -> _Stages:
    """What one role writes in its loops, after stages that it has filled by number."""
    found: _Stages = {}
    made: dict[SharedAlloc, set[int]] = {}
    for op in body.ops:
        own = list(loops(o.Block([op])))
        if not own:
            for view in (one.filled() for one in walk(o.Block([op]))):
                if view is not None and isinstance(view.stage, Const):
                    made.setdefault(view.alloc, set()).add(int(view.stage.value))
        if len(own) != 1 or own[0] is not op:
            continue  # in a loop around, or in a branch: it begins anew
        (loop,) = own
        first: dict[str, Expr] = {loop.var.name: loop.start}
        first |= {carry.arg.name: carry.init for carry in loop.scalars}
        for x in walk(loop.body):
            view = x.filled()
            before = set[int]() if view is None else made.get(view.alloc, set())
            if view is None or view.alloc in slots or before != {*range(len(before))}:
                continue
            later = _counted_on(view, len(before), named, first)
            if later is not None:
                found[id(x)] = later
    return found


def _counted_on(
    view: SharedView, count: int, named: Mapping[str, Expr], first: Mapping[str, Expr]
) -> Expr | None:
    """The stage of a later fill, if its first one is below ``count``; else None.

    ``first``: what scalars are in the loop's first iteration.
    """
    stages, stage = view.alloc.stages, view.stage
    while isinstance(stage, Sym) and stage.name in named:
        stage = named[stage.name]
    if not isinstance(stage, Binary) or stage.op != "%" or stage.right != Const(stages):
        return None
    begun, known = stage.left, {**named, **first}
    while names := {s.name for s in symbols(begun) if s.name in known}:
        begun = substitute(begun, {name: known[name] for name in names})
    if any(True for _ in symbols(begun)):
        return None
    laps = -((int(evaluate(begun, {})) - count) // stages)
    if laps <= 0:
        return None
    return Binary("%", Binary("+", stage.left, Const(laps * stages)), stage.right)


def _rewritten(block: o.Block, found: _Stages) -> o.Block:
    def change(op: o.AnyOp) -> Iterable[o.AnyOp]:
        stage = found.get(id(op))
        if stage is None:
            return (within(op, lambda b: _rewritten(b, found)),)
        view = op.filled()
        assert view is not None
        (name,) = (f.name for f in fields(op) if getattr(op, f.name) is view)
        return (replace(op, **{name: replace(view, stage=stage)}),)

    return changed(block, change)
