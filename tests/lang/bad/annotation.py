"""A type that is not one."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M"],
    n: int,  # expect: AG0112
):
    A[0:4] = 0.0
