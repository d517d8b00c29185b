"""A dimension with the name of what every kernel has."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M sm_count"],  # expect: AG0219
):
    A[0:64, 0:64] = 0.0
