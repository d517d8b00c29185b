"""More shared memory than a block has."""

# target: sm_90a

import argus as ag
from argus import bf16, f32


@ag.kernel
def bad(A: bf16["M K"], C: f32["M N"], *, STAGES: int = 16):  # expect: AG0501
    (i,) = ag.block(ag.cdiv(C.shape[0], 256))
    ring = ag.ring(STAGES, a=bf16.tile(256, 64))
    with ag.role("load", warps=1):
        with ring.fill() as slot:
            slot.a.load(A[i * 256 :, 0:])
    with ag.role("math", warpgroups=1):
        with ring.drain() as slot:
            C[i * 256 :, 0:] = slot.a.load().to(f32).rename("M N")
