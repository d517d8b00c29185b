"""Fills some iterations ahead, each under the condition that there is what it loads.

Conditions on the number of iterations, and on how far a loop is from its end: so many
as the buffer has stages.
"""

from __future__ import annotations

import pytest

from verifier.order.check_order import failing, placed, told

RING = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, ST: int = {stages}):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    ring = ag.ring(ST, x=f32.tile(32, 32))
    steps = ag.cdiv(N, 32)
    for s in ag.static_range(ST - 1):
        if s < steps:
            with ring.fill() as slot:
                slot.x.load(X[i * 32 :, s * 32 :], via="cp_async")
    for n in ag.range(0, steps):
        if n + ST - 1 < steps:
            with ring.fill() as slot:
                slot.x.load(X[i * 32 :, (n + ST - 1) * 32 :], via="cp_async")
        with ring.drain() as slot:
            Y[i * 32 :, n * 32 :] = slot.x.load()
"""
GROUPS = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, ST: int = {stages}):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    s = ag.shared(f32, (32, 32), stages=ST, dims="M N")
    steps = ag.cdiv(N, 32)
    for p in ag.static_range(ST - 1):
        if p < steps:
            s[p].copy(X[i * 32 :, p * 32 :], via="cp_async")
        ag.cp_async_commit()
    for n in ag.range(0, steps):
        ag.cp_async_wait(ST - 2)
        ag.sync()
        Y[i * 32 :, n * 32 :] = s[n % ST].load()
        ag.sync()
        if n + ST - 1 < steps:
            s[(n + ST - 1) % ST].copy(X[i * 32 :, (n + ST - 1) * 32 :], via="cp_async")
        ag.cp_async_commit()
    ag.cp_async_wait(0)
"""


@pytest.mark.parametrize("source", [RING, GROUPS], ids=["ring", "groups"])
@pytest.mark.parametrize("stages", [2, 3, 4, 6, 8])
def test_right(source: str, stages: int) -> None:
    bad = failing(placed(source.format(stages=stages), "k"))
    assert not bad, told(bad)


@pytest.mark.parametrize("stages", [3, 8])
@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        (RING, "if n + ST - 1 < steps", "if n + ST < steps"),
        (RING, "if s < steps", "if s + 1 < steps"),
        (GROUPS, "ag.cp_async_wait(ST - 2)", "ag.cp_async_wait(ST - 1)"),
        (GROUPS, "s[(n + ST - 1) % ST].copy", "s[(n + ST - 2) % ST].copy"),
    ],
)
def test_wrong(source: str, old: str, new: str, stages: int) -> None:
    assert old in source
    assert failing(placed(source.format(stages=stages).replace(old, new), "k"))
