"""ldmatrix, stmatrix: 8x8 matrices of 16-bit elements, shared memory to warp and back.

Lane 8*i + r supplies the address of row r of matrix i (16 bytes). Register j of lane l
then holds two elements of matrix j: row l/4, columns 2*(l%4) and the next (low half
first); with .trans the matrix is transposed on the way: rows and columns trade places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.isa.text import asm, device
from argus.layout import WARP_LANES

__all__ = [
    "COUNTS",
    "ELEMENT_BITS",
    "ROW_BYTES",
    "address_lane",
    "fragment",
    "function_name",
    "records",
]

COUNTS = (1, 2, 4)
"""Matrices that one instruction moves."""
ELEMENT_BITS = 16
ROW_BYTES = 16
"""Bytes of a row of a matrix, and the alignment of its address."""


def function_name(count: int, *, load: bool, trans: bool) -> str:
    """Device function of one form; `count` is one of `COUNTS`."""
    suffix = "_trans" if trans else ""
    return f"argus_{'ldmatrix' if load else 'stmatrix'}_x{count}{suffix}"


def fragment(count: int, trans: bool = False) -> NDArray[np.int32]:
    """Which element each lane holds, shape [32 lanes, count registers, 2 halves, 3].

    The last axis is (matrix, row in memory, column in memory). The same for both
    directions (PTX ISA, ldmatrix and stmatrix).
    """
    lane, matrix, half = np.meshgrid(
        np.arange(WARP_LANES), np.arange(count), np.arange(2), indexing="ij"
    )
    row, column = lane // 4, lane % 4 * 2 + half
    if trans:
        row, column = column, row
    return np.stack([matrix, row, column], axis=-1).astype(np.int32)


def address_lane(matrix: int, row: int) -> int:
    """The lane that supplies the address of a row of a matrix."""
    return 8 * matrix + row


def _record(load: bool, count: int, trans: bool) -> Instruction:
    verb = "ldmatrix" if load else "stmatrix"
    function = function_name(count, load=load, trans=trans)
    dot_trans = ".trans" if trans else ""
    name = f"{verb}.sync.aligned.m8n8.x{count}{dot_trans}.shared.b16"
    first = 0 if load else 1
    registers = ", ".join(f"%{first + i}" for i in range(count))
    if load:
        signature = f"void {function}(u32* r, u32 smem)"
        body = asm(
            f"{name} {{{registers}}}, [%{count}];",
            outputs=[f'"=r"(r[{i}])' for i in range(count)],
            inputs=['"r"(smem)'],
        )
        effects = Effects(("[smem]",), ("r",), "generic")
    else:
        signature = f"void {function}(u32 smem, u32 const* r)"
        body = asm(
            f"{name} [%0], {{{registers}}};",
            inputs=['"r"(smem)'] + [f'"r"(r[{i}])' for i in range(count)],
        )
        effects = Effects(("r",), ("[smem]",), "generic")
    return Instruction(
        name=name,
        family="ldmatrix",
        targets=ALL_TARGETS if load else HOPPER,
        scope="warp",
        function=function,
        cuda=device(signature, body),
        effects=effects,
        # One wavefront of 128 bytes per matrix when its rows lie in distinct banks.
        cost=InstructionCost(bytes=128 * count),
        source=f"PTX ISA, Warp Level Matrix Load/Store Instructions: {verb}",
        constraints=Constraints(
            alignment=(("smem", ROW_BYTES),),
            shape=(("matrices", count), ("rows", 8), ("columns", 8)),
            rules=(
                f"all {WARP_LANES} lanes execute it together",
                f"lanes 0 to {8 * count - 1} supply row addresses",
            ),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return tuple(
        _record(load, count, trans)
        for load in (True, False)
        for count in COUNTS
        for trans in (False, True)
    )
