"""A tile with more elements than the threads can hold."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.load(A[i * 512 :, 0:], (512, 512))  # expect: AG0502
    C[i * 512 :, 0:] = x.to(f32).rename("M N")
