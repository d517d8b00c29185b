"""An atomic addition that the target does not have."""

# target: sm_80

import argus as ag
from argus import bf16


@ag.kernel
def bad(A: bf16["M"]):
    ag.atomic_add(A[0:64], ag.zeros((64,), bf16))  # expect: AG0602
