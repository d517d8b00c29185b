"""More resident blocks than there can be."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    i = 0
    ag.launch(min_blocks=64)  # expect: AG0510
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
