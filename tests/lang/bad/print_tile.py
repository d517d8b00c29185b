"""A tile that nobody reads."""

import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"]):
    i = ag.block(ag.cdiv(X.shape[0], 64))
    x = ag.load(X[i * 64 :, 0:64], (64, 64))
    ag.print("x", x)  # expect: AG0126
    ag.print("two", x[0:4, 0:4], x[0:4, 0:4])  # expect: AG0126
    ag.print(x)  # expect: AG0105
    X[i * 64 :, 0:64] = x
