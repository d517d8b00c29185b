"""Rows that are kept by counts of what other counts keep: sums stand high there."""

from __future__ import annotations

from verifier.equality.attacking import decided_text

MEANS = """
@ag.kernel
def k(
    Q: f32["S D"], K: f32["T D"], V: f32["T D"], Keep: i32["T"], O: f32["S D"],
    *, D: int = 64,
):
    S, T = Q.shape[0], K.shape[0]
    i = ag.block(ag.cdiv(S, 64))
    n = ag.zeros((64,), f32, dims="S")
    for t in ag.range(0, T, 64):
        kept = ag.load(Keep[t:], (64,), fill=0)
        n = n + ag.sum(ag.where(kept > 0, 1.0, 0.0), "T")
    q = ag.load(Q[i * 64 :, :], (64, D))
    c = ag.zeros((64,), f32, dims="S")
    l = ag.zeros((64,), f32, dims="S")
    o = ag.zeros((64, D), f32, dims="S D")
    for t in ag.range(0, T, 64):
        k = ag.load(K[t:, :], (64, D))
        v = ag.load(V[t:, :], (64, D))
        kept = ag.load(Keep[t:], (64,), fill=0)
        s = {scores}
        z = ag.zeros((64, 64), f32, dims="S T")
        see = ag.broadcast(kept > 0, z) & ag.broadcast(n > 0.0, z)
        p = ag.where(see, ag.exp(s), 0.0)
        c = c + ag.sum(ag.where(see, 1.0, z), "T")
        l = l + ag.sum(p, "T")
        o = o + ag.dot(p, v, precision="tf32")
    O[i * 64 :, :] = ag.where(c > 0.0, o / l, 0.0)


@ag.reference
def ref(Q, K, V, Keep):
    n = np.where(Keep > 0, 1.0, 0.0).sum()
    c = np.where((Keep > 0) & (n > 0), 1.0, 0.0).sum()
    p = np.where((Keep > 0) & (n > 0), np.exp(Q @ K.T), 0)
    return np.where(c > 0, p @ V / p.sum(1, keepdims=True), 0)
"""


def test_a_mean_by_scores_is_not_the_plain_one() -> None:
    """The sum over D in the scores is not that over T around it."""
    plain = 'ag.zeros((64, 64), f32, dims="S T")'
    assert not decided_text(MEANS.format(scores=plain)).equal


def test_a_mean_by_scores() -> None:
    scores = 'ag.dot(q, k.T, precision="tf32")'
    found = decided_text(MEANS.format(scores=scores))
    assert found.equal, found.reason
