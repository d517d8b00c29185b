"""An element type that TMA does not have."""

# target: sm_90a

import argus as ag
from argus import f32


@ag.kernel
def bad(on: ag.boolean["M N"], C: f32["M N"]):
    s = ag.shared(ag.boolean, (64, 64))
    bar = ag.barriers(1)
    s.copy(on[0:64, 0:64], bar[0], via="tma")  # expect: AG0611
    C[0:64, 0:64] = 0.0
