"""A loop over the rows of a tile."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((BM, 64), f32)
    for row in x:  # expect: AG0006
        pass
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
