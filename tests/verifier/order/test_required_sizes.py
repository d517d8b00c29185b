"""What is required of sizes leaves few trip counts, or none near those walked.

A ring by hand, and the same without the wait before a slot is filled again: that is
wrong where a loop iterates more often than there are slots, and right below. Which
sizes the requirement admits is counted out.
"""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

STAGES = 4
WAITS = "empty[n % STAGES].wait(n // STAGES - 1)"
KERNEL = """import argus as ag
from argus import bf16


@ag.kernel
def kernel(A: bf16["M K"], C: bf16["M K"], *, STAGES: int = 4):
    M, K = A.shape
    ag.require({required}, "sizes")
    slots = ag.shared(bf16, (64, 64), stages=STAGES)
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES, arrivals=4)
    {block}
    with ag.role("load", warps=1):
        n = 0
        {tiles}for k in ag.range(0, K, 64):
            {room}{waits}
            {room}full[n % STAGES].expect(64 * 64 * 2)
            {room}slots[n % STAGES].copy(A[i * 64 :, k:], full[n % STAGES])
            {room}n += 1
    with ag.role("use", warpgroups=1):
        n = 0
        {tiles}for k in ag.range(0, K, 64):
            {room}full[n % STAGES].wait(n // STAGES)
            {room}C[i * 64 :, k:] = slots[n % STAGES].load()
            {room}empty[n % STAGES].arrive(per="warp")
            {room}n += 1
"""
REQUIRED = (
    "K <= 192",
    "K <= 256",
    "K <= 320",
    "K <= 384",
    "K <= 640",
    "K <= 4096",
    "K >= 640",
    "K >= 6400",
    "(K >= 320) & (K <= 384)",
    "(K >= 1280) & (K <= 1472)",
    "K % 448 == 192",
    "K % 1984 == 320",
    "K * M <= 4096 * 16",
    "K <= M",
)

PERSISTENT = ("K <= 256", "K <= 384", "K >= 640", "K % 448 == 192")
CASES = [*((r, False) for r in REQUIRED), *((r, True) for r in PERSISTENT)]


def source(required: str, waits: str, persistent: bool) -> str:
    block = "" if persistent else "i = ag.block(ag.cdiv(M, 64))"
    tiles = f"for i in ag.persistent(ag.cdiv(M, 64)):\n{' ' * 12}"
    return KERNEL.format(
        required=required,
        waits=waits,
        block=block,
        tiles=tiles if persistent else "",
        room=" " * 4 if persistent else "",
    )


def wrong(required: str, persistent: bool) -> bool:
    """Whether an admitted size lets a block iterate more often than there are slots."""
    admits = eval(f"lambda M, K: {required}")
    for rows in (16, 64, 320, 4096):
        # All tiles of a persistent kernel may be those of one block.
        tiles = -(-rows // 64) if persistent else 1
        for k in range(16, 12_000, 16):
            if tiles * -(-k // 64) > STAGES and admits(rows, k):
                return True
    return False


@pytest.mark.parametrize(("required", "persistent"), CASES)
def test_a_wait_that_is_missing(required: str, persistent: bool) -> None:
    bad = failing(placed(source(required, "", persistent)))
    if wrong(required, persistent):
        assert bad, "proved, though a slot is filled while it is read"
    else:
        assert all(x.verdict is not Verdict.REFUTED for x in bad), told(bad)


@pytest.mark.parametrize(("required", "persistent"), CASES)
def test_with_the_wait(required: str, persistent: bool) -> None:
    bad = failing(placed(source(required, WAITS, persistent)))
    assert all(x.verdict is not Verdict.REFUTED for x in bad), told(bad)


@pytest.mark.parametrize("required", ["K <= 320", "K <= 640", "K >= 640", "K <= 4096"])
def test_what_is_required_is_walked(required: str) -> None:
    assert not failing(placed(source(required, WAITS, False)))
    bad = failing(placed(source(required, "", False)))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)
