"""Whatever isl gives up on is unknown: no crash, and no verdict that is not so."""

from __future__ import annotations

from typing import Any

import islpy as isl
import pytest

from argus.clock import now
from argus.terms import space
from argus.terms.isl_sets import Asking
from verifier.equality.attacking import decided_text

SQUARED = """
@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, BN: int = 32):
    M, N = X.shape
    ag.require(N < 9999, "squares fit")
    i = ag.block(M)
    acc = ag.full((1,), 0.0, f32, dims="M")
    for n in ag.range(0, N, BN):
        tile = ag.load(X[i:, n:], (1, BN))
        acc = acc + ag.sum(ag.where(ag.index(tile, "N") * n < N, tile, 0.0), "N")
    S[i:] = acc


@ag.reference
def ref(X):
    return X.sum(-1)
"""
"""Products of iterations and coordinates: isl takes minutes to say what one is."""
WINDOWS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, B: int = 32):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, B), ag.cdiv(N, B))
    tile = ag.load(X[i * B :, j * B :], (B, B))
    Y[i * B :, j * B :] = ag.where(ag.index(tile, "N") + j * B >= {least}, tile, 0.0)


@ag.reference
def ref(X):
    M, N = X.shape
    return np.where(np.arange(N)[None] >= N // 2, X, 0.0)
"""
SUMS = """
@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, B: int = 32):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, B))
    acc = ag.zeros((B,), f32)
    for n in ag.range({first}, N, B):
        acc = acc + ag.sum(ag.load(X[i * B :, n:], (B, B)), "N")
    S[i * B :] = acc


@ag.reference
def ref(X):
    return X.sum(-1)
"""
LIMITS = (20, 80, 200, 500, 1200, 3000, 8000)


def test_what_isl_takes_minutes_for_is_decided_in_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reasons: list[str] = []
    leave = Asking.__exit__

    def noted(self: Asking, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, isl.Error):
            reasons.append(str(error))
        leave(self, kind, error, trace)

    monkeypatch.setattr(Asking, "__exit__", noted)
    monkeypatch.setattr(space, "STEPS", space.STEPS // 10)
    begin = now()
    found = decided_text(SQUARED)
    assert now() - begin < 60
    assert not found.equal
    assert any("operations exceeded" in reason for reason in reasons)


@pytest.mark.parametrize("steps", LIMITS)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (WINDOWS.format(least="N // 2"), WINDOWS.format(least="N // 2 + 1")),
        (SUMS.format(first="0"), SUMS.format(first="B")),
    ],
)
def test_few_steps_show_nothing_that_is_not_so(
    right: str, wrong: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decided_text(right).equal
    for name in ("STEPS", "STEPS_OF_DIFFERENCES", "STEPS_OF_SOLUTIONS"):
        monkeypatch.setattr(space, name, steps)
    found = decided_text(right)
    assert found.equal or found.reason or found.decision is not None
    if found.decision is not None:
        assert not found.places, "a point at which equal terms differ"
    other = decided_text(wrong)
    assert not other.equal
    assert not (found.untraced or other.untraced), "the reference has terms, given time"
