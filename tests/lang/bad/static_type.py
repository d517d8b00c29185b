"""A static parameter of a type that the language lacks."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(
    A: f32["M"],
    *,
    sizes: list = 3,  # expect: AG0112
):
    A[0:64] = 0.0
