"""A function without a decorator."""

import argus as ag


def helper(x):  # expect: AG0013
    return x


@ag.kernel
def bad(A: ag.f32["M"]):
    A[0:64] = 0.0
