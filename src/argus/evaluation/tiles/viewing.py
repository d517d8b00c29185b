"""Accesses of global tensors, and which tensors say where those are."""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.memory import GlobalTensor, GlobalView
from argus.ir.program import Program
from argus.ir.walk import walk

Viewing = o.LoadGlobal | o.StoreGlobal | o.CopyAsync | o.CopyOut
"""Operations that access a global tensor by a view."""


def view_of(op: Viewing) -> GlobalView:
    """The view of the global tensor."""
    if isinstance(op, o.CopyAsync):
        return op.src
    return op.dst if isinstance(op, o.CopyOut) else op.view


def indexing(program: Program) -> frozenset[str]:
    """Tensors whose numbers may say where something is: tables of a program.

    Where tiles name elements, all that hold whole numbers.
    """
    found: set[str] = set()
    for op in walk(program.body):
        if isinstance(op, o.LoadScalar):
            found.add(op.tensor.name)
        if isinstance(op, Viewing) and view_of(op).gathers:
            params = (p for p in program.params if isinstance(p, GlobalTensor))
            found.update(p.name for p in params if p.dtype.kind == "int")
    return frozenset(found)
