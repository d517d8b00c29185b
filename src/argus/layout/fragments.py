"""Fragments of the tensor-core instructions, and coalesced ones for plain access.

Every constructor covers a whole tile: one instruction's fragment, repeated over the
tile in registers and spread over the warps or warpgroups. A register here is one
element; consecutive elements that fit one 32-bit register share it, the lower index in
the lower bits. Operands are said for 16-bit elements and hold for others by their
registers: where two elements of 16 bits are, four of 8 bits or one of 32 are.

Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation
using wgmma.mma_async instruction" (register fragments of .m64nNk16, .m64nNk8 and
.m64nNk32), and "Warp Level Matrix Multiply-Accumulate Instructions" ("Matrix Fragments
for mma.m16n8k16 with floating point type", .m16n8k8, .m16n8k32). In the terms used
there, groupID = laneid / 4 and threadID_in_group = laneid % 4.

Shared-memory operands are not here: they have no threads, only addresses.
"""

from __future__ import annotations

import math

from argus.layout.fragment import Fragment
from argus.layout.modes import Mode

__all__ = [
    "WGMMA_MAX_N",
    "blocked",
    "mma_a_operand",
    "mma_accumulator",
    "mma_b_operand",
    "row_major_default",
    "wgmma_a_operand",
    "wgmma_accumulator",
    "wgmma_inst_n",
]

WARP_LANES = 32
"""Lanes of the warp over which PTX deals out fragments (PTX ISA, WARP_SZ)."""
WGMMA_MAX_N = 256
"""Largest N of one wgmma.mma_async (PTX ISA, "Matrix Shape": multiples of 8)."""


def wgmma_inst_n(n: int) -> int:
    """Largest N of a wgmma instruction, at most 256, that divides `n` columns.

    Raises ValueError when `n` is not a positive multiple of 8.
    """
    _require_multiple("columns of a wgmma tile", n, 8)
    return max(s for s in range(8, WGMMA_MAX_N + 1, 8) if n % s == 0)


