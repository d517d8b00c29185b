"""A placed program refines its tile program: the same elements, whoever holds them.

    gaps(tile, placed) -> the places where that is not shown

The tile program says what every element of every tile is; it knows no threads. The
placed program has the same operations, with layouts and plans, and operations that
placing inserted. It refines the tile program if, operation by operation,

    correspondence.py   it is the same program but for moves, waits and split reductions
    shared_tiles.py     each element of a shared tile has bytes of its own, and accesses
                        by registers touch the bytes of the elements that they name
    boxes.py            the boxes of a TMA copy are the elements of its view
    products.py         matrix instructions multiply and add the elements of the product
    storage.py          tiles that share registers are not needed at the same time

Operations that move no data between threads are equations between layouts, which
`ir/check_layouts.py` demands of every placed program. All of it is local and concrete:
layouts are enumerated in numpy, at no particular size of the problem.

Not here: when a write is visible and which write a read sees (`verify/order`), where a
vector or a box may begin, and what elements mean.
"""

from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import divisor
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.refinement.boxes import copy_gaps
from argus.verify.refinement.correspondence import correspondence_gaps
from argus.verify.refinement.gaps import Gap
from argus.verify.refinement.products import product_gaps
from argus.verify.refinement.shared_tiles import access_gaps, tile_gaps
from argus.verify.refinement.storage import storage_gaps

__all__ = ["Gap", "gaps"]


def gaps(tile: Program, placed: Program) -> tuple[Gap, ...]:
    """Where it is not shown that ``placed`` refines ``tile``; empty: it does.

    ``placed`` is what placing made of a copy of ``tile``, in which it was already
    written where whole numbers wrap (`lower/wraps.py`); tiles keep their ``id``.
    Raises ValueError for a program that is not placed.
    """
    if not placed.placed or tile.placed:
        raise ValueError(f"{placed.name}: a tile program and a placed one are compared")
    found = [*correspondence_gaps(tile, placed), *tile_gaps(placed)]
    # What divides scalars, whatever they are computed from.
    facts: dict[str, int] = {}
    for op in walk(placed.body):
        match op:
            case o.Let():
                facts[op.sym.name] = divisor(op.value, facts)
            case o.Dot():
                found += product_gaps(op)
            case o.CopyAsync() | o.CopyOut():
                found += copy_gaps(op, placed.cluster, facts)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Access()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                found += access_gaps(op, facts)
            case _:
                assert_never(op)
    return (*found, *storage_gaps(placed.body))
