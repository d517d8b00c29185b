"""An argument that an inline function needs."""

import argus as ag
from argus import f32


@ag.inline
def add(x, y):
    return x + y


@ag.kernel
def bad(A: f32["M"], *, BM: int = 64):
    x = ag.load(A[0:BM])
    A[0:BM] = add(x)  # expect: AG0104
