"""A reference called from a kernel."""

import argus as ag
from argus import f32


@ag.reference
def double(x):
    return 2 * x


@ag.kernel
def bad(A: f32["M"]):
    A[0:64] = double(ag.load(A[0:64]))  # expect: AG0005
