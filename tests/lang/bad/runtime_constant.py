"""A constant that is a tile."""

import argus as ag
from argus import f32

ZERO = ag.zeros((64,), f32)  # expect: AG0108


@ag.kernel
def bad(A: f32["M"]):
    A[0:64] = ZERO
