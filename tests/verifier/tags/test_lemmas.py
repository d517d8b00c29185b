"""The lemmas on orders of tiles, on small grids; closed forms of loops."""

from __future__ import annotations

import pytest

from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.verify.tags import loops
from argus.verify.tags.scope import PathScope
from argus.verify.tags.world import TagWorld
from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told


@pytest.mark.parametrize("work", range(1, 20))
@pytest.mark.parametrize("grid", range(1, 8))
def test_strided_is_a_bijection(work: int, grid: int) -> None:
    seen = [
        i + j * grid for i in range(grid) for j in range(max(0, -(-(work - i) // grid)))
    ]
    assert sorted(seen) == list(range(work))


@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize("columns", range(1, 9))
@pytest.mark.parametrize("group", [1, 2, 3, 4, 8])
def test_grouped_is_a_bijection(rows: int, columns: int, group: int) -> None:
    seen = []
    for v in range(rows * columns):
        per = columns * group
        g, inside = v // per, v % per
        height = min(rows - g * group, group)
        assert height >= 1
        seen.append((g * group + inside % height, inside // height))
    assert sorted(seen) == [(r, c) for r in range(rows) for c in range(columns)]


NESTED = """
import argus as ag
from argus import bf16, f32, i32

@ag.kernel
def k(A: bf16["M K"], T: i32["C"], C: bf16["M K"], *, BK: int = 32):
    M, K = A.shape
    ag.launch(warps=1)
    n = 0
    turn = 0
    last = 7
    for t in ag.persistent(T.shape[0]):
        e = T[t]
        if e >= 0:
            for j in ag.range(0, K, BK):
                last = n
                n += 1
        turn = 1 - turn
        x = ag.load(A[n:, turn + last :], (1, 32))
        C[n:, 0:] = x
"""


def test_closed_forms_are_what_the_loops_compute() -> None:
    """Counters with data-dependent increments, and a toggle."""
    program = placed(NESTED)
    world = TagWorld(program)
    env: loops.Env = {}
    outer = next(op for op in program.body.ops if isinstance(op, o.For))
    entered = loops.enter(world, outer, PathScope.top(world), env, "m")
    assert entered.scope.points is not None
    points = entered.scope.points
    names = {c.arg.name: c.arg.name for c in outer.scalars}
    turn = next(n for n in names if n.startswith("turn"))
    count = next(n for n in names if n.startswith("n"))
    for i in range(min(points.size, 64)):
        model = points.at(i)
        one = points.where(_only(points.size, i))
        steps = int(one.of(entered.loop.sym)[0])
        expected, toggle = 0, 0
        for j in range(steps):
            at = model["block_x"] + j * model["grid_x"]
            element = world.element("T", (_const(at),), "int")
            if int(one.of(element)[0]) >= 0:
                expected += -(-model["K"] // 32)
            toggle = 1 - toggle
        assert int(one.of(entered.inside[count])[0]) == expected
        assert int(one.of(entered.inside[turn])[0]) == toggle


def _only(size: int, i: int):
    import numpy as np

    keep = np.zeros(size, np.bool_)
    keep[i] = True
    return keep


def _const(v: int):
    from argus.ir.expr import Const

    assert evaluate(Const(v), {}) == v
    return Const(v)


SPLIT = """
import argus as ag
from argus import bf16, f32

@ag.kernel
def split(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM: int = 64, BN: int = 64,
          BK: int = 32, SPLIT: int = 4):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn, z = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN), SPLIT)
    part = ag.cdiv(K, SPLIT * BK) * BK
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(z * part, ag.min((z + 1) * part, K), BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)
    ag.atomic_add(C[bm * BM :, bn * BN :], acc)
"""


def test_split_sums_are_proved_over_all_blocks() -> None:
    bad = failing(placed(SPLIT))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("(z + 1) * part, K)", "(z + 1) * part + BK, K)", "AG0309"),
        ("ag.cdiv(K, SPLIT * BK)", "K // (SPLIT * BK)", "AG0308"),
        ("(z + 1) * part, K)", "(z + 1) * part - BK, K)", "AG0308"),
        ("bn, z = ag.block", "z, bn = ag.block", None),
    ],
)
def test_split_sums_that_overlap_or_leave_gaps(old, new, rule) -> None:
    assert old in SPLIT
    bad = failing(placed(SPLIT.replace(old, new)))
    if rule is None:
        # Tiles of N are counted by the split and the other way round.
        assert bad
        return
    refuted = [b.rule for b in bad if b.verdict is Verdict.REFUTED]
    assert rule in refuted, told(bad)
