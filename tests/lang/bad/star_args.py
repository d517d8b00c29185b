"""A variable number of parameters."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M"],
    *rest,  # expect: AG0014
):
    A[0:4] = 0.0
