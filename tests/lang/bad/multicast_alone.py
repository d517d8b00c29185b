"""A multicast without a cluster."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ring = ag.ring(2, a=bf16.tile(BM, 64))
    with ring.fill() as slot:
        slot.a.load(A[i * BM :, 0:], multicast=2)  # expect: AG0508
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
