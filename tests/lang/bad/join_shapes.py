"""Tiles of other shapes, of other types, and one in shared memory are not joined."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def bad(X: f32["M N"], Y: f32["M N"]):
    x = ag.load(X[0:16, 0:64])
    s = ag.shared(f32, (16, 64))
    Y[0:16, 0:96] = ag.join(x, x[:, 0:32], "N")  # expect: AG0201
    Y[0:16, 0:128] = ag.interleave(x, x.to(bf16), "N")  # expect: AG0106
    Y[0:16, 0:128] = ag.join(x, s, "N")  # expect: AG0614
