"""A class in a kernel file."""

import argus as ag


class Shape:  # expect: AG0003
    rows = 64


@ag.kernel
def bad(A: ag.f32["M"]):
    A[0:64] = 0.0
