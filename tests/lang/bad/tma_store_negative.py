"""A TMA store that may begin before its tensor."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    s = ag.shared(f32, (64, 64))
    s.store(ag.zeros((64, 64), f32))
    ag.tma_store(C[i - 4 :, 0:], s)  # expect: AG0603
