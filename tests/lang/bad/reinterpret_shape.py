"""A reinterpretation whose shape is not the layout's."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((BM, 64), f32)
    y = ag.reinterpret(  # the layout is one of (64, 64)
        x,
        ag.layouts.wgmma_accumulator(64, 64),
        shape=(64, 32),  # expect: AG0213
    )
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
