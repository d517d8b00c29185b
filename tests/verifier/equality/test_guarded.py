"""Quotients that a condition chooses: what divides by 0 elsewhere does not matter."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

MEAN = """
@ag.kernel
def k(X: f32["M N"], K: i8["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    ag.require(N <= BN, "a row")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN))
    k = ag.load(K[i * BM :, 0:], (BM, BN)).to(f32)
    s = ag.sum(ag.where(k != 0.0, x, 0.0), "N")
    c = ag.sum(ag.where(k != 0.0, 1.0, 0.0), "N")
    y = ag.zeros((BM,), f32, dims="M")
    {made}
    Y[i * BM :] = {value}


@ag.reference
def ref(X, K):
    c = (K != 0).sum(1)
    s = np.where(K != 0, X, 0).sum(1)
    return {wanted}
"""
GUARDED = "np.where(c > 0, s / np.maximum(c, 1), 0)"
TURN = "for _ in ag.range(0, 1):\n        q = s / c\n        "


def equal(value: str, wanted: str = GUARDED, made: str = "pass") -> bool:
    return decided_text(MEAN.format(value=value, wanted=wanted, made=made)).equal


def test_a_quotient_that_is_chosen() -> None:
    assert equal("ag.where(c > 0.0, s / c, 0.0)")
    assert equal("ag.where(c <= 0.0, 0.0, s / c)")
    # The reference divides by the same number, and says nothing where it is 0.
    assert equal("s / c", "s / c")


@pytest.mark.parametrize(
    ("value", "wanted", "made"),
    [
        ("s / c", GUARDED, "pass"),
        ("ag.where(c > 0.0, 0.0, s / c)", GUARDED, "pass"),
        ("ag.where(s > 0.0, s / c, 0.0)", GUARDED, "pass"),
        # What is chosen once is used elsewhere, too, or carried on.
        ("ag.where(c > 0.0, q, 0.0) + 0.0 * q", GUARDED, "q = s / c"),
        ("q * c", "s", "q = s / c"),
        ("y * c", "s", f"{TURN}x = ag.where(c > 0.0, q, 0.0)\n        y = q"),
        # The reference guards, or divides by another number.
        ("s / c", "np.where(c > 0, s / c, 0)", "pass"),
        ("s / c * (c / c)", "s / np.maximum(c, 1)", "pass"),
    ],
)
def test_a_quotient_that_is_not(value: str, wanted: str, made: str) -> None:
    assert not equal(value, wanted, made)


LOSS = """
@ag.kernel
def k(X: f32["M C"], T: i32["M"], L: f32["1"], *, BC: int = 64):
    M, C = X.shape
    ag.require((C <= BC) & (C > 0), "sizes")
    ag.assume(lambda t: (t >= 0) & (t < C), T)
    i = ag.block(ag.cdiv(M, 8))
    x = ag.load(X[i * 8 :, 0:], (8, BC), fill=-ag.inf)
    t = ag.load(T[i * 8 :], (8,), fill=-1)
    m = ag.max(x, "C")
    e = ag.exp(x - m)
    lse = m + ag.log(ag.sum(e, "C"))
    hit = ag.broadcast(ag.index(x, "C"), x) == ag.broadcast(t, x)
    loss = lse - ag.sum(ag.where(hit, x, 0.0), "C")
    row = i * 8 + ag.index(m, "M")
    loss = {loss}
    ag.atomic_add(L[0], {total})


@ag.reference
def ref(X, T):
    m = X.max(1)
    lse = m + np.log(np.exp(X - m[:, None]).sum(1))
    return np.array([(lse - X[np.arange(len(X)), T]).sum()])
"""


@pytest.mark.parametrize(
    "loss", ["ag.where(row < M, loss, 0.0)", "ag.where(t < 0, 0.0, loss)"]
)
def test_what_is_made_of_a_maximum_over_nothing_is_not_chosen(loss: str) -> None:
    text = LOSS.format(loss=loss, total='ag.sum(loss, "M")')
    assert decided_text(text).equal


@pytest.mark.parametrize(
    ("loss", "total"),
    [
        ("ag.where(row <= M, loss, 0.0)", 'ag.sum(loss, "M")'),
        ("ag.where(row >= M, 0.0 * loss, loss)", 'ag.sum(loss, "M")'),
        ("ag.where(row + 1 < M, loss, 0.0)", 'ag.sum(loss, "M")'),
        ("loss", 'ag.sum(loss, "M")'),
        # What is chosen beside the choice, of the same and of what it is made of.
        ("ag.where(row < M, loss, 0.0) + 0.0 * loss", 'ag.sum(loss, "M")'),
        ("ag.where(row < M, loss, 0.0)", 'ag.sum(loss + 0.0 * lse, "M")'),
        # A condition of another axis: of columns, of which the maximum is one of some.
        (
            'ag.sum(ag.where(ag.index(x, "C") < C, ag.where(hit, loss - x + x, 0.0), '
            '0.0), "C")',
            'ag.sum(loss, "M")',
        ),
    ],
)
def test_what_is_no_number_takes_part(loss: str, total: str) -> None:
    assert not decided_text(LOSS.format(loss=loss, total=total)).equal


ROWS = """
@ag.kernel
def k(S: f32["B N"], Len: i32["B"], P: f32["B N"], *, BN: int = 64):
    B, N = S.shape
    ag.require(N <= BN, "a row")
    {assumed}
    b = ag.block(B)
    s = ag.load(S[b : b + 1, 0:], (1, BN))
    live = ag.broadcast(ag.index(s, "N") < Len[b], s)
    s = ag.where(live, s, -1e30)
    e = ag.where(live, ag.exp(s - ag.max(s, "N")), 0.0)
    l = ag.sum(e, "N")
    P[b : b + 1, 0:] = ag.where(ag.broadcast({asked}, e), e / l, 0.0)


@ag.reference
def ref(S, Len):
    out = np.zeros(S.shape)
    for b in range(len(S)):
        n = Len[b]
        if n > {least}:
            e = np.exp(S[b, :n] - S[b, :n].max())
            out[b, :n] = e / e.sum()
    return out
"""
ASSUMED = "ag.assume(lambda n: (n >= 0) & (n <= N), Len)"


def test_a_sum_of_exponentials_is_above_0_where_there_is_one() -> None:
    text = ROWS.format(assumed=ASSUMED, asked="l > 0.0", least=0)
    assert decided_text(text).equal
    assert decided_text(text.replace("(n >= 0)", "(n >= 1)")).equal


@pytest.mark.parametrize(
    ("asked", "least"), [("l > 1.0", 0), ("l > 0.0", 1), ("l < 0.0", 0)]
)
def test_another_condition(asked: str, least: int) -> None:
    text = ROWS.format(assumed=ASSUMED, asked=asked, least=least)
    assert not decided_text(text).equal


HIDDEN = """
@ag.kernel
def k(X: f32["M N"], Keep: boolean["M N"], S: f32["M N"], T: f32["M"]):
    M, N = X.shape
    ag.require(N <= 64, "a row")
    i = ag.block(ag.cdiv(M, 16))
    x = ag.load(X[i * 16 :, 0:], (16, 64))
    keep = ag.load(Keep[i * 16 :, 0:], (16, 64))
    S[i * 16 :, 0:] = {stored}
    T[i * 16 :] = ag.sum(ag.where(keep, ag.exp(x), 0.0), "N")


@ag.reference
def ref(X, Keep):
    return {{"S": {wanted}, "T": (np.exp(X) * Keep).sum(1)}}
"""


@pytest.mark.parametrize(
    ("stored", "wanted", "right"),
    [
        ("ag.where(keep, x, -1e30)", "np.where(Keep, X, -1e30)", True),
        ("ag.where(keep, x, -1e30)", "np.where(Keep, X, -np.inf)", False),
        ("ag.where(keep, x, -1e30)", "np.where(Keep, X, -2e30)", False),
        ("ag.where(keep, x, -1e30) / 8.0", "np.where(Keep, X / 8, -1e30)", False),
        ("ag.where(keep, x, -ag.inf)", "np.where(Keep, X, -np.inf)", True),
    ],
)
def test_a_large_number_that_is_stored(stored: str, wanted: str, right: bool) -> None:
    found = decided_text(HIDDEN.format(stored=stored, wanted=wanted))
    assert found.equal == right, found.reason


COLUMNS = """
@ag.kernel
def k(X: f32["M K"], W: f32["K N"], A: i32["M"], Z: f32["M N"], Y: f32["M N"], *,
      BN: int = 4, K: int = 4):
    M, N = Y.shape
    i, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[i, 0:], (K,))
    w = ag.load(W[0:, j * BN :], (K, BN))
    a = ag.full((), A[i], i32)
    z = ag.load(Z[i, j * BN :], (BN,))
    s = ag.sum(ag.exp(ag.log(x) + w), "K")
    Y[i, j * BN :] = ag.where({condition}, s, z)


@ag.reference
def ref(X, W, A, Z):
    s = np.sum(np.exp(np.log(X)[:, :, None] + W[None]), 1)
    return np.where({wanted}, s, Z)
"""


@pytest.mark.parametrize(
    ("condition", "wanted", "is_equal"),
    [
        ("a > 0", "A[:, None] > 0", True),
        # One along the columns, which are no first axis of what is summed.
        ("z > 0.0", "Z > 0", False),
        # The reference takes the logarithm where the kernel does not, or elsewhere.
        ("a > 0", "A[:, None] >= 0", False),
        ("a <= 0", "A[:, None] > 0", False),
    ],
)
def test_a_condition_along_fewer_axes(
    condition: str, wanted: str, is_equal: bool
) -> None:
    """What is needed of the elements of a sum over the first axis."""
    text = COLUMNS.format(condition=condition, wanted=wanted)
    assert decided_text(text).equal == is_equal


def test_what_a_uniform_condition_does_not_take() -> None:
    """The kernel needs more, of the rows for which its reference has another number."""
    text = COLUMNS.format(condition="a > 0", wanted="A[:, None] > 0")
    needed = text.replace("s, z)", "s, z) + 0.0 * s")
    assert not decided_text(needed).equal
