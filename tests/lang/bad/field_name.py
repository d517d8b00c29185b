"""A field of a ring with a name of the ring's own."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ring = ag.ring(2, release=bf16.tile(BM, 64))  # expect: AG0019
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
