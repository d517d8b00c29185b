"""A counterexample is replayed on the grid that it names."""

import pytest

from argus.evaluation import replay
from argus.evaluation.proving import proved
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.requests import Request
from argus.verify.verdict import Verdict

# The counters begin anew in each tile: wrong as soon as one block does two.
RESET = """import argus as ag
from argus import f32


@ag.kernel
def k(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    buf = ag.shared(f32, (64, 32), stages=2)
    full, empty = ag.barriers(2), ag.barriers(2, arrivals=4)
    with ag.role("load", warps=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            n = 0
            for k in ag.range(0, K, 32):
                empty[n % 2].wait(n // 2 - 1)
                full[n % 2].expect(64 * 32 * 4)
                buf[n % 2].copy(A[i * 64 :, k:], full[n % 2])
                n += 1
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 64)):
            n = 0
            for k in ag.range(0, K, 32):
                full[n % 2].wait(n // 2)
                C[i * 64 :, k:] = buf[n % 2].load().rename("M K")
                ag.fence_async()
                empty[n % 2].arrive(per="warp")
                n += 1
"""


def test_a_block_with_two_tiles_is_replayed_with_two_tiles() -> None:
    kernel = load_kernels("reset.py", RESET).kernels["k"]
    request = Request(kernel, dict.fromkeys("AC", DTYPES["f32"]))
    report = proved(request, fresh=True).report
    found = [o.counterexample for o in report.obligations if o.counterexample]
    assert report.verdict is Verdict.REFUTED
    assert any("grid_x" in x.sizes and x.replayed for x in found)
    assert not any(x.replayed is False for x in found)


def test_what_takes_too_long_to_run_is_not_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "SECONDS", 0.0)
    kernel = load_kernels("reset.py", RESET).kernels["k"]
    request = Request(kernel, dict.fromkeys("AC", DTYPES["f32"]))
    report = proved(request, fresh=True).report
    found = [o.counterexample for o in report.obligations if o.counterexample]
    assert report.verdict is Verdict.REFUTED
    assert all(x.replayed is None for x in found)
