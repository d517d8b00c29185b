"""Two inline functions that call each other."""

import argus as ag
from argus import f32


@ag.inline
def even(x):
    return odd(x)


@ag.inline
def odd(x):
    return even(x)  # expect: AG0015


@ag.kernel
def bad(A: f32["M"]):
    A[0:64] = even(ag.load(A[0:64]))
