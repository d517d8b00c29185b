"""A grid that depends on an element of a tensor."""

import argus as ag
from argus import f32, i32


@ag.kernel
def bad(count: i32["E"], A: f32["M"]):
    i = ag.block(count[0])  # expect: AG0105
    A[0:64] = 0.0
