"""More resident blocks than a multiprocessor has threads for."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):  # expect: AG0510
    ag.launch(warps=16, min_blocks=5)
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    C[i * BM :, 0:] = ag.zeros((BM, 64), f32)
