"""One mistake of placing each, made in a placed program: refuted, rule and line.

What an author cannot write, since placing derives it: waits, fences, syncs, counts and
phases of rings, clusters, named barriers, matrix products.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order.rules import CLAIMS
from argus.verify.verdict import Verdict
from verifier import mutate_order as m
from verifier.order.check_order import failing, told
from verifier.order.programs import line_of, program
from verifier.order.test_seeded import SEEDS


@dataclass(frozen=True)
class Mistake:
    """The ``number``-th place of a kind of change; ``line``: how its line begins."""

    program: str
    change: m.Sites
    number: int
    rule: str
    line: str


MISTAKES = (
    # TMA stores of what threads wrote
    Mistake("gemm", m.delete_fence, 0, "AG0408", "ag.tma_store"),
    Mistake("gemm", m.delete_sync, 0, "AG0421", "out[c % 2].store"),
    Mistake("gemm", m.delete_sync, 1, "AG0401", "ag.tma_store"),
    Mistake("gemm", m.delete_copy_wait, 0, "AG0421", "ag.tma_store"),
    Mistake("gemm", m.delete_copy_wait, 1, "AG0421", "out[c % 2].store"),
    Mistake("gemm", m.delete_copy_commit, 0, "AG0421", "out[c % 2].store"),
    Mistake("gemm", m.more_pending, 2, "AG0421", "out[c % 2].store"),
    # products in flight
    Mistake("step 5", m.delete_wgmma_wait, 0, "AG0407", "C[bm * BM"),
    Mistake("step 5", m.delete_wgmma_wait, 1, "AG0406", "slot.release()"),
    Mistake("gemm", m.delete_wgmma_commit, 0, "AG0406", "slot.release()"),
    Mistake("gemm", m.early_arrive, 0, "AG0406", "slot.release()"),
    Mistake("attention", m.delete_wgmma_wait, 0, "AG0407", ""),
    Mistake("step 4", m.delete_wgmma_wait, 0, "AG0406", "with ring.drain()"),
    # rings, tile after tile
    Mistake("step 5", m.counter_stands, 0, "AG0403", "slot = ring.wait()"),
    Mistake("step 5", m.counter_starts, 0, "AG0403", "with ring.fill()"),
    Mistake("step 5", m.one_iteration_less, 0, "AG0403", "slot = ring.wait()"),
    Mistake("step 5", m.one_iteration_more, 1, "AG0403", "with ring.fill()"),
    Mistake("step 5", m.wait_previous, 0, "AG0404", "with ring.fill()"),
    Mistake("step 5", m.other_stage, 0, "AG0401", "slot.a.load"),
    Mistake("grouped", m.delete_arrive, 0, "AG0403", "with ring.fill()"),
    Mistake("grouped", m.fewer_bytes, 0, "AG0405", "with ring.fill()"),
    # clusters
    Mistake("gemm cluster", m.delete_cluster_sync, 1, "AG0410", "slot.release()"),
    Mistake("gemm cluster", m.no_multicast, 0, "AG0405", "with ring.fill()"),
    Mistake("gemm cluster", m.own_block_only, 0, "AG0403", "with ring.fill()"),
    Mistake("gemm cluster", m.per_role, 0, "AG0409", ""),
    Mistake("step 6", m.fewer_arrivals, 0, "AG0409", "slot.release()"),
    # named barriers, roles in turn
    Mistake("turns", m.sync_count, 0, "AG0420", ""),
    Mistake("turns", m.sync_odd, 0, "AG0420", ""),
    Mistake("turns", m.delete_sync, 1, "AG0403", "turns.wait(w)"),
    # no roles: groups of cp.async
    Mistake("ampere", m.delete_copy_wait, 0, "AG0421", "slot.b.load"),
    Mistake("ampere", m.delete_copy_wait, 1, "AG0401", "acc = ag.dot"),
    Mistake("ampere", m.delete_copy_commit, 2, "AG0421", "slot.a.load"),
    Mistake("ampere", m.delete_sync, 0, "AG0401", "slot.a.load"),
    Mistake("step 2", m.more_pending, 0, "AG0401", "acc = ag.dot"),
    # sums across warps
    Mistake("softmax", m.delete_sync, 0, "AG0401", ""),
    Mistake("layernorm", m.delete_sync, 1, "AG0401", ""),
)


def _id(it: Mistake) -> str:
    return f"{it.program}: {it.change.__name__} {it.number}"


@pytest.mark.parametrize("it", MISTAKES, ids=_id)
def test_refuted(it: Mistake) -> None:
    mutant, _ = m.at(program(it.program), it.change, it.number)
    check(mutant, it.rule, it.line)


def check(mutant: Program, rule: str, line: str) -> None:
    bad = failing(mutant)
    places = {
        (o.rule, line_of(o.span.file, o.span.line))
        for o in bad
        if o.verdict is Verdict.REFUTED
    }
    assert any(r == rule and at.startswith(line) for r, at in places), told(bad)


def _changed(name: str, change: Callable[[o.AnyOp], None]) -> Program:
    made = copy.deepcopy(program(name))
    for op in walk(made.body):
        change(op)
    return made


def test_warps_that_are_no_warpgroup() -> None:
    def shift(op: o.AnyOp) -> None:
        if isinstance(op, o.Roles):
            for role in op.roles:
                assert role.first_warp is not None
                role.first_warp = 10 if role.name == "load" else 1

    made = _changed("step 4", shift)
    check(made, "AG0419", "acc = ag.dot")


def test_a_result_is_read_that_no_wait_names() -> None:
    def unnamed(op: o.AnyOp) -> None:
        if isinstance(op, o.WgmmaWait):
            op.tiles = ()

    check(_changed("step 4", unnamed), "AG0407", "C[bm * BM")


def test_a_fill_of_another_round_is_read() -> None:
    """All waits of the consumer are for the completion before the right one."""

    def late(op: o.AnyOp) -> None:
        if isinstance(op, o.BarrierWait) and "full" in op.barrier.alloc.name:
            op.n = op.n - 1

    check(_changed("step 4", late), "AG0402", "acc = ag.dot")


def test_every_rule_is_refuted_somewhere() -> None:
    """AG0419 above, AG0425 in `test_register_budgets.py`."""
    rules = {x.rule for x in (*SEEDS, *MISTAKES)} | {"AG0419", "AG0425"}
    assert rules == set(CLAIMS)
