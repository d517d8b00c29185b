"""Tensors that a program reads."""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = ["read"]


def read(program: Program) -> frozenset[str]:
    """Tensors that the program reads, or adds to."""
    found: set[str] = set()
    for op in walk(program.body):
        match op:
            case o.LoadGlobal():
                found.add(op.view.tensor.name)
            case o.LoadScalar():
                found.add(op.tensor.name)
            case o.CopyAsync():
                found.add(op.src.tensor.name)
            case o.StoreGlobal():
                if op.atomic is not None:
                    found.add(op.view.tensor.name)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it reads no tensor
            case _:
                assert_never(op)
    return frozenset(found)
