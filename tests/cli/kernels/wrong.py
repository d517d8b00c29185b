"""Two kernels, each with a mistake."""

import argus as ag
from argus import f32


@ag.kernel
def misspelt(X: f32["N"], Y: f32["N"]):
    """`xs` was never assigned."""
    x = ag.load(X[0:], (32,))
    Y[0:] = x + xs


@ag.kernel
def mixed(X: f32["M"], Y: f32["N"]):
    """M meets N."""
    Y[0:] = ag.load(X[0:], (32,))
