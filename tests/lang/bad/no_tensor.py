"""A kernel without tensors."""

import argus as ag
from argus import f32


@ag.kernel
def bad(scale: f32):  # expect: AG0014
    x = scale + 1.0
