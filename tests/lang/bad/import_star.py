"""All names of the language at once."""

import argus as ag
from argus import *  # expect: AG0022


@ag.kernel
def bad(A: ag.f32["M"]):
    A[0:64] = 0.0
