"""How many fills stay in flight: exact where counters say, else none."""

import numpy as np
import pytest
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.dtypes import bf16
from argus.ir.expr import Const, Expr, Sym, binary
from argus.ir.memory import Ring
from argus.ir.program import GRID_SIZE
from argus.lower.affine import Relations


def streams(
    target: str, nested: bool, branch: str = "", counted: bool = True
) -> tuple[Builder, Ring]:
    """Tiles of X to Y through a ring of 3, two fills ahead; 2 x 4 tiles if nested."""
    b = Builder(target)
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    ring = b.ring(3, x=(bf16, (16, 64)))

    def fill(n: Expr) -> None:
        with b.fill(ring, n) as slot:
            b.copy(slot["x"], b.view(x, (16, 64), n * 16, 0), ring=ring)

    def turn(n: Expr, ahead: Expr) -> Expr:
        t = b.lds(b.wait(ring, n)["x"])
        b.store(y, t, n * 16, 0)
        b.release(ring, n)
        if not branch:
            fill(ahead)
            return ahead + 1
        then, merged = o.Block(), Sym(f"merged{len(b.block.ops)}", "let")
        with b.into(then):
            fill(ahead)
        cond = binary("==", GRID_SIZE, 1)
        scalars = [o.ScalarMerge(ahead + 1, ahead, merged)] if counted else []
        b.emit(o.If(cond, then, o.Block(), scalars=scalars, span=b.program.span))
        return merged if counted else ahead + 1

    fill(Const(0))
    fill(Const(1))
    if nested:
        with b.loop(2, scalars=[0, 2]) as outer:
            with b.loop(4, scalars=list(outer.counters)) as loop:
                n, ahead = loop.counters
                loop.carry(scalars=[n + 1, turn(n, ahead)])
            outer.carry(scalars=list(loop.after))
    else:
        with b.loop(8, scalars=[0, 2]) as loop:
            n, ahead = loop.counters
            loop.carry(scalars=[n + 1, turn(n, ahead)])
    return b, ring


def check(b: Builder) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (160, 64)).astype(np.float32)
    arrays = {"X": x, "Y": np.zeros((128, 64), np.float32)}
    b.run(arrays, seeds=(0, 1, 2))
    np.testing.assert_array_equal(arrays["Y"], x[:128])


@pytest.mark.parametrize("nested", [False, True])
def test_the_steady_state_is_exact(nested: bool) -> None:
    b, _ = streams("sm_80", nested)
    waits = [w.pending for w in ops(b.placed(), o.CpAsyncWait)]
    assert waits == [1, 0]
    check(b)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("nested", [False, True])
def test_fills_under_a_branch(target: str, nested: bool) -> None:
    """The number of fills is a scalar of its own: right, if not ahead of the drain."""
    b, _ = streams(target, nested, "branch")
    waits = [w.pending for w in ops(b.placed(), o.CpAsyncWait)]
    assert waits == ([0, 0] if target == "sm_80" else [])
    check(b)


def test_how_many_fills_there_are_cannot_be_told() -> None:
    b, _ = streams("sm_90a", False, "branch", counted=False)
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0416"


def test_tma_fills_that_nobody_drains_are_waited_for() -> None:
    b, _ = streams("sm_90a", False)
    waits = [w for w in b.placed().body.ops if isinstance(w, o.BarrierWait)]
    assert len(waits) == 2
    assert all("after the block has ended" in (w.note or "") for w in waits)
    check(b)


def test_relations_between_counters() -> None:
    b = Builder()
    with b.loop(4, scalars=[0, 1, 7, 0]) as loop:
        late, early, other, twice = loop.counters
        loop.carry(scalars=[early, early + 1, other + 2, twice + 2])
    relations = Relations()
    relations.run(b.body)
    assert relations.difference(early, late) == 1
    assert relations.difference(loop.after[1], loop.after[0]) == 1
    # These two keep their distance from each other, and from no other.
    assert relations.difference(other, twice) == 7
    assert relations.difference(other, late) is None
    assert relations.difference(early, loop.after[1]) is None
