"""A dimension whose name Python would read as another."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["ﬁ"],  # expect: AG0112
):
    A[0:64] = 0.0
