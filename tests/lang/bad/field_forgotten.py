"""A fill that leaves a field of its slot empty."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ring = ag.ring(2, a=bf16.tile(BM, 64), b=bf16.tile(64, 64))
    with ring.fill() as slot:  # expect: AG0416
        slot.a.load(A[i * BM :, 0:])
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
