"""wgmma on a target without it."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    a, b = ag.shared(bf16, (64, 64)), ag.shared(bf16, (64, 64))
    x = ag.wgmma(a, b)  # expect: AG0602
    C[i * BM :, 0:] = x
