"""A kernel that does next to nothing: three pointers and three numbers to launch."""

import argus as ag
from argus import f32


@ag.kernel
def tiny(X: f32["N"], Y: f32["N"], Z: f32["N"], a: f32, b: f32, c: f32, *, N: int = 32):
    """Z = a * X + b * Y + c, of 32 elements."""
    ag.launch(warps=1)
    x, y = ag.load(X[0:N]), ag.load(Y[0:N])
    Z[0:N] = x * a + y * b + c


@ag.reference
def reference(X, Y, a, b, c):
    """The same in numpy."""
    return a * X + b * Y + c
