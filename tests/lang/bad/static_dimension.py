"""A dimension that a static parameter sets to zero."""

import argus as ag
from argus import f32


@ag.kernel
def bad(
    A: f32["M D"],  # expect: AG0208
    *,
    D: int = 0,
):
    A[0:64, 0:64] = 0.0
