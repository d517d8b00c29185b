"""A swizzle of a vector."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    s = ag.shared(bf16, (64,), swizzle=128)  # expect: AG0606
    s.store(ag.zeros((64,), bf16))
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
