"""Groups of no rows."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    bm, bn = ag.block_tile(ag.cdiv(C.shape[0], BM), ag.cdiv(C.shape[1], 64), 0)  # expect: AG0105
    C[bm * BM :, bn * 64 :] = ag.zeros((BM, 64), f32)
