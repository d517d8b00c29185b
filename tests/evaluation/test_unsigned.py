"""Whole numbers without sign: what wraps at 0 is no difference to a proof."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Verdict
from few import rest

KERNEL = """
import argus as ag
from argus import i32, i64, u32, u64


@ag.kernel
def k(X: {given}["M"], Z: {given}["M"], Y: {made}["M"]):
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, 64))
    x, z = ag.load(X[i * 64 :], (64,)), ag.load(Z[i * 64 :], (64,))
    Y[i * 64 :] = {value}


@ag.reference
def reference(X, Z):
    x, z = X.astype(np.int64), Z.astype(np.int64)
    return {wanted}
"""


def proved(value: str, wanted: str, given: str, made: str) -> bool:
    """Whether all that is asked is proved, but for how fast it is."""
    text = KERNEL.format(value=value, wanted=wanted, given=given, made=made)
    (kernel,) = load_kernels("unsigned.py", text).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    asked = [o for o in found.obligations if not o.slow]
    equal = found.equality is not None
    return equal and all(o.verdict is Verdict.PROVED for o in asked)


@pytest.mark.parametrize(
    ("value", "wanted", "given", "made"),
    [
        ("x.to(i64) - z.to(i64)", "x - z", "u32", "i64"),
        ("(x.to(u64) + 3) % 7", "(x + 3) % 7", "u32", "u64"),
        ("x >> 3", "x // 8", "u32", "u32"),
        ("ag.maximum(x, z)", "np.maximum(X, Z)", "u64", "u64"),
    ],
)
def test_what_is_the_same_number_is_equal(
    value: str, wanted: str, given: str, made: str
) -> None:
    assert proved(value, wanted, given, made)


@pytest.mark.parametrize(
    ("value", "wanted", "given", "made"),
    [
        ("(x - z).to(i64)", "x - z", "u32", "i64"),
        ("x.to(i32)", "x", "u32", "i32"),
        ("x.to(u32)", "x", "i32", "u32"),
        *rest(
            ("(x - z).to(i64)", "x - z", "u64", "i64"),
            ("x.to(i64)", "x", "u64", "i64"),
            ("(-x).to(i64)", "-x", "u32", "i64"),
        ),
    ],
)
def test_what_wraps_is_not_proved(
    value: str, wanted: str, given: str, made: str
) -> None:
    assert not proved(value, wanted, given, made)
