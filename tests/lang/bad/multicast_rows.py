"""A tile with too few rows to be shared by a cluster."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    ag.cluster(2)
    bm, bn = ag.block_tile(ag.cdiv(C.shape[0], 8), 1)
    ring = ag.ring(2, a=bf16.tile(8, 64))
    with ag.role("load", warps=1):
        with ring.fill() as slot:
            slot.a.load(A[bm * 8 :, 0:], multicast=2)  # expect: AG0609
    with ag.role("math", warpgroups=1):
        with ring.drain() as slot:
            C[bm * 8 :, 0:] = slot.a.load().to(f32).rename("M N")
