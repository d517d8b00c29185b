"""An argument that an inline function does not have."""

import argus as ag
from argus import f32


@ag.inline
def twice(x):
    return x + x


@ag.kernel
def bad(A: f32["M"], *, BM: int = 64):
    x = ag.load(A[0:BM])
    A[0:BM] = twice(x, scale=2.0)  # expect: AG0104
