"""A tensor with a default value."""

import argus as ag
from argus import f32


@ag.kernel
def bad(
    A: f32["M"],
    bias: f32["M"] = 0,  # expect: AG0014
):
    A[0:64] = ag.load(bias[0:64])
