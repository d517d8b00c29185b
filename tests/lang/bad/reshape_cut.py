"""Axes that cut each other."""

import argus as ag
from argus import f32


@ag.kernel
def bad(X: f32["M N"], Y: f32["M N"]):
    x = ag.load(X[0:6, 0:64])
    Y[0:4, 0:96] = ag.reshape(x, (4, 96), dims="M N")  # expect: AG0220
