"""Loops whose condition has no bound, or an `else`, or differs between threads."""

import argus as ag
from argus import f32, i32


@ag.kernel
def bad(X: f32["M N"], n: i32):
    i = 0
    while i < n:  # expect: AG0003
        i = i + 1
    while ag.at_most(4, i < n):  # expect: AG0003
        i = i + 1
    else:
        i = 0
    x = ag.load(X[0:16, 0:64])
    while ag.at_most(4, x > 0.0):  # expect: AG0007
        x = x * 0.5
    j = ag.at_most(4, n > 2)  # expect: AG0006
    X[0:16, 0:64] = x + j
