"""References without terms: what no run has compared, or shown, is not proved."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Verdict
from evaluation.searching import HEAD
from few import rest

KERNEL = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]{more}, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    {change}
    Y[m, j * BN :] = x


@ag.reference
def ref(X{taken}):
    y = np.sort(X, axis=1) * 0 + X
    {says}
    return y
"""
RIGHT = {"more": "", "change": "pass", "taken": "", "says": "pass"}


def verdict(change: dict[str, str]) -> Verdict:
    (kernel,) = load_kernels(
        "made.py", HEAD + KERNEL.format(**RIGHT | change)
    ).kernels.values()
    return proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report.verdict


@pytest.mark.parametrize(
    "change",
    [
        {},
        *rest({"change": "x = ag.where(x > 1234.5, x, ag.minimum(x, 2000.0))"}),
        {"change": "x = ag.where(x != x, 0.0, x)"},  # nothing is no number
        {"change": "if N > 100000:\n        x = x + 0.0"},
    ],
)
def test_conditions_that_runs_have_shown(change: dict[str, str]) -> None:
    assert verdict(change) is Verdict.PROVED


@pytest.mark.parametrize(
    "change",
    [
        {"more": ", s: i32", "change": "x = x * 2.0 + (s - s)"},
        {"change": "x = x * 2.0", "says": "y[:, 0] = np.inf"},
        {"change": "x = x * 2.0", "says": "y = y[:, :, None]"},
        {"change": "x = ag.where(ag.abs(x * x * x - 4913.0) < 0.5, 0.0, x)"},
        {
            "more": ", a: i32 = 1, b: i32 = 2",
            "taken": ", a, b",
            # Neither factor is near to a number of the kernel: 89 and 97.
            "change": "if (a - 3000) * (b - 5000) == 8633:\n        x = x + 1.0",
        },
    ],
)
def test_what_no_run_has_compared_or_shown(change: dict[str, str]) -> None:
    assert verdict(change) is Verdict.UNKNOWN


def test_a_large_size_is_tried_beside_small_ones() -> None:
    change = {"change": "if N > 300000:\n        x = x + 1.0"}
    assert verdict(change) is Verdict.REFUTED


HALVES = """@ag.kernel
def k(X: f32["M D"], Y: f32["M D"], theta: f32 = 2.0, *, D: int = 64):
    ag.require(theta > 1.0, "a root is taken")
    i = ag.block(ag.cdiv(X.shape[0], 16))
    first = ag.load(X[i * 16 :, 0 : D // 2], (16, D // 2))
    second = ag.load(X[i * 16 :, D // 2 : D], (16, D // 2))
    root = ag.sqrt(ag.full((16, D // 2), 0.0, f32, dims="M D") + (theta - 1.0))
    Y[i * 16 :, 0 : D // 2] = {first}
    Y[i * 16 :, D // 2 : D] = {second}


@ag.reference
def ref(X, theta):
    y = np.sort(X, axis=1) * 0 + X
    root = abs(theta - 1.0) ** 0.5
    return np.concatenate([y[:, 32:], {wanted}], 1)
"""


@pytest.mark.parametrize(
    ("second", "wanted", "verdict"),
    [
        ("first", "y[:, :32]", Verdict.UNKNOWN),
        ("first * root", "y[:, :32] * root", Verdict.UNKNOWN),  # where it is one
        ("second", "y[:, :32]", Verdict.REFUTED),
        ("first", "y[:, :32] * root", Verdict.REFUTED),
    ],
)
def test_names_that_refute_it_at_any_size(
    second: str, wanted: str, verdict: Verdict
) -> None:
    """Runs show no difference: names are not believed, of which no size is one."""
    text = HEAD + HALVES.format(first="second", second=second, wanted=wanted)
    (kernel,) = load_kernels("made.py", text).kernels.values()
    assert proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report.verdict is verdict
