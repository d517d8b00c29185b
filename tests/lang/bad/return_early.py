"""A `return` that is not the last statement."""

import argus as ag
from argus import f32


@ag.inline
def early(x):
    return x  # expect: AG0008
    y = x + 1.0


@ag.kernel
def bad(A: f32["M"], *, BM: int = 64):
    x = ag.load(A[0:BM])
    A[0:BM] = early(x)
