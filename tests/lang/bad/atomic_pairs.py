"""An atomic addition of 16 bits that a mask chooses elements of: there are only pairs."""

# target: sm_90a

import argus as ag
from argus import bf16


@ag.kernel
def bad(A: bf16["M"]):
    x = ag.zeros((64,), bf16, dims="M")
    ag.atomic_add(A[0:64], x, mask=ag.index(x, "M") < 7)  # expect: AG0603
