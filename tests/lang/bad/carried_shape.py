"""A loop changes a shape."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((BM,), f32)
    for k in ag.range(0, 4):
        y = x + 1.0
        x = ag.zeros((2 * BM,), f32)  # expect: AG0109
    z = x + 1.0
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
