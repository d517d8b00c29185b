"""Rows that are cut into equal parts, of which a size is required to be a multiple."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

DECODE = """
@ag.kernel
def k(Q: f32["B D"], K: f32["B T D"], V: f32["B T D"], O: f32["B P D"], L: f32["B P"],
      *, D: int = 32, S: int = 4):
    B, T, _ = K.shape
    ag.require({required}, "equal parts")
    ag.require(ag.dim("P") == S, "parts")
    b, p = ag.block(B, S)
    q = ag.load(Q[b, 0:D], (D,))
    part = T // S
    first, last = {begin}, {end}
    m = ag.full((), -ag.inf, f32)
    l = ag.zeros((), f32)
    acc = ag.zeros((D,), f32, dims="D")
    for t in ag.range(first, last, 32):
        s = ag.sum(ag.load(K[b, t:last, 0:D], (32, D)) * q, "D")
        s = ag.where(ag.index(s, "T") + t < last, s, -ag.inf)
        higher = ag.maximum(ag.max(s, "T"), m)
        e = ag.exp(s - higher)
        v = ag.sum(ag.load(V[b, t:last, 0:D], (32, D)) * e, "T")
        acc = acc * ag.exp(m - higher) + v
        l = l * ag.exp(m - higher) + ag.sum(e, "T")
        m = higher
    O[b, p, 0:D] = acc / l
    L[b, p] = m + ag.log(l)


@ag.reference
def ref(Q, K, V, S):
    B, T, D = K.shape
    k, v = K.reshape(B, S, T // S, D), V.reshape(B, S, T // S, D)
    s = np.einsum("bd,bptd->bpt", Q, k)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - m)
    z = e.sum(-1, keepdims=True)
    return np.einsum("bpt,bptd->bpd", e / z, v), (m + np.log(z))[..., 0]
"""
BEGIN, END = "p * part", "p * part + part"
DIVIDED = "(T % S == 0) & (T > 0)"


@pytest.mark.parametrize(
    ("required", "begin", "end", "right"),
    [
        (DIVIDED, BEGIN, END, True),
        ("T % S == 0", BEGIN, END, False),  # a part may have no element
        ("T > 0", BEGIN, END, False),  # the reference has no parts of other rows
        (DIVIDED, BEGIN, f"{END} - 1", False),
        (DIVIDED, BEGIN, "T", False),
        (DIVIDED, "p * part // 2 * 2", END, False),  # a part may be odd
        ("(T % (2 * S) == 0) & (T > 0)", "p * part // 2 * 2", END, True),
    ],
)
def test_decode_in_parts(required: str, begin: str, end: str, right: bool) -> None:
    """What divides a size divides where its parts begin."""
    text = DECODE.format(required=required, begin=begin, end=end)
    assert decided_text(text).equal == right
