"""A map whose coordinates come from a table."""

import argus as ag
from argus import f32, i32


@ag.kernel
def bad(table: i32["R"], A: f32["M"]):
    V = A.view("r", (64,), lambda r: table[r])  # expect: AG0211
    A[0:64] = ag.load(V[0:64])
