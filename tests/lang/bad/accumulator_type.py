"""An accumulator of 16 bits."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    c = ag.dot(  # the operands fit
        ag.zeros((BM, 64), bf16),
        ag.zeros((64, 64), bf16),
        ag.zeros((BM, 64), bf16),  # expect: AG0205
    )
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
