"""An atomic addition that the hardware does not have."""

import argus as ag
from argus import i64


@ag.kernel
def bad(A: i64["M"]):
    ag.atomic_add(A[0:64], ag.full((64,), 1, i64))  # expect: AG0107
