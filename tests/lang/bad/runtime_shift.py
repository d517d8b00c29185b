"""A shift of a number by an amount that only a run knows."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    n = 1 << A.shape[1]  # expect: AG0004
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
