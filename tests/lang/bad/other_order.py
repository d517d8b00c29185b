"""Dimensions in another order."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.zeros((4, BM, 64), f32, dims="B M N") + ag.zeros((64, BM), f32, dims="N M")  # expect: AG0218
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
