"""A rest that is no whole number."""

import argus as ag
from argus import f32


@ag.kernel
def bad(X: f32["M N"], Y: f32["M N"]):
    x = ag.load(X[0:16, 0:64])
    Y[0:3, 0:341] = ag.reshape(x, (3, -1))  # expect: AG0220
