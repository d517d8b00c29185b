"""Types that memory does not compare, and what is no slice of a tensor."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def bad(X: bf16["M N"], Y: f32["M N"]):
    x = ag.load(X[0:16, 0:64])
    s = ag.shared(f32, (16, 64))
    ag.atomic_max(X[0:16, 0:64], x)  # expect: AG0107
    ag.atomic_min(Y[0:16, 0:64], x)  # expect: AG0107
    ag.atomic_min(s, x.to(f32))  # expect: AG0105
