"""Two layouts that meet."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.load(A[0:64, 0:64], layout=ag.layouts.blocked((64, 64), 128))
    y = ag.load(  # expect: AG0607
        A[0:64, 64:128],
        layout=ag.layouts.blocked((64, 64), 128, order=(0, 1)),
    )
    C[0:64, 0:64] = (x + y).to(f32).rename("M N")
