"""A decorator with arguments that it does not take."""

import argus as ag
from argus import f32


@ag.kernel
def scale(X: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    Y[i * 128 :] = ag.load(X[i * 128 :], (128,)) * 2.0


@ag.reference(scale)  # expect: AG0013
def doubled(X):
    return 2.0 * X
