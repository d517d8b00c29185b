"""What is required of sizes leaves few trip counts, or none near those walked.

A ring by hand, and the same without the wait before a slot is filled again: that is
wrong where a loop iterates more often than there are slots, and right below. Which
sizes the requirement admits is counted out.
"""

from __future__ import annotations

import pytest

from argus.kernels.losses.kernel import loss_sums
from argus.requests import Request, placed_program
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


TIED = """import argus as ag
from argus import f32


@ag.kernel
def kernel(A: f32["M K"], P: f32["P"], C: f32["M K"]):
    M, K = A.shape
    P_ = P.shape[0]
    ag.require({required}, "sizes")
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 64))
    for k in ag.range(0, K, 64):
        s.store(ag.load(A[i * 64 :, k:], (64, 64)))
        ag.sync()
        C[i * 64 :, k:] = s.load()
        ag.sync()
"""


@pytest.mark.parametrize("facts", [1, 4, 16])
@pytest.mark.parametrize(
    "required",
    [
        "P_ == ag.cdiv(M, 4096)",
        "P_ * 64 == ag.cdiv(K, 4096) * M",
        "P_ == K * M + 16",
        "K * M == 77 * 256",
        "K + M == 1008",
        "K * 3 == M + 16",
        "(K > 64) & (K < 100)",
        "(P_ % 48 == 16) & (P_ > M * 3)",
    ],
)
def test_sizes_that_are_tied_are_found(required: str, facts: int) -> None:
    known = dict.fromkeys(("M", "K", "P"), facts)
    bad = failing(placed(TIED.format(required=required), facts=known))
    assert not bad, told(bad)


def test_what_no_sizes_satisfy_is_told() -> None:
    bad = failing(placed(TIED.format(required="(K > 32) & (K < 48)")))
    assert bad and all("no launch has sizes for which" in x.reason for x in bad)


@pytest.mark.parametrize("m", [1, 4, 16])
@pytest.mark.parametrize("p", [1, 4, 16])
def test_sums_of_parts(m: int, p: int) -> None:
    dtypes = {t.name: t.dtypes[0] for t in loss_sums.signature.tensors}
    request = Request(loss_sums, dtypes, {"BM": 4096}, "sm_90a", {"M": m, "P": p})
    assert not failing(placed_program(request))


@pytest.mark.parametrize("required", ["K <= 320", "K <= 640", "K >= 640", "K <= 4096"])
def test_what_is_required_is_walked(required: str) -> None:
    assert not failing(placed(source(required, WAITS, False)))
    bad = failing(placed(source(required, "", False)))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)
