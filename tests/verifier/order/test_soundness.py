"""Mistakes that are easily overlooked by a proof: none of them is proved."""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import binary
from argus.ir.walk import walk
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

HEAD = """import argus as ag
from argus import bf16


@ag.kernel
"""

OVERTAKEN = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """Two completions of y; the first role waits for the first one."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, BM))
    a = ag.shared(bf16, (BM, BK), dims="M K")
    x, y = ag.barriers(1), ag.barriers(1)
    with ag.role("load", warps=1):
        x[0].expect(BM * BK * 2)
        a.copy(A[i * BM :, 0:], x[0])
        y[0].wait(0)
    with ag.role("use", warps=1):
        x[0].wait(0)
        C[i * BM :, 0:] = a.load()
        for k in ag.range(0, 2):
            y[0].arrive()
            y[0].wait(k)
'''
)

GRID = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """The first tile is outside of the second role's loop."""
    M, K = A.shape
    rows = ag.cdiv(M, BM)
    ring = ag.ring(2, a=bf16.tile(BM, BK, dims="M K"))
    with ag.role("load", warps=1):
        for tile in ag.persistent(rows):
            with ring.fill() as slot:
                slot.a.load(A[tile * BM :, 0:])
    with ag.role("use", warpgroups=1):
        with ring.drain() as slot:
            C[0:, 0:] = slot.a.load()
        for tile in ag.persistent(rows):
            with ring.drain() as slot:
                C[tile * BM :, 0:] = slot.a.load()
'''
)


def test_a_copy_does_not_tell_what_its_role_does_after_it() -> None:
    """Bytes that have landed do not show that the wait behind the copy has returned."""
    bad = failing(placed(OVERTAKEN))
    assert [(b.rule, b.verdict) for b in bad] == [("AG0404", Verdict.REFUTED)], told(
        bad
    )


def test_a_loop_that_begins_one_tile_later() -> None:
    """It iterates once less where the grid has one block, and not always where it has
    two.

    Right would be to begin one grid later.
    """
    for by in (1, None):
        program = placed(GRID)
        loops = [op for op in walk(program.body) if isinstance(op, o.For)]
        loops[1].start = binary("+", loops[1].start, by or loops[1].step)
        bad = failing(program)
        assert bool(bad) == (by == 1), told(bad)
