"""Recurrences whose factor differs from step to step, and is stored at each of them."""

import argus as ag
from argus import f32


@ag.kernel
def gated_sum(A: f32["T D"], X: f32["T D"], Y: f32["T D"], *, BD: int = 64):
    T, D = X.shape
    j = ag.block(ag.cdiv(D, BD)) * BD
    h = ag.zeros((BD,), f32, dims="D")
    for t in ag.range(0, T):
        h = ag.load(A[t, j:], (BD,)) * h + ag.load(X[t, j:], (BD,))
        Y[t, j:] = h


@ag.reference
def gated_sum_reference(A, X):
    T, D = X.shape
    h, Y = np.zeros((D,)), np.zeros((T, D))
    for t in range(T):
        h = A[t] * h + X[t]
        Y[t] = h
    return Y


@ag.kernel
def min_gru(Z: f32["T D"], X: f32["T D"], Y: f32["T D"], *, BD: int = 64):
    """minGRU: h = (1 - z) h + z x."""
    T, D = X.shape
    j = ag.block(ag.cdiv(D, BD)) * BD
    h = ag.zeros((BD,), f32, dims="D")
    for t in ag.range(0, T):
        z = ag.sigmoid(ag.load(Z[t, j:], (BD,)))
        h = (1.0 - z) * h + z * ag.load(X[t, j:], (BD,))
        Y[t, j:] = h


@ag.reference
def min_gru_reference(Z, X):
    T, D = X.shape
    h, Y = np.zeros((D,)), np.zeros((T, D))
    for t in range(T):
        z = 1 / (1 + np.exp(-Z[t]))
        h = (1 - z) * h + z * X[t]
        Y[t] = h
    return Y


@ag.kernel
def advantages(
    R: f32["B T"],
    V: f32["B T1"],
    Done: f32["B T"],
    A: f32["B T"],
    g: f32 = 0.99,
    lam: f32 = 0.95,
    *,
    BB: int = 64,
):
    """Generalised advantage estimation, from the last step to the first."""
    B, T = R.shape
    ag.require(ag.dim("T1") == T + 1, "a value more")
    b = ag.block(ag.cdiv(B, BB)) * BB
    acc = ag.zeros((BB,), f32, dims="B")
    for s in ag.range(0, T):
        t = T - 1 - s
        live = 1.0 - ag.load(Done[b:, t], (BB,))
        delta = (
            ag.load(R[b:, t], (BB,))
            + g * ag.load(V[b:, t + 1], (BB,)) * live
            - ag.load(V[b:, t], (BB,))
        )
        acc = delta + g * lam * live * acc
        A[b:, t] = acc


@ag.reference
def advantages_reference(R, V, Done, g, lam):
    B, T = R.shape
    A = np.zeros((B, T))
    acc = np.zeros((B,))
    for t in reversed(range(T)):
        live = 1 - Done[:, t]
        delta = R[:, t] + g * V[:, t + 1] * live - V[:, t]
        acc = delta + g * lam * live * acc
        A[:, t] = acc
    return A
