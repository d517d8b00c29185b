"""A shape of more elements than there are."""

import argus as ag
from argus import f32


@ag.kernel
def bad(X: f32["M N"], Y: f32["M N"]):
    x = ag.load(X[0:16, 0:64])
    y = ag.reshape(x, (32, 64))  # expect: AG0220
    Y[0:32, 0:64] = y
