"""A TMA store of a tile of which nothing is known is a store: it is not missing."""

from __future__ import annotations

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

SOURCE = """
import argus as ag
from argus import f32

@ag.kernel
def relay(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    with ag.role("write", warpgroups=1):
        for n in ag.range(0, N, 32):
            x = ag.load(X[i * 64 :, n:], (64, 32))
            ag.sync("free", threads=256)
            s.store(x)
            ag.fence_async()
            ag.arrive("full", threads=256)
    with ag.role("store", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.arrive("free", threads=256)
            ag.sync("full", threads=256)
            ag.tma_store(Y[i * 64 :, n:], s)
            ag.tma_store_wait(0)
"""


def test_what_is_stored_may_be_unknown_but_it_is_stored() -> None:
    bad = failing(placed(SOURCE))
    assert not [o for o in bad if o.verdict is Verdict.REFUTED], told(bad)


def test_a_row_of_tiles_that_is_stored_elsewhere_is_still_missing() -> None:
    bad = failing(placed(SOURCE.replace("Y[i * 64 :, n:]", "Y[i * 64 :, n + 32 :]")))
    assert "AG0306" in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)
