"""A role whose size is given twice."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    with ag.role("a", warps=4, warpgroups=1):  # expect: AG0505
        pass
