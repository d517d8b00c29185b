"""Sizes that are no multiples of tiles, and loops that several quotients decide."""

from __future__ import annotations

import copy

import pytest

from argus.ir import ops as o
from argus.ir.walk import blocks
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from verifier.order.check_order import failing, placed, told

HEAD = """import argus as ag
from argus import bf16, f32


@ag.kernel
"""

MEET = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"]):
    """Two roles meet once in each iteration of their loops; a third one copies."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    with ag.role("first", warpgroups=1):
        for k in ag.range(0, K, 64):
            ag.sync("x", threads=256)
    with ag.role("second", warpgroups=1):
        for k in ag.range(0, K, 64):
            ag.sync("x", threads=256)
    with ag.role("copy", warpgroups=1):
        C[i * 64 :, 0:] = ag.load(A[i * 64 :, 0:], (64, 64))
'''
)
SECOND = """second", warpgroups=1):
        for k in ag.range(0, K, 64):
            ag.sync("x", threads=256)
"""
OTHER = 'second", warpgroups=1):\n        for k in ag.range({}):\n'
ONE = '            ag.sync("x", threads=256)\n'


def _meet(loop: str, syncs: int = 1) -> str:
    assert SECOND in MEET
    return MEET.replace(SECOND, OTHER.format(loop) + syncs * ONE)


RIGHT = {
    "as often": MEET,
    "counted": _meet("0, ag.cdiv(K, 64)"),
    "from further on": _meet("64, K + 64, 64"),
    "rounded down, of whole tiles": _meet("0, K // 64").replace(
        "    i = ag", '    ag.require(K % 64 == 0, "whole tiles")\n    i = ag'
    ),
    "in two parts": MEET.replace(
        SECOND, OTHER.format("0, K, 128") + ONE + OTHER.format("64, K, 128")[24:] + ONE
    ),
}
WRONG = {
    "not more than a hundred": _meet("0, ag.cdiv(ag.min(K, 6400), 64)"),
    "rounded down": _meet("0, K // 64"),
    "rounded up too far": _meet("0, (K + 64) // 64"),
    "two at a time": _meet("0, K, 128", 2),
    "another size": _meet("0, ag.cdiv(M, 64)"),
    "the smaller of two": _meet("0, ag.cdiv(ag.min(M, K), 64)"),
    "only every other": _meet("0, K, 128"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    bad = failing(placed(RIGHT[name]))
    assert not bad, told(bad)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    bad = failing(placed(WRONG[name]))
    assert bad, "proved"
    assert bad[0].verdict is Verdict.REFUTED, told(bad)


TWO_PARTS = (
    HEAD
    + '''def kernel(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"]):
    """Each block begins elsewhere in K, and comes back to what is before."""
    M, K = A.shape
    N, _ = B.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    first = i % 4 * ag.cdiv(K, 256) * 64
    ring = ag.ring(3, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(first, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[j * 64 :, k:])
        for k in ag.range(0, first, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for _ in ag.range(first, K, 64):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        for _ in ag.range(0, first, 64):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[i * 64 :, j * 64 :] = acc.to(bf16)
'''
)


def test_any_combination_of_trip_counts() -> None:
    bad = failing(placed(TWO_PARTS))
    assert not bad, told(bad)
    head, tail = TWO_PARTS.split('    with ag.role("math"')
    wrong = tail.replace("range(0, first, 64)", "range(64, first, 64)")
    # Which blocks there are at the sizes that are walked is another matter.
    assert failing(placed(head + '    with ag.role("math"' + wrong)), "proved"


SPLIT = (
    HEAD
    + '''def kernel(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, SPLIT: int = 4):
    """Parts of K, tile after tile: each begins elsewhere, and all are as long."""
    M, K = A.shape
    N, _ = B.shape
    part = ag.cdiv(K, SPLIT * 64) * 64
    ring = ag.ring(3, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64)):
            for z in ag.range(0, SPLIT):
                for k in ag.range(z * part, (z + 1) * part, 64):
                    with ring.fill() as slot:
                        slot.a.load(A[i * 64 :, k:])
                        slot.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64)):
            for z in ag.range(0, SPLIT):
                acc = ag.zeros((64, 64), f32)
                for _ in ag.range(z * part, (z + 1) * part, 64):
                    with ring.drain() as slot:
                        acc = ag.dot(slot.a, slot.b.T, acc)
                ag.atomic_add(C[i * 64 :, j * 64 :], acc)
'''
)


def test_parts_that_begin_elsewhere_and_are_as_long() -> None:
    report = verify(placed(SPLIT), only=("tags", "order"))
    bad = [x for x in report.obligations if x.verdict is not Verdict.PROVED]
    assert not bad, told(bad)
    head, tail = SPLIT.split('    with ag.role("math"')
    wrong = head + '    with ag.role("math"' + tail.replace("(z + 1) * part", "K")
    bad = failing(placed(wrong))
    assert bad, "proved"


OVER = (
    HEAD
    + '''def kernel(A: bf16["M K"], B: bf16["M K"], C: bf16["M K"]):
    """What threads have written is overwritten by TMA."""
    M, K = A.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(K, 64))
    s = ag.shared(bf16, (64, 64), dims="M K")
    full = ag.barriers(1)
    s.store(ag.load(B[i * 64 :, j * 64 :], (64, 64)))
    ag.fence_async()
    ag.sync()
    with ag.role("load", warps=1):
        full[0].expect(64 * 64 * 2)
        s.copy(A[i * 64 :, j * 64 :], full[0])
    with ag.role("use", warpgroups=1):
        full[0].wait(0)
        C[i * 64 :, j * 64 :] = s.load()
'''
)


def test_a_tma_load_over_ordinary_stores_needs_a_fence() -> None:
    program = placed(OVER)
    assert not failing(program)
    changed = copy.deepcopy(program)
    for block in (changed.body, *(b for x in changed.body.ops for b in blocks(x))):
        block.ops[:] = [x for x in block.ops if not isinstance(x, o.Fence)]
    bad = failing(changed)
    assert [x.rule for x in bad] == ["AG0408"], told(bad)
