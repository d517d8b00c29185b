"""A dimension with the name of a stride."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M K"],
    B: f32["A_s0"],  # expect: AG0219
):
    B[0:64] = 0.0
