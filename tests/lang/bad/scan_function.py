"""Functions that a scan cannot apply."""

import argus as ag
from argus import bf16, f32


@ag.inline
def of_three(a, b, c):
    return a + b + c


@ag.inline
def of_a_row(a, b):
    return a + ag.sum(b, "N")  # expect: AG0125


@ag.inline
def of_a_size(a, b):
    return a + b * ag.dim("M")  # expect: AG0125


@ag.inline
def compared(a, b):
    return a < b


@ag.inline
def both(a, b):
    return a, b


@ag.kernel
def bad(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    i = ag.block(ag.cdiv(C.shape[0], 16))
    x = ag.load(C[i * 16 :, 0:], (16, 64))
    a = ag.scan(x, "N", of_three)  # expect: AG0104
    b = ag.scan(x, "N", of_a_row)
    c = ag.reduce(x, "N", of_a_size)
    d = ag.scan(x, "N", compared)  # expect: AG0106
    e = ag.scan(x, "N", both)  # expect: AG0105
    f = ag.scan(x, "N", ag.exp)  # expect: AG0105
    g = ag.scan(x > 0.0, "N", ag.maximum)  # expect: AG0107
    h = ag.reduce((), "N", ag.maximum)  # expect: AG0105
    C[i * 16 :, 0:] = x
