"""A persistent loop without extents."""

import argus as ag
from argus import f32


@ag.kernel
def bad(A: f32["M"]):
    for _ in ag.persistent():  # expect: AG0104
        A[0:64] = 0.0
