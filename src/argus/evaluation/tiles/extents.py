"""Along which dimensions a program goes in tiles, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import GlobalTensor, GlobalView
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = ["tile_extents"]


def tile_extents(program: Program) -> tuple[dict[str, int], frozenset[str]]:
    """Largest extent of a tile along each dimension; dimensions of no output."""
    tiles: dict[str, int] = {}
    for view in _views(program):
        gathers = {g.axis for g in view.gathers}
        for axis, (dim, extent) in enumerate(zip(view.dims, view.shape, strict=True)):
            if dim is not None and axis not in gathers:
                tiles[dim] = max(tiles.get(dim, 1), extent)
    kept: set[str] = set()
    inner: set[str] = set()
    for param in program.params:
        if isinstance(param, GlobalTensor):
            (kept if param.name in program.outputs else inner).update(param.dims)
    return tiles, frozenset(inner - kept)


def _views(program: Program) -> Iterator[GlobalView]:
    for op in walk(program.body):
        match op:
            case o.LoadGlobal() | o.StoreGlobal():
                yield op.view
            case o.CopyAsync():
                yield op.src
            case o.CopyOut():
                yield op.dst
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.LoadShared()
                | o.StoreShared() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
