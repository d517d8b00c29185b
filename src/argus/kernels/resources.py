"""Arithmetic that tells early what a block cannot hold. No design is judged by it.

Bounds are necessary, not sufficient: the compiler has the last word on registers.
"""

from __future__ import annotations

from argus.isa import wgmma
from argus.isa.registers import at_launch
from argus.runs.records import Value
from argus.targets import DEFAULT_TARGET, TARGETS

WARPGROUP = wgmma.THREADS
"""Threads."""
_USUAL = TARGETS[DEFAULT_TARGET]
WARP = _USUAL.warp_threads
"""Threads, on each target of the library."""
REGISTERS = _USUAL.registers
RESIDENT = _USUAL.resident_threads
"""Threads that are resident on a multiprocessor, likewise."""
"""Of a multiprocessor, and the most of a block, on each target of the library."""
OVERHEAD = 26
"""Registers that ptxas asks for beside a `wgmma` accumulator: it refuses 128 registers
of accumulator below a target of 154 (C7602)."""


def number(value: Value) -> int:
    """A knob that is a number. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not a number")
    return value


def cdiv(a: int, b: int) -> int:
    """Quotient of positive integers, rounded up."""
    return -(-a // b)


def shared_limit(target: str) -> int:
    """Bytes of shared memory that a block can have."""
    return TARGETS[target].shared_bytes


def registers_per_thread(threads: int) -> int:
    """Most registers of a thread in a block of so many threads."""
    return at_launch(threads // WARP, 1, _USUAL)


def ring_bytes(stages: int, rows: int, depth: int, itemsize: int = 2) -> int:
    """Bytes of a ring whose slots hold so many rows of so many elements."""
    return stages * rows * depth * itemsize


def too_large(need: int, target: str) -> str | None:
    """The sentence for too much shared memory; None if it fits."""
    limit = shared_limit(target)
    if need <= limit:
        return None
    return f"it needs {need} bytes of shared memory; {target} has {limit}"


def warp_grid(bm: int, bn: int, warps: int) -> tuple[int, int]:
    """Rows and columns of warps as `mma.sync` needs them; (0, 0) if there are none."""
    fits = [
        (r, warps // r)
        for r in range(1, warps + 1)
        if warps % r == 0 and bm % (16 * r) == 0 and bn % (8 * (warps // r)) == 0
    ]
    return min(fits, key=lambda g: (bm // g[0] + bn // g[1], g[1]), default=(0, 0))


def naive_registers(bm: int, bn: int, bk: int, warps: int) -> str | None:
    """Why a product through registers cannot be; None if it may be."""
    rows, columns = warp_grid(bm, bn, warps)
    if rows == 0:
        return f"{warps} warps cannot divide a tile of {bm} x {bn}"
    operands = (bm // rows + bn // columns) * bk // 32 // 2
    # Next to the operands stand the addresses and predicates of their loads.
    need = bm * bn // (WARP * warps) + 3 * operands + 40
    most = _USUAL.thread_registers
    if need > most:
        return f"a thread needs about {need} registers and has {most}"
    return None
