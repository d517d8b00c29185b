"""A reinterpretation as another number of registers."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.load(A[0:64, 0:64])
    y = ag.reinterpret(x, ag.layouts.blocked((64, 32), 128))  # expect: AG0213
    C[0:64, 0:32] = y.to(f32).rename("M N")
