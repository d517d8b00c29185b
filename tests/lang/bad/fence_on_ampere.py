"""A fence between proxies on a target that has one."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ag.fence_async()  # expect: AG0602
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
