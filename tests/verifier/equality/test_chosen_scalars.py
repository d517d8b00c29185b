"""A number that a condition chooses, where one integer is needed: each case alone."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

REFERENCE = """

@ag.reference
def ref(X, L):
    N = X.shape[1]
    n = np.where(L > 0, L, np.where(L < -4, 0, N))
    return {said}
"""
CHOSEN = {
    "where": "end = ag.where(L[i] > 0, L[i], ag.where(L[i] < -4, 0, N))",
    "branch": """end = N
    if L[i] > 0:
        end = L[i]
    else:
        if L[i] < -4:
            end = 0""",
}
SUMS = """
@ag.kernel
def k(X: f32["M N"], L: i32["M"], S: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.assume(lambda l: l <= N, L)
    i = ag.block(M)
    {chosen}
    acc = ag.zeros((1,), f32, dims="M")
    for n in ag.range(0, end, BN):
        acc = acc + ag.sum(ag.load(X[i:, n:end], (1, BN)), "N")
    S[i:] = acc
"""
ROLES = """
@ag.kernel
def k(X: f32["M N"], L: i32["M"], S: f32["M"], *, BN: int = 128):
    M, N = X.shape
    ag.assume(lambda l: l <= N, L)
    i = ag.block(M)
    {chosen}
    ring = ag.ring(3, x=f32.tile(1, BN))
    with ag.role("load", warps=1):
        for n in ag.range(0, end, BN):
            with ring.fill() as slot:
                slot.x.load(X[i:, n:])
    with ag.role("sum", warps=4):
        acc = ag.zeros((1,), f32, dims="M")
        for n in ag.range(0, end, BN):
            with ring.drain() as slot:
                x = slot.x.load()
                here = ag.index(x, "N") + n < end
                acc = acc + ag.sum(ag.where(here, x, 0.0), "N")
        S[i:] = acc
"""
ROWS = """
@ag.kernel
def k(X: f32["M N"], L: i32["M"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.assume(lambda l: l <= N, L)
    i, j = ag.block(M, ag.cdiv(N, BN))
    {chosen}
    Y[i, j * BN :] = ag.load(X[i, j * BN : end], (BN,))
"""
SUM = "np.where(np.arange(N) < n[:, None], X, 0.0).sum(1)"
KEPT = "np.where(np.arange(N) < n[:, None], X, 0.0)"
KERNELS = [
    pytest.param(SUMS, SUM, id="sums"),
    pytest.param(ROLES, SUM, id="roles"),
    pytest.param(ROWS, KEPT, id="rows"),
]


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize(("kernel", "said"), KERNELS)
def test_every_case_is_read(kernel: str, said: str, chosen: str) -> None:
    found = decided_text(kernel.format(chosen=chosen) + REFERENCE.format(said=said))
    assert found.equal, found.reason


WRONG = [
    pytest.param(chosen.replace(right, wrong), id=f"{name}: {wrong}")
    for name, chosen in CHOSEN.items()
    for right, wrong in (
        ("> 0", ">= 0"), ("< -4", "< -3"),
        ("end = 0", "end = 1"), (", N))", ", N - 1))"),
    )
    if right in chosen
]  # fmt: skip


@pytest.mark.parametrize("chosen", WRONG)
@pytest.mark.parametrize(("kernel", "said"), KERNELS)
def test_no_case_is_forgotten(kernel: str, said: str, chosen: str) -> None:
    whole = kernel.format(chosen=chosen) + REFERENCE.format(said=said)
    assert not decided_text(whole).equal


def test_the_reader_may_not_choose_otherwise() -> None:
    text = ROLES.format(chosen=CHOSEN["where"])
    begin, loop, rest = text.partition("        acc = ag.zeros")
    other = "        end = ag.where(L[i] >= 0, L[i], ag.where(L[i] < -4, 0, N))\n"
    whole = begin + other + loop + rest
    assert not decided_text(whole + REFERENCE.format(said=SUM)).equal
