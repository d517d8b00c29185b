"""Budgets that fit a multiprocessor, and not what the block is launched with."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    with ag.role("load", warpgroups=1, registers=80):  # expect: AG0503
        C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
    with ag.role("math", warpgroups=2, registers=216):
        pass
