"""Register budgets that are too large together."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    with ag.role("a", warpgroups=2, registers=240):  # expect: AG0503
        C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
    with ag.role("b", warpgroups=2, registers=240):
        pass
