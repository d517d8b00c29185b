"""A component that no tag has."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((BM, 64), f32, dims="M N")
    ag.check(lambda e: e.head == 0, x)  # expect: AG0103
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
