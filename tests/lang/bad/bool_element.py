"""An element of a mask as a number."""

import argus as ag
from argus import f32


@ag.kernel
def bad(on: ag.boolean["M"], A: f32["M"]):
    x = on[0]  # expect: AG0107
    A[0:64] = 0.0
