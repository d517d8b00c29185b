"""An order that leaves an axis out."""

import argus as ag
from argus import f32


@ag.kernel
def bad(X: f32["M N K"], Y: f32["M N"]):
    x = ag.load(X[0:6, 0:64, 0:2])
    Y[0:64, 0:6] = ag.permute(x, "N M")  # expect: AG0216
