"""Numbers that may wrap, where nothing but their last bits is looked at."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

DRAWN = """
@ag.kernel
def k(S: i32["N"], Y: {out}["N"], *, BN: int = 128):
    N = S.shape[0]
    i = ag.block(ag.cdiv(N, BN))
    s = ag.load(S[i * BN :], (BN,))
    Y[i * BN :] = {value}


@ag.reference
def ref(S):
    return {wanted}
"""


def drawn(value: str, wanted: str, out: str = "i32") -> str:
    return DRAWN.format(value=value, wanted=wanted, out=out)


HIDDEN = {
    "a mask": drawn("(s * 11035245 + 12345) & 4095", "(S * 11035245 + 12345) % 4096"),
    "a mask of all bits": drawn(
        "((s * 1103515245 + 12345) & 2147483647) >> 16",
        "(S * 1103515245 + 12345) % 2**31 // 65536",
    ),
    "a mask of a mask": drawn(
        "((((s * 69069 + 1) & 2147483647) * 69069 + 1) & 2147483647) >> 16",
        "((S * 69069 + 1) % 2**31 * 69069 + 1) % 2**31 // 65536",
    ),
    "bits that are moved": drawn(
        "((s << 9) ^ s) & 4095", "((S << 9) ^ S) & 4095"
    ),
    "a narrower type": drawn(
        "(s * 70001 + (s << 7)).to(u8)", "(S * 70129).astype(np.uint8)", out="u8"
    ),
    "a type without a sign": drawn(
        "(s * 70001).to(u32)", "(S * 70001).astype(np.uint32)", out="u32"
    ),
}  # fmt: skip
SEEN = {
    "it is stored": drawn("s * 70001", "S * 70001"),
    "it is compared": drawn(
        "ag.where(s * 70001 > 0, s & 1, 0)", "np.where(S * 70001 > 0, S & 1, 0)"
    ),
    "upper bits are moved down": drawn(
        "(s * 70001 >> 8) & 15", "(S * 70001 // 256) % 16"
    ),
    "a mask that is negative": drawn("(s * 70001) & -4", "S * 70001 - S * 70001 % 4"),
    "more bits than it has": drawn(
        "(s * 70001).to(i64)", "S * 70001", out="i64"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_hides_all_but_the_last_bits_lets_a_number_wrap(name: str):
    found = decided_text(HIDDEN[name])
    assert found.equal, found.reason


@pytest.mark.parametrize("name", SEEN)
def test_what_sees_more_than_the_last_bits_does_not(name: str):
    found = decided_text(SEEN[name])
    assert not found.equal
    assert "does not fit" in found.reason


COORDINATES = """
@ag.kernel
def k(Y: i32["M N"]):
    M, N = Y.shape
    i, j = ag.block(ag.cdiv(M, 8), ag.cdiv(N, 64))
    t = ag.zeros((8, 64), i32, dims="M N")
    r = ag.broadcast(ag.index(t, "M") + i * 8, t)
    c = ag.broadcast(ag.index(t, "N") + j * 64, t)
    Y[i * 8 :, j * 64 :] = {value}


@ag.reference
def ref(Y):
    M, N = Y.shape
    r, c = np.arange(M)[:, None], np.arange(N)[None, :]
    return {value}
"""


def test_a_hash_of_coordinates_may_wrap_below_a_mask():
    hashed = "(r * 73856093 ^ c * 19349663){}"
    assert decided_text(COORDINATES.format(value=hashed.format(" & 1023"))).equal
    found = decided_text(COORDINATES.format(value=hashed.format(" % 1000")))
    assert not found.equal
    assert "does not fit" in found.reason


BITS = """
@ag.kernel
def k(X: i32["M N"], Y: i32["M"], *, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), i32, dims="M")
    for n in ag.range(0, N, BN):
        acc = acc + ag.sum(ag.load(X[i * 4 :, n:], (4, BN)), "N")
    Y[i * 4 :] = acc & {mask}


@ag.reference
def ref(X):
    return X.sum(1) & {mask}
"""


def test_a_sum_may_wrap_below_a_mask_that_is_not_negative():
    assert decided_text(BITS.format(mask=255)).equal
    assert not decided_text(BITS.format(mask=-256)).equal


ZERO_POINTS = """
@ag.kernel
def k(B: i8["N K"], Z: i32["M"], C: i32["M N"]):
    N, K = B.shape
    M = Z.shape[0]
    ag.require(K <= 4096, "sums fit")
    ag.assume(lambda z: (z >= -128) & (z <= {most}), Z)
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    sums = ag.zeros((64,), i32, dims="N")
    for k in ag.range(0, K, 64):
        sums = sums + ag.sum(ag.load(B[j * 64 :, k:], (64, 64)), "K")
    like = ag.zeros((64, 64), i32, dims="M N")
    z = ag.broadcast(ag.load(Z[i * 64 :], (64,)), like)
    C[i * 64 :, j * 64 :] = z * ag.broadcast(sums, like)


@ag.reference
def ref(B, Z):
    return Z[:, None] * B.sum(1)
"""


@pytest.mark.parametrize(("most", "equal"), [(127, True), (1 << 20, False)])
def test_products_of_entries_and_sums_are_as_large_as_entries_are_said_to_be(
    most: int, equal: bool
):
    found = decided_text(ZERO_POINTS.format(most=most))
    assert found.equal == equal, found.reason
    assert equal or "does not fit" in found.reason
