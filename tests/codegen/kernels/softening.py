"""The online softmax of attention by itself: rows of blocks of scores."""

import argus as ag
from argus import f32
from argus.kernels.attention.kernel import soften
from argus.kernels.masked_attention.kernel import LOWEST


@ag.kernel
def softened(S: f32["B S T"], M: f32["S"], L: f32["S"], factor: f32):
    """M: maxima. L: sums of powers of two of what is below them."""
    r = 32 * ag.block(ag.cdiv(S.shape[1], 32))
    m = ag.full((32,), LOWEST, f32)
    l = ag.zeros((32,), f32)
    for b in ag.range(0, S.shape[0]):
        s = ag.load(S[b, r:, :], (32, 16)).rename("S T")
        _, _, m, l = soften(s, m, l, factor, True)
    M[r:] = m
    L[r:] = l
