"""What order cannot decide: that it says so, and never `proved`."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from few import few
from verifier.order.check_order import failing, placed, source_of, told

HEAD = """import argus as ag
from argus import bf16, f32, i32


@ag.kernel
"""

TABLE_ITERATIONS = (
    HEAD
    + '''def kernel(A: bf16["M K"], Turns: i32["M"], C: bf16["M K"], *, BK: int = 64):
    """A table says how many tiles a block copies."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    iterations = Turns[i]
    ring = ag.ring(2, a=bf16.tile(64, BK, dims="M K"))
    with ag.role("load", warps=1):
        for k in ag.range(0, iterations):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k * BK :])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, iterations):
            with ring.drain() as slot:
                C[i * 64 :, k * BK :] = slot.a.load()
'''
)

TABLE_STAGE = (
    HEAD
    + '''def kernel(A: bf16["M K"], Stage: i32["K"], C: bf16["M K"], *, BK: int = 64):
    """A table says which stage is used."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), stages=2, dims="M K")
    for k in ag.range(0, K, BK):
        stage = Stage[k]
        tile[stage % 2].store(ag.load(A[i * 64 :, k:], (64, BK)))
        C[i * 64 :, k:] = tile[stage % 2].load()
'''
)

SQUARES = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """The stage is the square of the loop's counter."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), stages=2, dims="M K")
    n = 0
    for k in ag.range(0, K, BK):
        tile[n * n % 2].store(ag.load(A[i * 64 :, k:], (64, BK)))
        C[i * 64 :, k:] = tile[n * n % 2].load()
        n += 1
'''
)

TRIANGLE = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """The innermost of three loops runs once more in each iteration of the middle, and
    blocks go on together."""
    ag.cluster(2)
    M, K = A.shape
    i, _ = ag.block_tile(ag.cdiv(M, 64), 1)
    ring = ag.ring(2, a=bf16.tile(64, BK, dims="M K"))
    with ag.role("load", warps=1):
        for _ in ag.range(0, M, 64):
            for j in ag.range(0, K, BK):
                for k in ag.range(0, j, BK):
                    with ring.fill() as slot:
                        slot.a.load(A[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for _ in ag.range(0, M, 64):
            for j in ag.range(0, K, BK):
                for k in ag.range(0, j, BK):
                    with ring.drain() as slot:
                        C[i * 64 :, k:] = slot.a.load()
'''
)

STAIRS = TRIANGLE.replace("range(0, j, BK)", "range(0, j + i * BK, BK)")
"""The same, and once more in each block of a cluster."""

TWO_DEEP = STAIRS.replace("for _ in ag.range(0, M, 64):", "if 0 == 0:")
"""Without the outermost loop: it takes a hundredth of the time."""

