"""mma.sync m16n8k16: the synchronous matrix product of a warp.

    D (16 x 8, f32) = D + A (16 x 16) * B (16 x 8), all in registers, bf16 or f16

Which lane holds what: `argus.layout.mma_accumulator`, `mma_a_operand`, `mma_b_operand`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.isa.matrix import ELEMENTS, MatrixElement
from argus.isa.record import (
    ALL_TARGETS,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.isa.text import asm, device
from argus.layout import WARP_LANES

__all__ = [
    "COLUMNS",
    "ROWS",
    "apply",
    "function_name",
    "records",
    "registers",
]

ROWS = 16
"""M of one instruction."""
COLUMNS = 8
"""N of one instruction."""


def function_name(of: MatrixElement) -> str:
    """Device function that multiplies this element type."""
    return f"argus_mma_m{ROWS}n{COLUMNS}k{of.depth}_{of.dtype.name}"


def registers(of: MatrixElement) -> tuple[int, int, int]:
    """Elements per lane of the accumulator, of A and of B, for one instruction."""
    sizes = (ROWS * COLUMNS, ROWS * of.depth, COLUMNS * of.depth)
    acc, a, b = (size // WARP_LANES for size in sizes)
    return acc, a, b


def apply(
    a: NDArray[np.float32], b: NDArray[np.float32], acc: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Acc + a @ b.T in f32: `a` [16, 16], `b` [8, 16] (as n, k), `acc` [16, 8].

    Order and intermediate precision of the sum are not specified (PTX ISA, mma), so
    results agree to f32 rounding of the sum of magnitudes, not bit for bit.
    """
    product: NDArray[np.float32] = np.matmul(a, b.T, dtype=np.float32)
    return acc + product


def _record(of: MatrixElement) -> Instruction:
    shape = f"m{ROWS}n{COLUMNS}k{of.depth}"
    name = f"mma.sync.aligned.{shape}.row.col.f32.{of.ptx}.{of.ptx}.f32"
    function = function_name(of)
    body = asm(
        [
            name,
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};",
        ],
        outputs=[f'"+f"(d[{i}])' for i in range(4)],
        inputs=[f'"r"(a[{i}])' for i in range(4)] + ['"r"(b[0])', '"r"(b[1])'],
        volatile=False,
        memory=False,
    )
    return Instruction(
        name=name,
        family="mma",
        targets=ALL_TARGETS,
        scope="warp",
        function=function,
        cuda=device(f"void {function}(float* d, u32 const* a, u32 const* b)", body),
        effects=Effects(("d", "a", "b"), ("d",)),
        cost=InstructionCost(flops=2 * ROWS * COLUMNS * of.depth),
        source="PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: mma",
        constraints=Constraints(
            shape=(("m", ROWS), ("n", COLUMNS), ("k", of.depth)),
            rules=(f"all {WARP_LANES} lanes execute it together",),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return tuple(map(_record, ELEMENTS))
