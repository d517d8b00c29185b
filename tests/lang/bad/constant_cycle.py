"""Constants that are defined by each other."""

import argus as ag
from argus import f32

ROWS = COLUMNS
COLUMNS = ROWS  # expect: AG0101


@ag.kernel
def bad(A: f32["M"]):
    A[0:ROWS] = 0.0
