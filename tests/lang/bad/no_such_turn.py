"""A turn beyond the last."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64):
    (i,) = ag.block(ag.cdiv(C.shape[0], BM))
    order = ag.turns("order", 2)
    with ag.role("a", warpgroups=1):
        order.wait(2)  # expect: AG0104
