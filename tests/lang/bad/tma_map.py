"""A map of a tensor by TMA."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    V = A.view("k m", (A.shape[1], A.shape[0]), lambda k, m: (m, k))
    s = ag.shared(bf16, (64, 64))
    bar = ag.barriers(1)
    s.copy(V[0:64, 0:64], bar[0], via="tma")  # expect: AG0603
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
