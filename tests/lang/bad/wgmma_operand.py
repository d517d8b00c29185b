"""wgmma with its right operand in registers."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    a = ag.load(A[i * BM :, 0:], (64, 64))
    b = ag.load(B[0:64, 0:64])
    C[i * BM :, 0:] = ag.wgmma(a, b.T)  # expect: AG0605
