"""A scalar with the name of a dimension."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    M: i32,  # expect: AG0014
    A: f32["M"],
):
    A[0:64] = 0.0
