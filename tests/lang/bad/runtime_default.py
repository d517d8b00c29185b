"""A default that is not static."""

import argus as ag
from argus import f32


@ag.kernel
def bad(
    A: f32["M"],
    *,
    X=ag.zeros((64,), f32),  # expect: AG0108
):
    A[0:64] = 0.0
