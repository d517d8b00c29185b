"""mma.sync m16n8k16: the synchronous matrix product of a warp.

    D (16 x 8, f32) = D + A (16 x 16) * B (16 x 8), all in registers, bf16 or f16

Which lane holds what: `argus.layout.mma_accumulator`, `mma_a_operand`, `mma_b_operand`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.isa.record import ALL_TARGETS, Constraints, Cost, Effects, Instruction
from argus.isa.text import asm, device

__all__ = ["apply", "records"]


def apply(
    a: NDArray[np.float32], b: NDArray[np.float32], acc: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Acc + a @ b.T in f32: `a` [16, 16], `b` [8, 16] (as n, k), `acc` [16, 8].

    Order and intermediate precision of the sum are not specified (PTX ISA, mma), so
    results agree to f32 rounding of the sum of magnitudes, not bit for bit.
    """
    product: NDArray[np.float32] = np.matmul(a, b.T, dtype=np.float32)
    return acc + product


def _record(dtype: str) -> Instruction:
    name = f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32"
    function = f"argus_mma_m16n8k16_{dtype}"
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
        # 256 multiply-adds per cycle and tensor core (NVIDIA A100 white paper: 312
        # TFLOP/s at 108 SMs, 1.41 GHz); sm_90 does little better this way.
        cost=Cost(8, "tensor", 0, 2 * 16 * 8 * 16),
        source="PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: mma",
        constraints=Constraints(
            shape=(("m", 16), ("n", 8), ("k", 16)),
            rules=("all 32 lanes execute it together",),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (_record("bf16"), _record("f16"))
