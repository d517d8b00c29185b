"""A carried number that becomes a tile."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = 0
    for k in ag.range(0, 4):
        x = ag.zeros((BM,), f32) + x  # expect: AG0109
    C[i * BM :, 0] = 0.0 * x
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
