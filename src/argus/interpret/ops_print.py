"""What a kernel prints: the lines that the printed code prints, in some order.

A line begins with who prints it:

    block 3, thread 17: text 5 [2, 3] 0.5     an element of a tile, by who holds it
    block 3, thread 0: text 5                 scalars, by the first thread of the role
"""

from __future__ import annotations

import numpy as np

from argus.interpret.machine import ThreadGroup
from argus.interpret.numbers import compute
from argus.interpret.ops_compute import layout_of
from argus.ir import ops as o

__all__ = ["run"]


def run(group: ThreadGroup, op: o.Print) -> None:
    """Print the values, where somebody listens."""
    write = group.cluster.printed
    if write is None:
        return
    scalars = [v for v in op.values if not isinstance(v, o.Tile)]
    numbers = [_number(group.scalar(v), v.type == "float") for v in scalars]
    said = " ".join([op.text, *numbers])
    first = group.first * group.lanes
    tiles = [v for v in op.values if isinstance(v, o.Tile)]
    if not tiles:
        write(f"block {group.block.index}, thread {first}: {said}")
    for tile in tiles:
        layout = layout_of(group, tile)
        owned, table = layout.owner_mask(), layout.table()
        values = compute(group.get(tile), tile.dtype)
        for thread, register in np.argwhere(owned):
            at = ", ".join(map(str, table[thread, register].tolist()))
            value = _number(values[thread, register].item(), tile.dtype.is_float)
            who = f"block {group.block.index}, thread {first + int(thread)}"
            write(f"{who}: {said} [{at}] {value}")


def _number(value: float, real: bool) -> str:
    """As `%.9g` or `%lld` of C."""
    return f"{float(value):.9g}" if real else str(int(value))
