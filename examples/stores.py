"""Stores to views of tensors: where an element goes is computed from its coordinates.

Features become heads in the order that attention reads, and windows of a sequence are
added up where they came from.
"""

import argus as ag
from argus import f32


@ag.kernel
def features_to_heads(
    X: ag.half["B S E"], Y: ag.half["B H S D"], *, D: int = 64, BS: int = 64
):
    """Y[b, h, s, d] = X[b, s, h * D + d]."""
    B, S, E = X.shape
    H = Y.shape[1]
    ag.require(E == H * D, "all features are a head's")
    b, s, h = ag.block(B, ag.cdiv(S, BS), H)
    features = Y.view(
        "B S E", shape=(B, S, E), at=lambda b, s, e: (b, e // D, s, e % D)
    )
    features[b, s * BS :, h * D :] = ag.load(X[b, s * BS :, h * D :], (BS, D))


@ag.kernel
def overlap_add(
    Frames: f32["T W"], Y: f32["L"], *, STEP: int = 64, BT: int = 16, BW: int = 64
):
    """Y[t * STEP + w] gets what Frames[t, w] has, added to what is there."""
    T, W = Frames.shape
    ag.require(ag.dim("L") == (T - 1) * STEP + W, "the last frame ends the signal")
    t, w = ag.block(ag.cdiv(T, BT), ag.cdiv(W, BW))
    signal = Y.view("T W", shape=(T, W), at=lambda t, w: (t * STEP + w,))
    frames = ag.load(Frames[t * BT :, w * BW :], (BT, BW))
    ag.atomic_add(signal[t * BT :, w * BW :], frames)


@ag.reference
def features_to_heads_reference(X, H):
    """The same in numpy."""
    B, S, _ = X.shape
    return X.reshape(B, S, H, -1).transpose(0, 2, 1, 3)


@ag.reference
def overlap_add_reference(Frames, Y, STEP):
    """The same in numpy."""
    T, W = Frames.shape
    signal = Y.copy()
    for t in range(T):
        signal[t * STEP : t * STEP + W] += Frames[t]
    return signal
