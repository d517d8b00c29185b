"""The remainder of a run-time float."""

import argus as ag
from argus import f32


@ag.kernel
def bad(A: f32["M"], scale: f32):
    x = scale % 3  # expect: AG0107
    A[0:64] = x
