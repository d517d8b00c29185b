"""Where shared buffers, barriers and carried tiles lie: declarations of `check.py`.

Only of placed programs, whose addresses and registers are chosen.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.check_layouts import Need
from argus.ir.program import Program
from argus.ir.walk import arguments, defined

__all__ = ["Storages", "check_memory"]


def check_memory(program: Program, need: Need) -> None:
    """Shared buffers and barriers lie inside the block's memory, apart."""
    limit = program.target.shared_bytes
    need(
        program.shared_bytes <= limit,
        f"{program.shared_bytes} bytes of shared memory; there are {limit}",
    )
    taken: list[tuple[int, int, str]] = []
    for alloc in program.shared:
        offset, layout = alloc.offset, alloc.layout
        if offset is None or layout is None:
            need(False, f"shared buffer {alloc.name} is not placed")
            continue
        need(
            layout.shape == alloc.shape,
            f"shared buffer {alloc.name} {alloc.shape} has a layout {layout.shape}",
        )
        for unit in (alloc.alignment, layout.alignment):
            starts = (offset, alloc.stage_bytes if alloc.stages > 1 else 0)
            need(
                all(start % unit == 0 for start in starts),
                f"shared buffer {alloc.name} at {offset} is not aligned to {unit}",
            )
        end = offset + alloc.stages * alloc.stage_bytes
        need(
            offset >= 0 and end <= program.shared_bytes,
            f"shared buffer {alloc.name} ends at {end} of {program.shared_bytes}",
        )
        taken.append((offset, end, alloc.name))
    for alloc in program.barriers:
        offset = alloc.offset
        if offset is None:
            need(False, f"barrier {alloc.name} is not placed")
            continue
        end = offset + 8 * alloc.count
        need(offset % 8 == 0, f"barrier {alloc.name} at {offset}")
        need(
            offset >= 0 and end <= program.shared_bytes,
            f"barrier {alloc.name} ends at {end} of {program.shared_bytes}",
        )
        # Buffers may share bytes when their lives do not overlap; barriers not.
        for start, stop, name in taken:
            need(
                end <= start or stop <= offset,
                f"barrier {alloc.name} overlaps {name}",
            )
        taken.append((offset, end, alloc.name))


class Storages:
    """Tiles that share registers have the same type and as many registers."""

    def __init__(self, need: Need) -> None:
        self.need = need
        self.owners: dict[int, o.Tile] = {}

    def add(self, op: o.AnyOp) -> None:
        """The tiles that an operation defines, and those that it carries."""
        for tile in (*defined(op), *arguments(op)):
            if tile.storage is None or tile.layout is None:
                continue
            other = self.owners.setdefault(tile.storage, tile)
            assert other.layout is not None
            self.need(
                (other.dtype, other.layout.num_regs)
                == (tile.dtype, tile.layout.num_regs),
                f"storage {tile.storage} is shared by {other!r} and {tile!r}",
            )
