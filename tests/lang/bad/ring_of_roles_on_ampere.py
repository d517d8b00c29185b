"""A ring between roles on a target without barriers in memory."""

# target: sm_80

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    ring = ag.ring(2, a=bf16.tile(BM, 64))
    with ag.role("make", warpgroups=1):
        with ring.fill() as slot:  # expect: AG0602
            slot.a.store(ag.load(A[i * BM :, 0:], (BM, 64)))
    with ag.role("use", warpgroups=1):
        with ring.drain() as slot:
            C[i * BM :, 0:] = slot.a.load().to(f32).rename("M N")
