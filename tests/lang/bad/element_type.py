"""An element type that does not exist."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: ag.f8["M"],  # expect: AG0113
):
    A[0:4] = 0.0
