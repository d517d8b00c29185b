"""Stages of a buffer that all have a number, as buffers by themselves.

Who writes ``s[0]`` and who writes ``s[1]`` has nothing to do with each other, where no
stage is chosen when the program runs.
"""

from __future__ import annotations

from dataclasses import fields, replace

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import map_blocks, walk

__all__ = ["with_stages_apart"]

_Apart = dict[tuple[SharedAlloc, int], SharedAlloc]


def with_stages_apart(program: Program) -> Program:
    """A tile program that has such stages as buffers of one stage each."""
    slots = {alloc for ring in program.rings for alloc in ring.fields.values()}
    used: dict[SharedAlloc, set[int] | None] = {}
    for view in (v for op in walk(program.body) for v in _views(op).values()):
        if view.alloc.stages == 1 or view.alloc in slots:
            continue
        known = used.setdefault(view.alloc, set())
        if not isinstance(view.stage, Const):
            used[view.alloc] = None
        elif known is not None:
            known.add(int(view.stage.value))
    apart: _Apart = {
        (alloc, stage): replace(alloc, name=f"{alloc.name}[{stage}]", stages=1)
        for alloc, stages in used.items()
        for stage in sorted(stages or ())
    }
    if not apart:
        return program
    gone = {alloc for alloc, _ in apart}
    shared = [a for a in program.shared if a not in gone]
    body = _block(program.body, apart)
    return replace(program, body=body, shared=[*shared, *apart.values()])


def _views(op: o.AnyOp) -> dict[str, SharedView]:
    """The shared views of an operation, by the names of its fields."""
    values = ((field.name, getattr(op, field.name)) for field in fields(op))
    return {name: x for name, x in values if isinstance(x, SharedView)}


def _block(block: o.Block, apart: _Apart) -> o.Block:
    def change(op: o.AnyOp) -> o.AnyOp:
        inner = map_blocks(op, lambda b: _block(b, apart))
        changed = {name: _view(view, apart) for name, view in _views(op).items()}
        return replace(inner, **changed) if changed else inner

    return replace(block, ops=[change(op) for op in block.ops])


def _view(view: SharedView, apart: _Apart) -> SharedView:
    """The view of the buffer that a stage is."""
    if not isinstance(view.stage, Const):
        return view
    alloc = apart.get((view.alloc, int(view.stage.value)))
    return view if alloc is None else replace(view, alloc=alloc, stage=Const(0))
