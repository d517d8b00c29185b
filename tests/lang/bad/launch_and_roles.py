"""Warps of the launch beside those of roles."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    ag.launch(warps=8)  # expect: AG0613
    with ag.role("math", warpgroups=1):
        C[0:, 0:] = ag.zeros((BM, 64), f32)
