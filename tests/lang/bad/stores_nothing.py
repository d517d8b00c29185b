"""A kernel without a result."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: f32["M"]):  # expect: AG0024
    x = ag.load(A[0:4])
