"""Rings: what each form expands into, and that the results are right."""

import numpy as np
import pytest
from build import gemm, operands, product, reader
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.evaluation.requests import contiguous_facts
from argus.interpret import f32_to_bf16, run
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.lower import place
from argus.requests import Request, placed_program

DRAINS = """import argus as ag
from argus import bf16, f32


@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(3, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[0:, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                {read}
        C[i * 64 :, 0:] = acc.rename("M N")
"""


def check_product(b: Builder, m: int, n: int, k: int) -> None:
    arrays = operands(m, n, k)
    b.run(arrays, seeds=(0, 1, 2))
    np.testing.assert_array_equal(arrays["C"], arrays["A"] @ arrays["B"].T)


@pytest.mark.parametrize("depth", [32, 48, 64, 160])
@pytest.mark.parametrize(
    ("target", "via"), [("sm_80", None), ("sm_90a", "cp_async"), ("sm_90a", None)]
)
@pytest.mark.parametrize("warps", [2, 4, 8])
def test_one_group_fills_and_drains(
    target: str, via: str | None, depth: int, warps: int
) -> None:
    b = product(target, warps, via=via, m=128, ahead=2)
    check_product(b, 128, 64, depth)
    program = b.placed()
    assert (program.barriers != []) == (target == "sm_90a" and via is None)


def test_cp_async_leaves_fills_in_flight() -> None:
    for ahead in (1, 2, 3):
        program = product("sm_80", stages=4, ahead=ahead).placed()
        wait, last = ops(program, o.CpAsyncWait)
        assert (wait.pending, last.pending) == (ahead - 1, 0)
        commits = ops(program, o.CpAsyncCommit)
        assert len(commits) == ahead + 1


def test_a_drain_of_cp_async_is_a_wait_and_a_sync() -> None:
    program = product("sm_80").placed()
    (loop,) = ops(program, o.For)
    assert [type(x) for x in loop.body.ops[:2]] == [o.CpAsyncWait, o.Sync]
    # That sync also orders the reads of the last iteration before the next fill.
    assert len(ops(program, o.Sync)) == 1


def test_tma_without_roles_syncs_before_a_slot_is_overwritten() -> None:
    program = product("sm_90a", stages=2).placed()
    (loop,) = ops(program, o.For)
    body = loop.body.ops
    copies = [i for i, x in enumerate(body) if isinstance(x, o.CopyAsync)]
    syncs = [i for i, x in enumerate(body) if isinstance(x, o.Sync)]
    assert len(syncs) == 1 and syncs[0] < copies[0]
    assert "overwritten next" in (body[syncs[0]].note or "")
    (full,) = program.barriers
    assert (full.role, full.arrivals, full.count) == ("ring full", 1, 2)


@pytest.mark.parametrize("sizes", [(128, 128, 64), (200, 130, 72), (128, 128, 8)])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_roles_with_tma(sizes: tuple[int, int, int], stages: int) -> None:
    m, n, k = sizes
    program = gemm(stages=stages)
    program.facts = dict.fromkeys(program.facts, 2)
    program.facts |= dict.fromkeys(["A_s0", "B_s0"], 8)
    place(program)
    arrays = operands(m, n, -(-k // 8) * 8)
    a, b_ = (f32_to_bf16(arrays[x]) for x in "AB")
    for seed in range(3):
        c = np.zeros((m, n + n % 2), np.uint16)
        run(program, {"A": a, "B": b_, "C": c}, {}, seed=seed).check()
        expected = f32_to_bf16(arrays["A"] @ arrays["B"].T)
        np.testing.assert_array_equal(c[:, :n], expected)


def test_barriers_between_roles_count_who_arrives() -> None:
    program = place(gemm(stages=3))
    full, empty = program.barriers
    assert (full.role, full.arrivals) == ("ring full", 1)
    assert (empty.role, empty.arrivals) == ("ring empty", 2)
    (arrive,) = ops(program, o.BarrierArrive)
    assert arrive.per == "warpgroup"


@pytest.mark.parametrize("rows", [64, 130, 300])
@pytest.mark.parametrize("by", ["loads", "wgmma", "stores"])
@pytest.mark.parametrize("loads", ["tma", "cp_async"])
def test_consumers_by_loads_by_products_and_by_tma_stores(
    by: str, loads: str, rows: int
) -> None:
    b = reader(by, loads)
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (rows, 64)).astype(np.float32)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays, seeds=(0, 1, 2))
    np.testing.assert_array_equal(arrays["Y"], x)
    empty = next(x for x in b.placed().barriers if x.role == "ring empty")
    assert empty.arrivals == 1 if by == "wgmma" else 4


@pytest.mark.parametrize(
    ("read", "per"),
    [
        ("acc = ag.dot(slot.a, slot.b.T, acc)", "warpgroup"),
        ("pass", "warp"),
        ("if k > 0:\n    acc = ag.dot(slot.a, slot.b.T, acc)", "warp"),
        (
            "pass\nif i > 0:\n    with ring.drain() as slot:\n"
            "        acc = ag.dot(slot.a, slot.b.T, acc)",
            "warp",
        ),
        (
            "if k > 0:\n    acc = ag.dot(slot.a, slot.b.T, acc)\n"
            "else:\n    acc = ag.dot(slot.a, slot.b.T, acc * 2.0)",
            "warpgroup",
        ),
    ],
)
def test_what_a_drain_may_leave_unread_is_released_by_warps(
    read: str, per: str
) -> None:
    """Without a product nothing holds the warps of a role together."""
    lines = read.replace("\n", "\n" + 16 * " ")
    (kernel,) = load_kernels("drains.py", DRAINS.format(read=lines)).kernels.values()
    facts = contiguous_facts(kernel, dict.fromkeys("ABC", (64, 64)))
    types = {"A": bf16, "B": bf16, "C": f32}
    program = placed_program(Request(kernel, types, {}, "sm_90a", facts))
    arrives = [x for x in walk(program.body) if isinstance(x, o.BarrierArrive)]
    assert {x.per for x in arrives} == {per}


def test_a_ring_that_nobody_drains() -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    ring = b.ring(2, x=(bf16, (64, 64)))
    with b.fill(ring, Const(0)) as slot:
        b.copy(slot["x"], b.view(x, (64, 64), 0, 0), ring=ring)
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0413"


def test_a_copy_that_not_every_fill_makes() -> None:
    b = reader("loads")
    (roles,) = [x for x in b.body.ops if isinstance(x, o.Roles)]
    (loop,) = [x for x in roles.roles[0].body.ops if isinstance(x, o.For)]
    copy = next(x for x in loop.body.ops if isinstance(x, o.CopyAsync))
    at = loop.body.ops.index(copy)
    loop.body.ops[at] = o.If(Const(1), o.Block([copy]), o.Block(), span=copy.span)
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0416"


def test_a_role_cannot_fill_and_drain() -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    ring = b.ring(2, x=(bf16, (64, 64)))
    with b.role("both", 4):
        with b.fill(ring, Const(0)) as slot:
            b.copy(slot["x"], b.view(x, (64, 64), 0, 0), ring=ring)
        b.wait(ring, Const(0))
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0417"
