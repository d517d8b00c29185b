"""A carried tile that changes its element type."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((BM,), f32)
    for k in ag.range(0, 4):
        x = x.to(bf16)  # expect: AG0109
    C[i * BM :, 0] = x.to(f32)
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
