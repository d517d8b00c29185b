"""A role that loads by TMA on a target without it."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ring = ag.ring(2, a=bf16.tile(BM, 64))
    with ag.role("load", warps=1):
        with ring.fill() as slot:
            slot.a.load(A[i * BM :, 0:])  # expect: AG0602
    with ag.role("math", warpgroups=1):
        with ring.drain() as slot:
            C[i * BM :, 0:] = slot.a.load().to(f32).rename("M N")
