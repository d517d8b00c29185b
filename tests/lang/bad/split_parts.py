"""Parts that are not equal."""

import argus as ag
from argus import f32


@ag.kernel
def bad(X: f32["M N"], Y: f32["M N"]):
    a, b, c = ag.split(ag.load(X[0:16, 0:64]), "N", 3)  # expect: AG0209
    Y[0:16, 0:21] = a + b + c
