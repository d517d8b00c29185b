"""What walks cost is counted in steps, so that it does not depend on the machine."""

from __future__ import annotations

import pytest

from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
from argus.requests import placed_program
from argus.verify.order import extrapolation, recurrence
from argus.verify.order.control_dependence import study
from argus.verify.order.extrapolation import SizeExplorer
from argus.verify.order.recurrence import RecurrenceDetector
from argus.verify.order.snapshot import Position
from argus.verify.order.trip_count_sequences import FEW, Sequences
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed

TILES = """import argus as ag
from argus import f32, i32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"], V: i32["T"]):
    M, K = A.shape
    T = V.shape[0]
    ag.require({required}, "sizes")
    ring = ag.ring(3, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for c in ag.range(0, T):
                for k in ag.range(0, ag.cdiv(M, 64)):
                    with ring.fill() as slot:
                        slot.a.load(A[i * 64 :, k * 32 :])
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for c in ag.range(0, T):
                for k in ag.range(0, ag.cdiv(M, 64)):
                    if {drained}:
                        with ring.drain() as slot:
                            C[i * 64 :, k * 32 :] = slot.a.load()
"""


TWICE = """import argus as ag
from argus import f32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    ring = ag.ring({stages}, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for k in ag.range(0, K, 32):
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            for k in ag.range(0, K, 32):
                with ring.drain() as slot:
                    C[i * 64 :, k:] = slot.a.load()
"""

ONCE = """import argus as ag
from argus import f32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(2, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 32):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, K, 32):
            with ring.drain() as slot:
                C[i * 64 :, k:] = slot.a.load()
"""


def test_few_sequences_are_walked_before_sizes_are_chosen() -> None:
    program = placed(ONCE)
    explorer = SizeExplorer(program, study(program))
    outcome = explorer.run()
    assert not outcome.gaps and not outcome.findings.found
    assert "sizes" not in vars(explorer) and not outcome.walks


def test_more_sequences_are_walked_where_many_sizes_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = placed(TWICE.format(stages=3))
    tried: list[int] = []
    walked = Sequences.run

    def noted(self: Sequences, most: int) -> list[str]:
        tried.append(most)
        return walked(self, most)

    monkeypatch.setattr(Sequences, "run", noted)
    monkeypatch.setattr(extrapolation, "STEPS", 100)
    outcome = SizeExplorer(program, study(program)).run()
    assert not outcome.gaps and not outcome.findings.found
    assert len(tried) > 1
    assert tried == [FEW, 16 * FEW]
    assert not outcome.walks


def test_a_role_that_goes_on_alone_is_held_against_few_of_its_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared, looked = 0, 0
    repeats, append = RecurrenceDetector._repeats, recurrence._Positions.append

    def counted(self: RecurrenceDetector, earlier: Position, now: Position) -> None:
        nonlocal compared
        compared += 1
        repeats(self, earlier, now)

    def noted(self: recurrence._Positions, at: Position) -> None:
        nonlocal looked
        looked += 1
        append(self, at)

    monkeypatch.setattr(RecurrenceDetector, "_repeats", counted)
    monkeypatch.setattr(recurrence._Positions, "append", noted)
    # Nothing is drained at K = 32: one role waits for ever, the other one goes on.
    bad = failing(placed(TILES.format(required="K <= 48", drained="K % 224 == 16")))
    assert bad[0].verdict is Verdict.REFUTED
    assert looked > 1000
    assert compared < looked


def test_a_size_may_be_0_where_few_sequences_are_walked() -> None:
    """The first step before the loop, as K > 0 would allow it."""
    first = TWICE.format(stages=2).replace(
        "            for k in ag.range(0, K, 32):\n                with ring.drain()",
        "            for k in ag.range(0, ag.max(K, 32), 32):\n"
        "                with ring.drain()",
    )
    bad = failing(placed(first))
    assert bad[0].verdict is Verdict.REFUTED and bad[0].rule == "AG0403"


def test_few_states_are_all_walked_before_sizes_are() -> None:
    """64 choices are too few for this kernel, and lead to 19 states."""
    entry = LIBRARY["attention_backward_keys"]
    request, _ = request_for(entry, entry.small[0], "sm_90a")
    program = placed_program(request)
    found = SizeExplorer(program, study(program)).run()
    assert not found.gaps
    assert not found.findings.found
    assert found.walks == 0
