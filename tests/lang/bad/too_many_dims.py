"""More dimensions than a tensor can have."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["a b c d e f g h i"],  # expect: AG0112
):
    A[0:64] = 0.0