def wgmma_accumulator(
    m: int, n: int, warpgroups: int = 1, inst_n: int | None = None
) -> Fragment:
    """Accumulator (m, n) of wgmma.mma_async m64nNk16, f32, over 128 threads a group.

    Warpgroup w holds rows [w*m/warpgroups, (w+1)*m/warpgroups). In an atom of 64 rows,
    thread t of the group and register r hold

        row = 16*(t/32) + t%32/4 + 8*(r/2%2)    col = 8*(r/4) + 2*(t%4) + r%2

    (PTX ISA, register fragment of matrix D of .m64nNk16). Registers run over the
    columns of one instruction of `inst_n` columns (default: `wgmma_inst_n(n)`), then
    over the instructions along n, then over the atoms along m.

    Raises ValueError when m is no multiple of 64*warpgroups, n no multiple of inst_n,
    or inst_n no multiple of 8 up to 256.
    """
    inst_n = wgmma_inst_n(n) if inst_n is None else inst_n
    _require_multiple("N of a wgmma instruction", inst_n, 8)
    if inst_n > WGMMA_MAX_N:
        raise ValueError(f"N of a wgmma instruction is {inst_n} > {WGMMA_MAX_N}")
    _require_multiple("columns of a wgmma tile", n, inst_n)
    return Fragment(
        (m, n),
        _wgmma_threads(m, warpgroups),
        (
            Mode(2, 1, 1),
            Mode(2, 0, 8),
            Mode(inst_n // 8, 1, 8),
            Mode(n // inst_n, 1, inst_n),
            Mode(m // (64 * warpgroups), 0, 64),
        ),
    )


def wgmma_a_operand(m: int, k: int, warpgroups: int = 1, itemsize: int = 2) -> Fragment:
    """Matrix A (m, k) of wgmma.mma_async, taken from registers; here m64nNk16.

    Thread t of a warpgroup and register i of one atom of (64, 16) hold

        row = 16*(t/32) + t%32/4 + 8*(i/2%2)    col = 2*(t%4) + i%2 + 8*(i/4)

    (PTX ISA, register fragment of matrix A of .m64nNk16: rows groupID for i = 0, 1, 4,
    5 and groupID + 8 for the others). Registers run over the atoms along k, then along
    m. `wgmma_accumulator(m, k, warpgroups)` is the same function: after a cast, the
    result of one matrix product is the A operand of the next, in place. Elements of
    `itemsize` bytes (1, 2, 4).

    Raises ValueError when m is no multiple of 64*warpgroups or k none of a step's 32
    bytes.
    """
    if itemsize > 4:
        raise ValueError(f"elements of {itemsize} bytes")
    e = _per_register("depth of a wgmma tile", k, itemsize)
    return Fragment(
        (m, k),
        _wgmma_threads(m, warpgroups, e),
        (
            Mode(e, 1, 1),
            Mode(2, 0, 8),
            Mode(2, 1, 4 * e),
            Mode(k // (8 * e), 1, 8 * e),
            Mode(m // (64 * warpgroups), 0, 64),
        ),
    )


def mma_accumulator(
    m: int, n: int, warps_m: int = 1, warps_n: int = 1, *, rows: int = 16
) -> Fragment:
    """Accumulator (m, n) of mma.sync m16n8k16 (or m16n8k8), f32.

    Lane l and register i of one atom of (16, 8) hold row l/4 + 8*(i/2), column
    2*(l%4) + i%2 (PTX ISA, "Matrix Fragments for mma.m16n8k16", C and D). Warp w covers
    block (w % warps_m, w / warps_m) of a warps_m by warps_n grid of contiguous blocks.
    Registers run over the atoms along n, then along m. Of `rows` 8 (m8n8k4) an atom
    has the first two registers.

    Raises ValueError when m is no multiple of rows*warps_m or n none of 8*warps_n.
    """
    _require_multiple("rows of an mma tile", m, rows * warps_m)
    _require_multiple("columns of an mma tile", n, 8 * warps_n)
    return Fragment(
        (m, n),
        (
            Mode(4, 1, 2),
            Mode(8, 0, 1),
            Mode(warps_m, 0, m // warps_m),
            Mode(warps_n, 1, n // warps_n),
        ),
        (
            Mode(2, 1, 1),
            Mode(rows // 8, 0, 8),
            Mode(n // (8 * warps_n), 1, 8),
            Mode(m // (rows * warps_m), 0, rows),
        ),
    )


def mma_a_operand(
    m: int,
    k: int,
    warps_m: int = 1,
    warps_n: int = 1,
    itemsize: int = 2,
    *,
    rows: int = 16,
    halves: int = 2,
) -> Fragment:
    """Matrix A (m, k) of mma.sync, here m16n8k16; copies in all warps along n.

    Lane l and register i of one atom of (16, 16) hold row l/4 + 8*(i/2%2), column
    2*(l%4) + i%2 + 8*(i/4) (PTX ISA, "Matrix Fragments for mma.m16n8k16", A).
    Registers run over the atoms along k, then along m. Warps as in `mma_accumulator`,
    elements of `itemsize` bytes (1, 2, 4, or 8 in registers of their own). Of `rows` 8
    and one of the `halves` along k an atom has the first register (m8n8k4).

    Raises ValueError when m is no multiple of rows*warps_m or k none of a step's 4
    registers in each half.
    """
    _require_multiple("rows of an mma tile", m, rows * warps_m)
    e = _per_register("depth of an mma tile", k, itemsize, halves)
    return Fragment(
        (m, k),
        (
            Mode(4, 1, e),
            Mode(8, 0, 1),
            Mode(warps_m, 0, m // warps_m),
            Mode(warps_n),
        ),
        (
            Mode(e, 1, 1),
            Mode(rows // 8, 0, 8),
            Mode(halves, 1, 4 * e),
            Mode(k // (4 * halves * e), 1, 4 * halves * e),
            Mode(m // (rows * warps_m), 0, rows),
        ),
    )


def mma_b_operand(
    n: int,
    k: int,
    warps_m: int = 1,
    warps_n: int = 1,
    itemsize: int = 2,
    *,
    halves: int = 2,
) -> Fragment:
    """Matrix B of mma.sync, here m16n8k16, as a tile (n, k); copies along m.

    Lane l and register i of one atom hold n = l/4, k = 2*(l%4) + i%2 + 8*(i/2)
    (PTX ISA, "Matrix Fragments for mma.m16n8k16", B, where k is the row and n the
    column). Registers run over the atoms along k, then along n. Warps as in
    `mma_accumulator`, elements and `halves` as in `mma_a_operand`.

    Raises ValueError when n is no multiple of 8*warps_n or k none of a step's 4
    registers in each half.
    """
    _require_multiple("columns of an mma tile", n, 8 * warps_n)
    e = _per_register("depth of an mma tile", k, itemsize, halves)
    return Fragment(
        (n, k),
        (
            Mode(4, 1, e),
            Mode(8, 0, 1),
            Mode(warps_m),
            Mode(warps_n, 0, n // warps_n),
        ),
        (
            Mode(e, 1, 1),
            Mode(halves, 1, 4 * e),
            Mode(k // (4 * halves * e), 1, 4 * halves * e),
            Mode(n // (8 * warps_n), 0, 8),
        ),
    )


def blocked(
    shape: tuple[int, ...],
    threads: int,
    vector: int = 1,
    order: tuple[int, ...] | None = None,
) -> Fragment:
    """Coalesced fragment: neighbouring threads hold neighbouring vectors.

    `order` lists the axes, fastest-varying first (default: last axis first). Each
    thread holds `vector` consecutive elements along `order[0]`; threads go along that
    axis, then along the others; what is left of each axis repeats in registers, and
    what is left of the threads holds copies. As every axis is divided evenly, an axis
    takes as many threads as divide both what is left of it and of the threads.

    Raises ValueError when `vector` does not divide the fastest axis or `order` is not
    a permutation of the axes.
    """
    rank = len(shape)
    order = tuple(reversed(range(rank))) if order is None else order
    if sorted(order) != list(range(rank)):
        raise ValueError(f"order {order} is not a permutation of {rank} axes")
    if threads < 1 or vector < 1:
        raise ValueError(f"{threads} threads with vectors of {vector}")
    if vector > 1 and (rank == 0 or shape[order[0]] % vector != 0):
        raise ValueError(f"vectors of {vector} do not divide a tile of shape {shape}")
    thread_modes: list[Mode] = []
    reg_modes: list[Mode] = []
    if rank > 0:
        reg_modes.append(Mode(vector, order[0], 1))
    left = threads
    for position, axis in enumerate(order):
        unit = vector if position == 0 else 1
        along = math.gcd(shape[axis] // unit, left)
        left //= along
        thread_modes.append(Mode(along, axis, unit))
        covered = unit * along
        reg_modes.append(Mode(shape[axis] // covered, axis, covered))
    thread_modes.append(Mode(left))
    return Fragment(shape, tuple(thread_modes), tuple(reg_modes))


def row_major_default(
    shape: tuple[int, ...], threads: int, vector: int = 1
) -> Fragment:
    """`blocked` for row-major memory, with the widest vector that divides the rows.

    `vector` is the widest wanted, for example 16 bytes over the element size; where it
    does not divide the last axis, the largest divisor of it that does is taken.
    """
    fitting = math.gcd(vector, shape[-1]) if shape else 1
    return blocked(shape, threads, fitting)


def _per_register(what: str, k: int, itemsize: int, halves: int = 2) -> int:
    """Elements of a register, of which a step along k has 4 in each half."""
    if itemsize not in (1, 2, 4, 8):
        raise ValueError(f"elements of {itemsize} bytes")
    e = max(4 // itemsize, 1)
    _require_multiple(what, k, 4 * halves * e)
    return e


def _wgmma_threads(m: int, warpgroups: int, e: int = 2) -> tuple[Mode, ...]:
    """Lanes, warps and warpgroups; warp i of a group has rows 16*i of each atom."""
    _require_multiple("rows of a wgmma tile", m, 64 * warpgroups)
    return (
        Mode(4, 1, e),
        Mode(8, 0, 1),
        Mode(4, 0, 16),
        Mode(warpgroups, 0, m // warpgroups),
    )


def _require_multiple(what: str, value: int, unit: int) -> None:
    if unit < 1:
        raise ValueError(f"{what}: a count of warps or warpgroups is below 1")
    if value < 1 or value % unit != 0:
        raise ValueError(f"{what}: {value} is not a positive multiple of {unit}")
