"""Sorts of what is not sorted."""

import argus as ag
from argus import f32


@ag.kernel
def bad(C: f32["M N"]):
    i = ag.block(ag.cdiv(C.shape[0], 16))
    x = ag.load(C[i * 16 :, 0:], (16, 64))
    y = ag.load(C[i * 16 :, 0:], (16, 48))
    a = ag.sort(y, "N")  # expect: AG0201
    b = ag.sort(x > 0.0, "N")  # expect: AG0107
    c = ag.topk(x, 65, "N")  # expect: AG0105
    d = ag.sort(x, "K")  # expect: AG0202
    C[i * 16 :, 0:] = x
