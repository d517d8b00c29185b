"""Shifts by numbers of data: also by those that are no place of a bit."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

SHIFTS = """
@ag.kernel
def k(X: u32["N"], R: i32["N"], Y: u32["N"], *, BN: int = 128):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, BN))
    x = ag.load(X[i * BN :], (BN,))
    r = ag.load(R[i * BN :], (BN,))
    Y[i * BN :] = {value}


@ag.reference
def ref(X, R):
    return {wanted}
"""
EQUAL = {
    "bits are turned": (
        "(x << (r & 31).to(u32)) | (x >> (32 - (r & 31)).to(u32))",
        "((X << (R & 31)) & 0xFFFFFFFF) | (X >> (32 - (R & 31)))",
    ),
    "nothing is left to the right": ("x >> (r & 63).to(u32)", "X >> (R & 63)"),
    "nothing is left to the left": (
        "(x & 1) << (r & 63).to(u32)",
        "np.where((R & 63) < 32, (X & 1) << (R & 31), 0)",
    ),
}
DIFFER = {
    "the amount is a remainder": ("x >> (r & 31).to(u32)", "X >> (R & 63)"),
    "a bit stays": (
        "(x & 1) << (r & 63).to(u32)",
        "np.where((R & 63) < 32, (X & 1) << (R & 31), 1)",
    ),
    "numpy has no such shift": ("x >> (r & 127).to(u32)", "X >> (R & 127)"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_an_amount_that_is_no_place_leaves_nothing(name: str):
    value, wanted = EQUAL[name]
    found = decided_text(SHIFTS.format(value=value, wanted=wanted))
    assert found.equal, found.reason


@pytest.mark.parametrize("name", DIFFER)
def test_which_other_numbers_do_not(name: str):
    value, wanted = DIFFER[name]
    assert not decided_text(SHIFTS.format(value=value, wanted=wanted)).equal


MOVED = """
@ag.kernel
def k(X: i32["M N"], Y: {dtype}["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    row = m + ag.index(x, "N") * 0
    Y[m, j * BN :] = {value}


@ag.reference
def ref(X):
    M = X.shape[0]
    return {wanted}
"""
SIGNED = {
    "four bits": ("i32", "(x << 28) >> 28", "((X & 15) ^ 8) - 8"),
    "four bits in the middle": (
        "f32",
        "((x << 20) >> 28).to(f32)",
        "(((X >> 8) & 15) ^ 8) - 8.0",
    ),
    "the first four bits": ("f32", "(x >> 28).to(f32)", "((X >> 28 & 15) ^ 8) - 8.0"),
    "a byte of a sum": (
        "i32",
        "((x + 1) << 24) >> 24",
        "(((X + 1) & 255) ^ 128) - 128",
    ),
    "a quotient": ("i32", "x * 65536 // 65536", "((X & 65535) ^ 32768) - 32768"),
}
UNLIKE = {
    "what is left has a sign": ("i32", "(x << 28) >> 28", "X & 15"),
    "the product wraps": ("i32", "(x << 4) >> 4", "X"),
    "the sum wraps": ("i32", "(x * 3 + 1) >> 1", "(X * 3 + 1) >> 1"),
    "fewer places": ("i32", "(x << 27) >> 28", "((X & 15) ^ 8) - 8"),
    "rows wrap": (
        "i32",
        "(row * 1000003) >> 4",
        "(np.arange(M)[:, None] * 1000003 + 0 * X) >> 4",
    ),
}


@pytest.mark.parametrize("name", SIGNED)
def test_bits_moved_left_and_right_have_a_sign(name: str):
    dtype, value, wanted = SIGNED[name]
    found = decided_text(MOVED.format(dtype=dtype, value=value, wanted=wanted))
    assert found.equal, found.reason


@pytest.mark.parametrize("name", UNLIKE)
def test_which_other_bits_have_not(name: str):
    dtype, value, wanted = UNLIKE[name]
    text = MOVED.format(dtype=dtype, value=value, wanted=wanted)
    assert not decided_text(text).equal
