"""An annotation that is no expression."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: "f32[",  # expect: AG0112
):
    A[0:64] = 0.0
