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
