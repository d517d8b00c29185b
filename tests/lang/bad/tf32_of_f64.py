"""A rounding of f32, of a type with more bits."""

import argus as ag
from argus import f64


@ag.kernel
def bad(X: f64["M"], Y: f64["M"]):
    Y[0:64] = ag.nearest_tf32(ag.load(X[0:64], (64,)))  # expect: AG0107
