"""A dimension that appears twice."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M M"],  # expect: AG0207
):
    A[0:4, 0:4] = 0.0
