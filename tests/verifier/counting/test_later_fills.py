"""Buffers that a loop fills again at once, in the stage that it has just read."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Report, Verdict

HEAD = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, ST: int = {stages}):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), stages=ST, dims="M N")
    full, empty = ag.barriers(ST), ag.barriers(ST, arrivals=4)
    steps = ag.cdiv(N, 32)
"""
TAIL = """

@ag.reference
def ref(X):
    return X
"""
BLOCK = """\
    for p in ag.static_range(ST):
        if p < steps:
            full[p].expect(64 * 32 * 4)
            s[p].copy(X[i * 64 :, p * 32 :], full[p])
    for n in ag.range(0, steps):
        full[n % ST].wait(n // ST)
        Y[i * 64 :, n * 32 :] = s[n % ST].load()
        if n + ST < steps:
            full[n % ST].expect(64 * 32 * 4)
            s[n % ST].copy(X[i * 64 :, (n + ST) * 32 :], full[n % ST])
"""
ROLES = """\
    with ag.role("load", warps=1):
        for p in ag.static_range(ST):
            if p < steps:
                full[p].expect(64 * 32 * 4)
                s[p].copy(X[i * 64 :, p * 32 :], full[p])
        for n in ag.range(0, steps - ST):
            empty[n % ST].wait(n // ST)
            full[n % ST].expect(64 * 32 * 4)
            s[n % ST].copy(X[i * 64 :, (n + ST) * 32 :], full[n % ST])
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, steps):
            full[n % ST].wait(n // ST)
            Y[i * 64 :, n * 32 :] = s[n % ST].load()
            empty[n % ST].arrive(per="warp")
"""
REGISTERS = """\
    s[0].store(ag.load(X[i * 64 :, 0:], (64, 32)))
    for n in ag.range(0, steps):
        x = ag.load(X[i * 64 :, (n + 1) * 32 :], (64, 32))
        Y[i * 64 :, n * 32 :] = s[n % ST].load()
        s[(n + 1) % ST].store(x)
"""


def judged(body: str, stages: int) -> Report:
    text = HEAD.format(stages=stages) + body + TAIL
    kernel = load_kernels(Path("later.py"), text).kernels["k"]
    return proved_all(kernel, {}, "sm_90a", fresh=True).report


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("body", [BLOCK, ROLES, REGISTERS], ids=["b", "roles", "regs"])
def test_right(body: str, stages: int) -> None:
    report = judged(body, stages)
    assert report.verdict is Verdict.EQUAL, report.obligations


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        (BLOCK, "(n + ST) * 32", "(n + ST + 1) * 32"),
        (BLOCK, "(n + ST) * 32", "n * 32"),
        (BLOCK, "n + ST < steps", "n + ST + 1 < steps"),
        (BLOCK, "n + ST < steps", "n + ST <= steps"),
        (BLOCK, "wait(n // ST)", "wait(n // ST - 1)"),
        (ROLES, "(n + ST) * 32", "n * 32"),
        (ROLES, "empty[n % ST].wait(n // ST)", "empty[n % ST].wait(n // ST - 1)"),
        (ROLES, "steps - ST)", "steps - ST - 1)"),
        (REGISTERS, "s[(n + 1) % ST].store", "s[n % ST].store"),
    ],
)
def test_wrong(body: str, old: str, new: str) -> None:
    assert old in body
    assert judged(body.replace(old, new), 3).verdict is Verdict.REFUTED


ONE_ARRIVAL = """\
    ring = ag.ring(2, x=f32.tile(64, 32))
    done, back = ag.barriers(1{arrivals}), ag.barriers(1{arrivals})
    with ag.role("load", warps=1):
        for n in ag.range(0, N, 32):
            with ring.fill() as slot:
                slot.x.load(X[i * 64 :, n:])
    with ag.role("one", warpgroups=1):
        for n in ag.range(0, steps):
            with ring.drain() as slot:
                Y[i * 64 :, n * 32 :] = slot.x.load()
            back.wait(n - 1){meet}
            done.arrive(per="{per}")
    with ag.role("two", warpgroups=1):
        for n in ag.range(0, steps):
            done.wait(n)
            with ring.drain() as slot:
                x = slot.x.load(){meet}
            back.arrive(per="{per}")
"""


def test_one_warp_that_arrives_before_others_have_waited() -> None:
    """The interpreter takes the warps of a role together, and contradicts nothing."""
    wrong = judged(ONE_ARRIVAL.format(arrivals="", meet="", per="role"), 2)
    assert wrong.verdict is Verdict.REFUTED
    codes = {o.rule for o in wrong.obligations if o.verdict is Verdict.REFUTED}
    assert "AG0404" in codes and "AG0319" not in codes
    meet = "\n            ag.sync()"
    for right in (
        {"arrivals": "", "meet": meet, "per": "role"},
        {"arrivals": ", arrivals=4", "meet": "", "per": "warp"},
    ):
        assert judged(ONE_ARRIVAL.format(**right), 2).verdict is Verdict.EQUAL
