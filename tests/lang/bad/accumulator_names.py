"""An accumulator with its dimensions exchanged."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    a = ag.load(A[i * BM :, 0:], (64, 64))
    b = ag.load(B[0:64, 0:64])
    acc = ag.zeros((64, 64), f32, dims="N M")
    c = ag.dot(a, b.T, acc)  # expect: AG0205
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
