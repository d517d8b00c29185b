"""A parameter that has no name for callers."""

import argus as ag
from argus import f32


@ag.kernel
def bad(
    A: f32["M"],  # expect: AG0014
    /,
):
    A[0:64] = 0.0
