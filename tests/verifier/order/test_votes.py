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
RESCALED = """import argus as ag
from argus import bf16, f32


@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(2, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[0:, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        top = ag.zeros((64,), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                top = ag.maximum(top, ag.max(slot.a.load().to(f32), "K"))
                if ag.any(top > 8.0):
                    acc = acc * 0.5
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[i * 64 :, 0:64] = acc
"""
"""Registers of a matrix instruction, changed in one way only."""
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
    "text",
    [QUIET, WITHIN, OVERWRITTEN, RESCALED],
    ids=["quiet", "syncs within", "shared memory", "accumulators"],
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


def test_a_way_that_reads_an_accumulator_in_flight_is_found() -> None:
    """Whichever way is looked at first."""
    program = placed(RESCALED)
    waits = 0
    for block in [b for op in walk(program.body) for b in blocks(op)]:
        for op in [x for x in block.ops if isinstance(x, o.WgmmaWait)]:
            at = block.ops.index(op)
            block.ops.pop(at)
            bad = failing(program)
            block.ops.insert(at, op)
            waits += any(x.rule == "AG0407" for x in bad)
    assert waits