OF_SIZE = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """How large the problem is says which stage is used."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), stages=2, dims="M K")
    tile[0].store(ag.load(A[i * 64 :, 0:], (64, BK)))
    C[i * 64 :, 0:] = tile[M // 64 % 2].load()
'''
)

TWICE = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, K: int = 64):
    """A role alone completes a round of a barrier."""
    M, _ = A.shape
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, K), dims="M K")
    with ag.role("make", warpgroups=1):
        tile.store(ag.load(A[i * 64 :, :], (64, K)))
        ag.arrive("twice", threads=256)
        ag.arrive("twice", threads=256)
        ag.sync("ready", threads=256)
    with ag.role("use", warpgroups=1):
        ag.sync("ready", threads=256)
        C[i * 64 :, :] = tile.load()
'''
)

CASES = {
    "stage from a size": (OF_SIZE, "depends on sizes or blocks"),
    "stage from the block": (
        OF_SIZE.replace("M // 64 % 2", "i % 2"),
        "depends on sizes or blocks",
    ),
    "iterations from a table": (
        TABLE_ITERATIONS.replace(
            "ag.range(0, iterations):", "ag.range(0, Turns[i + 1]):", 1
        ),
        "a table says how many iterations",
    ),
    "stage from a table": (TABLE_STAGE, "comes from a table"),
    "stage that does not shift": (
        SQUARES,
        "does not repeat with the loop's iterations",
    ),
    "two arrivals in one round": (TWICE, "arrives twice in one round"),
    "iterations that change": (TWO_DEEP, "changes with the iteration of another"),
    "iterations that change, repeated": (
        STAIRS,
        "changes with the iteration of another",
    ),
}


@pytest.mark.parametrize(
    "name", few(CASES, *CASES.keys() - {"iterations that change, repeated"})
)
def test_unknown(name: str) -> None:
    text, reason = CASES[name]
    bad = failing(placed(text))
    assert bad, "proved"
    assert {o.verdict for o in bad} == {Verdict.UNKNOWN}, told(bad)
    assert all(reason in o.reason for o in bad), told(bad)


def test_a_refutation_outweighs_what_is_unknown() -> None:
    text = TABLE_ITERATIONS.replace(
        "for k in ag.range(0, iterations):\n            with ring.drain()",
        "for k in ag.range(0, iterations + 1):\n            with ring.drain()",
    )
    bad = failing(placed(text))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)
    assert bad[0].rule == "AG0403", told(bad)


def test_nothing_is_proved_where_the_roles_wait_for_ever() -> None:
    """A walk that ends early has not seen what would come after."""
    text = source_of("products").replace("arrivals=2", "arrivals=3")
    bad = failing(placed(text, "products"))
    rules = {o.verdict for o in bad}
    assert rules == {Verdict.REFUTED, Verdict.UNKNOWN}, told(bad)
    unknown = [o for o in bad if o.verdict is Verdict.UNKNOWN]
    assert all("wait for ever" in o.reason for o in unknown)


THRESHOLD = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """Rows that are very long take another way."""
    M, K = A.shape
    ag.launch(warps=1)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), dims="M K")
    for k in ag.range(0, K, BK):
        if K > 1000000:
            tile.store(ag.load(A[i * 64 :, k:], (64, BK)))
            C[i * 64 :, k:] = tile.load()
'''
)


def test_a_branch_that_no_walk_takes() -> None:
    bad = failing(placed(THRESHOLD))
    assert {o.verdict for o in bad} == {Verdict.UNKNOWN}, told(bad)
    assert all("no sizes were found for which this holds" in o.reason for o in bad)


AHEAD = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """The next tile is copied while there is one."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), stages=2, dims="M K")
    if K > 0:
        tile[0].copy(A[i * 64 :, 0:], via="cp_async")
    ag.cp_async_commit()
    stage = 0
    for k in ag.range(0, K, BK):
        if k + BK < K:
            tile[1 - stage].copy(A[i * 64 :, k + BK :], via="cp_async")
        ag.cp_async_commit()
        ag.cp_async_wait(1)
        ag.sync()
        C[i * 64 :, k:] = tile[stage].load()
        ag.sync()
        stage = 1 - stage
'''
)


def test_a_condition_that_changes_in_the_last_iteration_is_followed() -> None:
    bad = failing(placed(AHEAD))
    assert not bad, told(bad)
    late = AHEAD.replace("cp_async_wait(1)", "cp_async_wait(2)")
    assert failing(placed(late))[0].verdict is Verdict.REFUTED
    # Right in all iterations but the last one, in which nothing is copied.
    last = AHEAD.replace("        ag.cp_async_commit()\n        ag.cp", "        ag.cp")
    last = last.replace(
        'k + BK :], via="cp_async")\n',
        'k + BK :], via="cp_async")\n            ag.cp_async_commit()\n',
    )
    bad = failing(placed(last))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)


def test_a_condition_that_changes_in_the_middle_is_not_followed() -> None:
    sync = "        if 2 * k < K:\n            ag.sync()\n"
    text = AHEAD.replace(
        "        ag.cp_async_wait(1)\n", sync + "        ag.cp_async_wait(1)\n"
    )
    bad = failing(placed(text))
    assert {o.verdict for o in bad} == {Verdict.UNKNOWN}, told(bad)
    assert all("may change anywhere in a loop" in o.reason for o in bad), told(bad)


MANY_TURNS = (
    HEAD
    + '''def kernel(X: f32["M N"], Y: f32["M N"]):
    """So many turns with syncs that what threads know of each other has no end."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    s = ag.shared(f32, (32, 32), dims="M N")
    x = ag.load(X[i * 32 :, j * 32 :], (32, 32))
    for t in ag.range(0, 1000000):
        s.store(x)
        x = s.load() * 0.5
    Y[i * 32 :, j * 32 :] = x
'''
)


def test_a_loop_of_very_many_turns_is_not_walked() -> None:
    bad = failing(placed(MANY_TURNS))
    assert bad
    assert all(o.verdict is Verdict.UNKNOWN for o in bad), told(bad)
    assert "iterations" in bad[0].reason
