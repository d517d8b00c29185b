"""Coordinates that are multiplied by a number of any size."""

# target: sm_90a

import argus as ag
from argus import f32, i64


@ag.kernel
def bad(X: f32["N"], Step: i64["P"], Y: f32["M"]):
    step = Step[0]
    every = X.view("M", shape=(64,), at=lambda m: (m * step,))
    Y[0:] = ag.load(every[0:], (64,))  # expect: AG0122
