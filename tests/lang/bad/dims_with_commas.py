"""Dimensions separated by commas."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M, K"],  # expect: AG0112
):
    A[0:64, 0:64] = 0.0
