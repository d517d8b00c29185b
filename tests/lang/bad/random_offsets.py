"""Random numbers for what is no place."""

import argus as ag
from argus import f32


@ag.kernel
def bad(C: f32["M N"], seed: f32):
    i = ag.block(ag.cdiv(C.shape[0], 16))
    x = ag.load(C[i * 16 :, 0:], (16, 64))
    a = ag.random(1, x)  # expect: AG0107
    b = ag.random(seed, ag.index(x, "N"))  # expect: AG0105
    c = ag.philox(1, 2)  # expect: AG0105
    C[i * 16 :, 0:] = x
