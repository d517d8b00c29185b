import argus as ag
from argus import f32, i32, i64


@ag.kernel
def scalars(X: f32["N"], Y: f32["N"], n: i32 = 3, big: i64 = 5, a: f32 = 1.0):
    """Y[i] = a * X[i] where n and big are positive, else X[i]."""
    ag.launch(warps=1)
    b = ag.block(ag.cdiv(ag.dim("N"), 32))
    x = ag.load(X[b * 32 :], (32,))
    if n > 0 and big > 0:
        x = a * x
    Y[b * 32 :] = x
