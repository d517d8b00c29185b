"""A map of a map that gives a coordinate too many."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    V = A.view("k m", (64, 64), lambda k, m: (m, k))
    W = V.view("m k", (64, 64), lambda m, k: (k, m, 0))  # expect: AG0203
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
