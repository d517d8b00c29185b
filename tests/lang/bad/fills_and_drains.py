"""A role that drains what it fills."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    loads = ag.ring(2, a=bf16.tile(BM, 64))  # expect: AG0417
    with ag.role("all", warpgroups=1):
        with loads.fill() as slot:
            slot.a.load(A[i * BM :, 0:])
        with loads.drain() as slot:
            C[i * BM :, 0:] = slot.a.load().to(f32).rename("M N")
