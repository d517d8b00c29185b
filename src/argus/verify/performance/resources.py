"""Occupancy: how many blocks a multiprocessor can hold at once, and what limits it.

    threads      2048 per multiprocessor, at most 32 blocks
    shared       what a block may have at most, plus the 1 KiB that each block costs
    registers    65536, given to warps in units of 256, in four partitions

(CUDA C++ Programming Guide, "Compute Capabilities"; CUDA Occupancy Calculator.)
Registers per thread are known only from machine code. Without it, launch bounds speak:
the compiler is told `min_blocks` and keeps to it, so registers leave room for as many.

Waves of the grid are the performance model's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.program import Program

__all__ = ["ResidentBlocks", "occupancy"]


@dataclass(frozen=True)
class ResidentBlocks:
    """Resident blocks per multiprocessor, and the limit that each resource sets."""

    blocks: int
    limits: dict[str, int]

    @property
    def by(self) -> str:
        """What sets the least limit."""
        return min(self.limits, key=lambda name: self.limits[name])


def occupancy(program: Program, registers: int | None = None) -> ResidentBlocks:
    """Of a placed program; with registers per thread of its machine code, exactly.

    Without them, the number that is certain: launch bounds keep registers low enough
    for ``min_blocks``.
    """
    target, threads = program.target, program.threads
    shared = target.shared_bytes + target.shared_reserved
    limits = {
        "blocks": target.resident_blocks,
        "threads": target.resident_threads // threads,
        "shared memory": shared // (program.shared_bytes + target.shared_reserved),
    }
    if registers is None:
        limits["registers (launch bounds)"] = max(
            program.min_blocks, target.registers // (threads * 256)
        )
    else:
        limits["registers"] = _by_registers(program, registers)
    return ResidentBlocks(min(limits.values()), limits)


def _by_registers(program: Program, registers: int) -> int:
    target = program.target
    unit = target.register_unit
    per_warp = -(-registers * target.warp_threads // unit) * unit
    per_partition = target.registers // target.partitions // per_warp
    return per_partition * target.partitions // program.warps
