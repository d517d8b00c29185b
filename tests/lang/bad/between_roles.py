"""A statement between two roles."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    with ag.role("a", warps=1):
        pass
    ag.sync()  # expect: AG0422
    with ag.role("b", warps=1):  # expect: AG0422
        pass
