"""A TMA store on a target without it."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    s = ag.shared(f32, (BM, 64))
    ag.tma_store(C[i * BM :, 0:], s)  # expect: AG0602
