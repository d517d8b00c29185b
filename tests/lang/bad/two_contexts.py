"""A `with` that opens two slots."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    r = ag.ring(2, a=bf16.tile(BM, 64))
    s = ag.ring(2, b=bf16.tile(BM, 64))
    with r.fill() as x, s.fill() as y:  # expect: AG0016
        pass
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
