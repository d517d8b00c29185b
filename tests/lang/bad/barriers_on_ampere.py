"""A barrier in memory on a target without them."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    bar = ag.barriers(1)
    bar.arrive()  # expect: AG0602
    bar.wait(0)
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
