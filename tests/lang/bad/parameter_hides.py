"""A parameter with the name of an element type."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def bad(
    A: f32["M"],
    *,
    bf16: int = 64,  # expect: AG0019
):
    A[0:bf16] = 0.0
