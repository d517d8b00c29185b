"""wgmma in half a warpgroup."""

# target: sm_90a

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    ag.launch(warps=2)
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    a, b = ag.shared(bf16, (64, 64)), ag.shared(bf16, (64, 64))
    C[i * BM :, 0:] = ag.wgmma(a, b)  # expect: AG0604
