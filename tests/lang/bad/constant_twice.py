"""A constant that is assigned twice."""

import argus as ag

ROWS = 64
ROWS = 128  # expect: AG0012


@ag.kernel
def bad(A: ag.f32["M"]):
    A[0:ROWS] = 0.0
