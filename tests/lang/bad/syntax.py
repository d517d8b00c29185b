"""A file that is not Python."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: bf16["M"]):
    x = (1 +  # expect: AG0001
