"""Attention over tiles of keys that masks of padding may hide altogether.

What a row without any key gives is said by a guard, or masks are finite numbers.
"""

from __future__ import annotations

import pytest

from few import rest
from verifier.equality.attacking import decided_text

TILES = """
@ag.kernel
def k(
    Q: bf16["S D"], K: bf16["T D"], V: bf16["T D"], M: {mask}["T"], O: f32["S D"],
    *, D: int = 16,
):
    S = ag.dim("S")
    T = ag.dim("T")
    ag.require(T > 0, "keys")
    i = ag.block(ag.cdiv(S, 64))
    q = ag.load(Q[i * 64 :, :], (64, D))
    m = ag.full((64,), {first}, f32)
    l = ag.zeros((64,), f32)
    acc = ag.zeros((64, D), f32)
    for t in ag.range(0, T, 64):
        k = ag.load(K[t:, :], (64, D))
        v = ag.load(V[t:, :], (64, D))
        ok = ag.load(M[t:], (64,))
        s = ag.dot(q, k.T)
        s = {hidden}
        new = ag.maximum(m, ag.max(s, "T"))
        safe = {safe}
        p = ag.exp(s - safe)
        a = ag.exp(m - safe)
        l = l * a + ag.sum(p, "T")
        acc = ag.dot(p.to(bf16), v, acc * a)
        m = new
    O[i * 64 :, :] = {value}


@ag.reference
def ref(Q, K, V, M):
    s = {wanted}
    m = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isneginf(m), 0.0, m))
    l = p.sum(-1, keepdims=True)
    return {result} @ V
"""
INSIDE = 'ag.where(ag.broadcast(t + ag.index(s, "T") < T, s), {}, -ag.inf)'
PLAIN = {
    "mask": "boolean",
    "first": "-1e30",
    "hidden": "ag.where(ag.broadcast(ok, s), s, -ag.inf)",
    "safe": "new",
    "value": "ag.where(ag.broadcast(l > 0.0, acc), acc / l, 0.0)",
    "wanted": "np.where(M, Q @ K.T, -np.inf)",
    "result": "np.where(l > 0, p / l, 0.0)",
}
SAFE = {"first": "-ag.inf", "safe": "ag.where(new == -ag.inf, 0.0, new)"}
FINITE = {
    "first": "-ag.inf",
    "hidden": INSIDE.format("ag.where(ag.broadcast(ok, s), s, -1e9)"),
    "value": "acc / l",
    "wanted": "np.where(M, Q @ K.T, -1e9)",
    "result": "p / l",
}
LARGE = "(1.0 - {}) * -3.3895313892515355e38"
ADDED = {
    **FINITE,
    "mask": "f32",
    "hidden": INSIDE.format("s + " + LARGE.format("ok")),
    "wanted": "Q @ K.T + " + LARGE.format("M"),
}


def equal(*changes: dict[str, str]) -> bool:
    fields = dict(PLAIN)
    for change in changes:
        fields |= change
    return decided_text(TILES.format(**fields)).equal


@pytest.mark.parametrize(
    "change",
    [
        {},
        SAFE,
        {**SAFE, "safe": "ag.where(new > -ag.inf, new, 0.0)"},
        {"value": "acc / ag.where(l == 0.0, 1.0, l)"},
        FINITE,
        ADDED,
        *rest({**SAFE, "safe": "ag.where(~(new != -ag.inf), 0.0, new)"}),
    ],
)
def test_rows_without_a_key(change: dict[str, str]) -> None:
    assert equal(change)


@pytest.mark.parametrize(
    "change",
    [
        {"value": "acc / l"},
        *rest({"value": "ag.where(ag.broadcast(l > 0.0, acc), acc / l, 1.0)"}),
        *rest({**SAFE, "safe": "new"}),
        {**SAFE, "safe": "ag.where(new == ag.inf, 0.0, new)"},
        {**FINITE, "hidden": FINITE["hidden"].replace("1e9", "2e9")},
        {**FINITE, "hidden": FINITE["hidden"].replace("< T", "< T - 1")},
        {**ADDED, "hidden": INSIDE.format("s + " + LARGE.format("(1.0 - ok)"))},
        *rest({**ADDED, "wanted": "Q @ K.T - " + LARGE.format("M")}),
        *rest({"hidden": "ag.where(ag.broadcast(ok, s), -ag.inf, s)"}),
    ],
)
def test_another_guard_or_mask_is_not_equal(change: dict[str, str]) -> None:
    assert not equal(change)
