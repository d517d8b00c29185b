"""A kernel that calls another kernel."""

import argus as ag
from argus import f32


@ag.kernel
def inner(A: f32["M"]):
    A[0:64] = 0.0


@ag.kernel
def bad(A: f32["M"]):
    inner(A)  # expect: AG0005
    A[0:64] = 0.0
