"""Mistakes of order that are made in one iteration of many: a run shows them."""

from __future__ import annotations

import pytest

from argus.evaluation import fault_runs
from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Report, Verdict
from evaluation.searching import HEAD
from few import rest

BY_HAND = """@ag.kernel
def k(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    ag.require(K <= {most}, "columns")
    i = ag.block(ag.cdiv(M, 64))
    buf = ag.shared(f32, (64, 32), stages=3)
    full, empty = ag.barriers(3), ag.barriers(3, arrivals=4)
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, 32):
            empty[n % 3].wait(n // 3 - 1)
            full[n % 3].expect(64 * 32 * 4)
            buf[{stage}].copy(A[i * 64 :, k:], full[n % 3])
            n += 1
    with ag.role("use", warpgroups=1):
        n = 0
        for k in ag.range(0, K, 32):
            if {waits}:
                full[n % 3].wait(n // 3)
            C[i * 64 :, k:] = buf[n % 3].load().rename("M K")
            if {arrives}:
                empty[{slot}].arrive(per="warp")
            n += 1
"""
RIGHT = {"waits": "n >= 0", "arrives": "n >= 0", "stage": "n % 3", "slot": "n % 3"}
RING = """@ag.kernel
def k(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    ag.require(K <= {most}, "columns")
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(3, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 32):
            if k != 640:
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, K, 32):
            with ring.drain() as slot:
                C[i * 64 :, k:] = slot.a.load()
"""


def checked(body: str) -> Report:
    """What `argus check` says of a kernel."""
    (kernel,) = load_kernels("made.py", HEAD + body).kernels.values()
    return proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is found however slow the machine is."""
    monkeypatch.setattr(fault_runs, "_SECONDS", 20.0)
    monkeypatch.setattr(fault_runs, "_FAR_SECONDS", 20.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("change", "rule", "line"),
    [
        ({"arrives": "n != 30"}, "AG0403", 15),
        ({"waits": "n != 20"}, "AG0421", 25),
        *rest(({"stage": "(n + n // 50) % 3"}, "AG0421", 25)),
    ],
)
def test_one_iteration_of_many(change: dict[str, str], rule: str, line: int) -> None:
    found = checked(BY_HAND.format(most=4096, **(RIGHT | change)))
    said = [o for o in found.obligations if o.verdict is Verdict.REFUTED]
    assert [o.rule for o in said] == [rule]
    assert said[0].counterexample is not None
    assert said[0].counterexample.sizes["K"] > 320


@pytest.mark.usefixtures("patient")
def test_a_fill_that_is_left_out() -> None:
    found = checked(RING.format(most=4096))
    (said,) = (o for o in found.obligations if o.verdict is Verdict.REFUTED)
    assert (said.rule, said.span.line) == ("AG0403", 17)


def test_a_fill_to_which_no_launch_comes() -> None:
    assert checked(RING.format(most=640)).verdict is not Verdict.REFUTED


def test_a_role_that_is_late() -> None:
    """The next slot's barrier may complete before its first wait, which is not -1."""
    found = checked(BY_HAND.format(most=4096, **(RIGHT | {"slot": "(n + 1) % 3"})))
    said = next(o for o in found.obligations if o.rule == "AG0404" and o.is_open)
    assert said.verdict is Verdict.REFUTED
    assert said.counterexample is not None
    assert said.counterexample.replayed


def test_an_entry_that_is_outside_is_in_no_run() -> None:
    """The verifier's table is another than that of the run: no disagreement."""
    body = """@ag.kernel
def k(X: f32["M"], I: i32["P"], Y: f32["P"]):
    p = ag.block(I.shape[0])
    Y[p : p + 1] = ag.full((1,), X[I[p]], f32, dims="P")
"""
    found = checked(body)
    (said,) = (o for o in found.obligations if o.rule == "AG0312" and o.is_open)
    assert said.verdict is Verdict.REFUTED
    assert said.counterexample is not None
    assert said.counterexample.replayed is None


@pytest.mark.usefixtures("patient")
def test_a_slot_that_is_released_where_data_say_so() -> None:
    body = RING.format(most=4096).replace("if k != 640:", "if k >= 0:")
    drained = """            slot = ring.wait()
            x = slot.a.load()
            C[i * 64 :, k:] = x
            if ag.any(x > 0.0):
                slot.release()
"""
    head, _, _ = body.partition("            with ring.drain() as slot:")
    found = checked(head + drained)
    said = [o for o in found.obligations if o.verdict is Verdict.REFUTED]
    assert [o.rule for o in said] == ["AG0403"]


FAR = """@ag.kernel
def k(A: f32["M K"], T: i32["M"], C: f32["M K"], s: i32 = 0):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    buf = ag.shared(f32, (64, 32), stages=3)
    full, empty = ag.barriers(3), ag.barriers(3, arrivals=4)
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, 32):
            empty[n % 3].wait(n // 3 - 1)
            full[n % 3].expect(64 * 32 * 4)
            buf[n % 3].copy(A[i * 64 :, k:], full[n % 3])
            n += 1
    with ag.role("use", warpgroups=1):
        n = 0
        for k in ag.range(0, K, 32):
            full[n % 3].wait(n // 3)
            C[i * 64 :, k:] = buf[n % 3].load().rename("M K")
            if {arrives}:
                empty[n % 3].arrive(per="warp")
            n += 1
"""


@pytest.mark.parametrize(
    ("arrives", "wrong"),
    [
        ("i >= 0", False),
        ("k + 32 < K", False),  # nobody waits for the last one
        ("i != 37", True),
        *rest(("i * 64 + k != 9024", True)),
        ("T[i] != 3", True),
        ("(i % 3 != 2) | (n % 5 != 4)", True),
        ("s != 5", True),
    ],
)
def test_a_block_far_away_an_entry_or_a_scalar(arrives: str, wrong: bool) -> None:
    found = checked(FAR.format(arrives=arrives))
    said = {o.rule for o in found.obligations if o.verdict is Verdict.REFUTED}
    assert said == ({"AG0403"} if wrong else set())
