"""Branches on votes: both ways are followed, and a role's vote is its own."""

from __future__ import annotations

import pytest

from argus.ir import ops as o
from argus.ir.walk import blocks, walk
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

HEAD = """import argus as ag
from argus import bf16, f32


@ag.kernel
def k(X: bf16["M N"], F: f32["M"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(2, x=bf16.tile(64, 64))
"""
LOAD = """    with ag.role("load", warps=1):
        for n in ag.range(0, N, 64):
            with ring.fill() as slot:
                slot.x.load(X[i * 64 :, n:])
"""
COMMON = """    f = ag.load(F[i * 64 :], (64,))
    used = ag.any(f > 0.0)
"""

QUIET = (
    HEAD
    + LOAD
    + """    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 64):
            with ring.drain() as slot:
                x = slot.x.load().to(f32)
                if ag.any(x > 3.0):
                    x = ag.minimum(x, 3.0)
                Y[i * 64 :, n:] = x
"""
)
WITHIN = QUIET.replace(
    "x = ag.minimum(x, 3.0)", 'x = x - ag.max(x, "M") + ag.max(ag.max(x, "N"), 0)'
)
"""Reductions across warps: syncs of the role in one of the ways."""
KEPT = (
    HEAD
    + LOAD
    + """    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 64):
            slot = ring.wait()
            x = slot.x.load().to(f32)
            Y[i * 64 :, n:] = x
            if ag.any(x > 3.0):
                slot.release()
"""
)
LEFT_OUT = (
    HEAD
    + LOAD
    + """    with ag.role("use", warpgroups=1):
        f = ag.load(F[i * 64 :], (64,))
        if ag.any(f > 0.0):
            for n in ag.range(0, N, 64):
                with ring.drain() as slot:
                    Y[i * 64 :, n:] = slot.x.load().to(f32)
"""
)
EACH_ITS_OWN = (
    HEAD
    + """    with ag.role("load", warps=1):
        f = ag.load(F[i * 64 :], (64,))
        if ag.any(f > 0.0):
            for n in ag.range(0, N, 64):
                with ring.fill() as slot:
                    slot.x.load(X[i * 64 :, n:])
    with ag.role("use", warpgroups=1):
        g = ag.load(F[i * 64 :], (64,))
        if ag.any(g > 1.0):
            for n in ag.range(0, N, 64):
                with ring.drain() as slot:
                    Y[i * 64 :, n:] = slot.x.load().to(f32)
"""
)
TOGETHER = (
    HEAD
    + COMMON
    + """    with ag.role("load", warps=1):
        for n in ag.range(0, N, 64):
            if used:
                with ring.fill() as slot:
                    slot.x.load(X[i * 64 :, n:])
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 64):
            if used:
                with ring.drain() as slot:
                    Y[i * 64 :, n:] = slot.x.load().to(f32)
"""
)
OVERWRITTEN = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 64))
    x = ag.load(X[i * 64 :, 0:], (64, 64))
    s.store(x)
    if ag.any(x > 3.0):
        s.store(ag.minimum(x, 3.0))
    Y[i * 64 :, 0:] = s.load()
"""


@pytest.mark.parametrize(
    "text", [QUIET, WITHIN, OVERWRITTEN], ids=["quiet", "syncs within", "shared memory"]
)
def test_proved(text: str) -> None:
    bad = failing(placed(text))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    "text", [KEPT, LEFT_OUT, EACH_ITS_OWN], ids=["kept", "left out", "each its own"]
)
def test_never_proved(text: str) -> None:
    bad = failing(placed(text))
    assert bad, "proved"
    assert {o.verdict for o in bad} <= {Verdict.UNKNOWN, Verdict.REFUTED}, told(bad)


def test_a_vote_before_the_roles_is_one_for_all() -> None:
    """Nothing is refuted: both roles go the same way."""
    bad = failing(placed(TOGETHER))
    assert {o.verdict for o in bad} <= {Verdict.UNKNOWN}, told(bad)


def test_a_missing_sync_of_one_way_is_found() -> None:
    program = placed(OVERWRITTEN)
    inner = next(op for op in walk(program.body) if isinstance(op, o.If))
    ways = [*blocks(inner)]
    taken = [op for way in ways for op in way.ops if isinstance(op, o.Sync)]
    after = [op for op in program.body.ops if isinstance(op, o.Sync)]
    found = False
    for op in (*taken, *after):
        for block in (program.body, *ways):
            if op in block.ops:
                at = block.ops.index(op)
                block.ops.pop(at)
                bad = failing(program)
                block.ops.insert(at, op)
                found |= any(x.verdict is Verdict.REFUTED for x in bad)
    assert found
