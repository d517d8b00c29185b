"""A `return` inside a loop."""

import argus as ag
from argus import f32


@ag.inline
def first(x):
    for k in ag.range(0, 4):
        return x  # expect: AG0008


@ag.kernel
def bad(A: f32["M"], *, BM: int = 64):
    x = ag.load(A[0:BM])
    A[0:BM] = first(x)
