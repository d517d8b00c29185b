"""A parameter without a type."""

import argus as ag


@ag.kernel
def bad(
    A,  # expect: AG0014
):
    A[0:64] = 0.0
