"""A product that is too small for its warps."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    ag.launch(warps=16)
    a = ag.load(A[0:16, 0:64])
    b = ag.load(B[0:64, 0:64])
    C[0:16, 0:64] = ag.dot(a, b.T)  # expect: AG0603
