import argus as ag
from argus import f32


@ag.kernel
def k(A: f32["M N"], C: f32["M N"]):
    x = ag.load(A[0:, 0:], (16, 16))
    ag.check(lambda a: a.M == a.M, x * 2.0)  # expect: AG0121
    ag.check(lambda a: a.Q == 0, x)  # expect: AG0103
    ag.check(lambda a, b: a.M == b.M, x)  # expect: AG0203
    ag.check(lambda a: a.M == 0)  # expect: AG0105
    ag.check(x, x)  # expect: AG0105
    ag.check(lambda a: a.M == 0, A)  # expect: AG0105
    ag.tag(x, lambda m: {"K": m})  # expect: AG0203
    ag.tag(x, lambda m, n: m)  # expect: AG0105
    ag.tag(x, lambda m, n: {"a b": m})  # expect: AG0202
    ag.tag(A[0:, 0:], lambda m, n: {"K": m})  # expect: AG0105
    ag.assume(1 > 2)  # expect: AG0318
    ag.assume(lambda r: r < 4)  # expect: AG0105
    ag.assume(lambda r: r < 4, A)  # expect: AG0105
    ag.expect()  # expect: AG0104
    ag.expect(spills=-1)  # expect: AG0105
    y = ag.trust("in an expression")  # expect: AG0121
    ag.trust("  ")  # expect: AG0105
    C[0:, 0:] = x
    ag.trust("of nothing")  # expect: AG0121
