"""A tensor of more dimensions than TMA has."""

# target: sm_90a

import argus as ag
from argus import bf16, f32


@ag.kernel
def bad(X: bf16["a b c d M N"], C: f32["M N"]):
    s = ag.shared(bf16, (64, 64))
    bar = ag.barriers(1)
    s.copy(X[0, 0, 0, 0, 0:64, 0:64], bar[0], via="tma")  # expect: AG0611
    C[0:64, 0:64] = 0.0
