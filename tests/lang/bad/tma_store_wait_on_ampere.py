"""A wait for TMA stores on a target without them."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
    ag.tma_store_wait(0)  # expect: AG0602
