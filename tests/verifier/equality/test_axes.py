"""Tiles in other shapes and orders, cut and joined, against what numpy calls it."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

PAIRS = """
@ag.kernel
def k(X: f32["S D"], C: f32["S H"], Z: f32["S H"], Y: f32["S D"], *, D: int = 64):
    S = X.shape[0]
    ag.require(C.shape[1] == 32, "half")
    s = ag.block(ag.cdiv(S, 16))
    x = ag.load(X[s * 16 :, 0:64], (16, 64))
    c = ag.load(C[s * 16 :, 0:32], (16, 32))
    z = ag.load(Z[s * 16 :, 0:32], (16, 32))
    {taken}
    Y[s * 16 :, 0:64] = ag.{put}(a * c - b * z, a * z + b * c, "H").rename("S D")


@ag.reference
def ref(X, C, Z):
    S, D = X.shape
    {read}
    return np.{stacked}.reshape(S, D)
"""
IN_PAIRS = (
    'a, b = ag.split(ag.reshape(x, (16, 32, 2), dims="S H _"), 2, 2); '
    'a, b = ag.reshape(a, (16, 32), dims="S H"), ag.reshape(b, (16, 32), dims="S H")',
    "interleave",
    "p = X.reshape(S, D // 2, 2); a, b = p[..., 0], p[..., 1]",
    "stack([a * C - b * Z, a * Z + b * C], axis=2)",
)
IN_HALVES = (
    'a, b = ag.split(x.rename("S H"), "H", 2)',
    "join",
    "a, b = np.split(X, 2, axis=1)",
    "concatenate([a * C - b * Z, a * Z + b * C], axis=1)",
)


def pairs(taken: str, put: str, read: str, stacked: str) -> str:
    return PAIRS.format(
        taken=taken.replace("; ", "\n    "),
        put=put,
        read=read.replace("; ", "\n    "),
        stacked=stacked,
    )


@pytest.mark.parametrize("form", [IN_PAIRS, IN_HALVES])
def test_rotary_embedding(form: tuple[str, str, str, str]) -> None:
    found = decided_text(pairs(*form))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "form",
    [
        (IN_PAIRS[0], "join", *IN_PAIRS[2:]),  # halves are stored
        (IN_PAIRS[0].replace("a, b = ag.split", "b, a = ag.split"), *IN_PAIRS[1:]),
        (IN_HALVES[0], "interleave", *IN_HALVES[2:]),
        (IN_HALVES[0].replace("a, b", "b, a"), *IN_HALVES[1:]),
        (*IN_PAIRS[:2], *IN_HALVES[2:]),
        (*IN_HALVES[:2], *IN_PAIRS[2:]),
    ],
)
def test_other_pairs_and_halves(form: tuple[str, str, str, str]) -> None:
    found = decided_text(pairs(*form))
    assert not found.equal
    assert found.element is not None


SHUFFLE = """
@ag.kernel
def k(X: f32["N C H W"], Y: f32["N P V U"], *, C: int = 24, W: int = 8, P: int = 4):
    N, _, H, _ = X.shape
    ag.require(Y.shape[2] == 2 * H and Y.shape[3] == 24, "two rows, three columns")
    n, h = ag.block(N, H)
    x = ag.reshape(ag.load(X[n, :, h, :]), {first}, dims="{names}")
    x = ag.reshape(ag.permute(x, "P I W J"), (4, 2, 24), dims="P V U")
    Y[n, :, 2 * h : 2 * h + 2, 0:24] = x


@ag.reference
def ref(X):
    N, C, H, W = X.shape
    x = X.reshape(N, 4, 2, 3, H, 8).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(N, 4, 2 * H, 24)
"""


def test_pixel_shuffle() -> None:
    text = SHUFFLE.format(first="(4, 2, 3, 8)", names="P I J W")
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("first", "names"),
    [("(4, 3, 2, 8)", "P J I W"), ("(2, 4, 3, 8)", "I P J W")],
)
def test_channels_in_another_order(first: str, names: str) -> None:
    found = decided_text(SHUFFLE.format(first=first, names=names))
    assert not found.equal
    assert found.element is not None


NIBBLES = """
@ag.kernel
def k(X: u8["M K"], Y: f32["M N"]):
    M, K = X.shape
    ag.require(Y.shape[1] == 2 * K, "two numbers in a byte")
    m, j = ag.block(ag.cdiv(M, 8), ag.cdiv(K, 64))
    x = ag.load(X[m * 8 :, j * 64 :], (8, 64)).to(i32)
    low, high = x & 15, x >> 4
    Y[m * 8 :, j * 128 :] = (ag.interleave({order}, "K").to(f32) - 8.0).rename("M N")


@ag.reference
def ref(X):
    M, K = X.shape
    x = X.astype(np.int32)
    return np.stack([x & 15, x >> 4], axis=2).reshape(M, 2 * K).astype(np.float32) - 8.0
"""


def test_two_numbers_in_a_byte() -> None:
    found = decided_text(NIBBLES.format(order="low, high"))
    assert found.equal, found.reason
    other = decided_text(NIBBLES.format(order="high, low"))
    assert not other.equal
    assert other.element is not None


HEADS = """
@ag.kernel
def k(Q: f16["S H D"], K: f16["T D"], O: f32["S H T"], *, H: int = 4, D: int = 64):
    S, T = Q.shape[0], K.shape[0]
    s, t = ag.block(ag.cdiv(S, 16), ag.cdiv(T, 64))
    q = ag.reshape(ag.load(Q[s * 16 :, :, :], (16, 4, 64)), (64, 64), dims="R D")
    o = ag.dot(q, ag.load(K[t * 64 :, :], (64, 64)).T)
    O[s * 16 :, :, t * 64 :] = ag.reshape(o, (16, 4, 64), dims="S H T")


@ag.reference
def ref(Q, K):
    return np.einsum("{letters}", Q.astype(np.float32), K.astype(np.float32))
"""


def test_heads_of_a_group_are_rows() -> None:
    found = decided_text(HEADS.format(letters="shd,td->sht"))
    assert found.equal, found.reason


REPEATED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M P"]):
    M, N = X.shape
    ag.require(Y.shape[1] == 2 * N, "each element twice")
    m, j = ag.block(ag.cdiv(M, 8), ag.cdiv(N, 64))
    x = ag.load(X[m * 8 :, j * 64 :], (8, 64))
    Y[m * 8 :, j * 128 :] = ag.{put}(x, x, "N").rename("M P")


@ag.reference
def ref(X):
    return np.repeat(X, 2, axis=1)
"""


def test_each_element_twice() -> None:
    assert decided_text(REPEATED.format(put="interleave")).equal
    other = decided_text(REPEATED.format(put="join"))
    assert not other.equal
    assert other.element is not None
