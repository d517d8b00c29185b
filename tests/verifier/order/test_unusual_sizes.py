"""Two loops that iterate equally often at all sizes but few: a solver finds these."""

from __future__ import annotations

from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

UNEVEN = """
import argus as ag
from argus import f32

@ag.kernel
def k(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(3, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for k in ag.range(0, ag.cdiv(K, 32) + (ag.cdiv(K, 32) % 101) // 100):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k * 32 :])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, ag.cdiv(K, 32)):
            with ring.drain() as slot:
                C[i * 64 :, k * 32 :] = slot.a.load()
"""

CAUSAL = """
import argus as ag
from argus import f32

@ag.kernel
def k(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    ring = ag.ring(2, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for k in ag.range(0, ag.min(ag.cdiv(K, 32), i + 1)):
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k * 32 :])
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for k in ag.range(0, ag.min(ag.cdiv(K, 32), i + 1{late})):
                with ring.drain() as slot:
                    C[i * 64 :, k * 32 :] = slot.a.load()
"""


def test_sizes_at_which_trip_counts_differ_are_found() -> None:
    bad = failing(placed(UNEVEN, "k"))
    found = [o.counterexample for o in bad if o.counterexample is not None]
    assert found and all(-(-c.sizes["K"] // 32) % 101 == 100 for c in found), told(bad)


def test_a_tile_far_on_is_found_as_the_first_of_its_block() -> None:
    """From tile 300 on, one role counts one iteration more."""
    right = failing(placed(CAUSAL.format(late="")))
    assert not right, told(right)
    bad = failing(placed(CAUSAL.format(late=" + i // 300")))
    first = bad[0]
    assert (first.rule, first.verdict) == ("AG0403", Verdict.REFUTED), told(bad)
    assert first.counterexample is not None and first.counterexample.place is not None
    assert (first.counterexample.place.block or 0) >= 300
    sizes = first.counterexample.sizes
    assert -(-sizes["M"] // 64) > 300 < -(-sizes["K"] // 32)
