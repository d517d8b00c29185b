"""An inline function with any number of arguments."""

import argus as ag
from argus import f32


@ag.inline
def total(*xs):  # expect: AG0014
    return xs


@ag.kernel
def bad(A: f32["M"]):
    A[0:64] = total(1.0, 2.0)
