"""Loops that are nothing but the body of another need not be varied, and others do."""

from __future__ import annotations

import pytest

from argus.ir.program import Program
from argus.verify.order.control_dependence import study
from argus.verify.order.size_walks import SizeWalks
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

KERNEL = """import argus as ag
from argus import f32


@ag.kernel
def kernel(A: f32["P M C D K"], B: f32["P N C D K"], S: f32["P M N"]):
    P, M, C, D, K = A.shape
    N = B.shape[1]
    ag.require({required}, "sizes")
    ring = ag.ring(3, a=f32.tile(64, 32), b=f32.tile(64, 32))
    {common}
    with ag.role("load", warps=1):
        for p in ag.persistent(P):
            {loads}
            for c in ag.range(0, {c}):
                for d in ag.range(0, D):
                    for k in ag.range(0, {k}, 32):
                        with ring.fill() as slot:
                            slot.a.load(A[p, 0:, c, d, k:])
                            slot.b.load(B[p, 0:, c, d, k:])
    with ag.role("use", warpgroups=1):
        for p in ag.persistent(P):
            acc = ag.zeros((64, 64), f32)
            for c in ag.range(0, C):
                {outer}
                for d in ag.range(0, D):
                    {inner}
                    for k in ag.range(0, K, 32):
                        with ring.drain() as slot:
                            acc = ag.dot(slot.a, slot.b.T, acc, precision="tf32")
            S[p, 0:, 0:] = acc
"""
PLAIN = {
    "required": "K > 0", "common": "", "loads": "", "c": "C", "k": "K",
    "outer": "", "inner": "",
}  # fmt: skip


def made(**changed: str) -> Program:
    """The placed program, of rows of which TMA can load tiles."""
    text = KERNEL.format(**{**PLAIN, **changed})
    return placed(text, facts={**dict.fromkeys("PMNCD", 1), "K": 16})


def inner(program: Program) -> set[str]:
    """Sizes that are not varied."""
    return set(SizeWalks(program, study(program)).sizes.inner)


def test_products_over_several_dimensions() -> None:
    assert inner(made()) == {"D", "K"}
    assert not failing(made())


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"required": "K <= 4096"}, {"D", "K"}),
        # What is required together.
        ({"required": "K <= D * 64"}, set[str]()),
        ({"required": "K + D < C + 999999"}, set[str]()),
        # Few tiles of the outer size are no more than those.
        ({"required": "D <= 40"}, {"D"}),
        ({"required": "K >= 96"}, {"D"}),
        # Something stands beside the loop.
        ({"inner": "ag.sync()"}, {"D"}),
        ({"outer": "ag.sync()"}, {"K"}),
        # A loop of D elsewhere, which does not contain K.
        (
            {
                "common": "turn = ag.barriers(1)",
                "loads": "for d in ag.range(0, D):\n                turn.arrive()",
            },
            set[str](),
        ),
        # Not as often in both roles.
        ({"c": "C + 1"}, {"K"}),
        ({"k": "K + 32"}, {"D"}),
    ],
)
def test_which_sizes_are_inner(changed: dict[str, str], wanted: set[str]) -> None:
    assert inner(made(**changed)) == wanted


@pytest.mark.parametrize("changed", [{"c": "C + 1"}, {"k": "K + 32"}, {"c": "C * 2"}])
def test_other_trip_counts_are_refuted(changed: dict[str, str]) -> None:
    bad = failing(made(**changed))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)
