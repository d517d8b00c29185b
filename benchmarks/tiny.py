"""A kernel that does next to nothing: three pointers and three integers to launch."""

import argus as ag
from argus import f32, i32


@ag.kernel
def tiny(X: f32["N"], Y: f32["N"], Z: f32["N"], a: i32, b: i32, c: i32):
    """Z[c + i] = X[a + i] + Y[b + i] for 32 i."""
    ag.launch(warps=1)
    x = ag.rename(ag.load(X[a:], (32,)), "N")
    y = ag.rename(ag.load(Y[b:], (32,)), "N")
    Z[c:] = x + y
