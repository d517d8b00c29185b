import argus as ag
from argus import f32


@ag.kernel
def k(A: f32["M N"], C: f32["M N"]):
    x = ag.load(A[0:, 0:], (16, 16))
    last = x
    for n in ag.range(0, A.shape[1], 16):
        ag.check(lambda a: a.M == a.M, last)  # expect: AG0102
        last = ag.load(A[0:, n:], (16, 16))
        x = x + ag.rename(last, "M N")
    ag.check(lambda a: a.M == a.M, last)  # expect: AG0102
    C[0:, 0:] = x
