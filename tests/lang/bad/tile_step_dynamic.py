"""A register tile sliced with a step that is known only at run time."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    x = ag.load(A[i * BM :, 0:64], (BM, 64))
    C[i * BM :, 0:32] = x[:, 0::i].to(f32).rename("M N")  # expect: AG0108
