"""A copy by TMA that nobody can wait for."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    s = ag.shared(bf16, (BM, 64))
    s.copy(A[i * BM :, 0:], via="tma")  # expect: AG0613
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
