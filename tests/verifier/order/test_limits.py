"""What a launch fixes and hardware counts, exceeded in a placed program: refuted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.placement import TmaPlan
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order import obligations
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing
from verifier.order.programs import program

Change = Callable[[Program], None]


def roles(made: Program) -> list[o.Role]:
    return [r for op in made.body.ops if isinstance(op, o.Roles) for r in op.roles]


def first_sync(made: Program) -> o.Sync:
    found = (x for x in walk(made.body) if isinstance(x, o.Sync) and x.barrier)
    return next(found)


def threads(made: Program) -> None:
    made.warps = 33


def resident(made: Program) -> None:
    made.min_blocks = 6


def outside(made: Program) -> None:
    roles(made)[-1].first_warp = made.warps - 4


def same_warps(made: Program) -> None:
    first, second = roles(made)
    second.first_warp = first.first_warp


def shared(made: Program) -> None:
    made.shared_bytes = made.target.shared_bytes + 8


def buffer_outside(made: Program) -> None:
    made.shared[0].offset = made.shared_bytes - 1024


def barrier_on_a_buffer(made: Program) -> None:
    made.barriers[0].offset = made.shared[0].offset


def barriers_on_each_other(made: Program) -> None:
    made.barriers[1].offset = made.barriers[0].offset


def barrier_misaligned(made: Program) -> None:
    alloc = made.barriers[-1]
    assert alloc.offset is not None
    alloc.offset += 4
    made.shared_bytes += 8


def no_arrivals(made: Program) -> None:
    made.barriers[0].arrivals = 0


def too_many_arrivals(made: Program) -> None:
    made.barriers[0].arrivals = 2**20


def barrier_16(made: Program) -> None:
    first_sync(made).barrier = 16


def barrier_below(made: Program) -> None:
    first_sync(made).barrier = -1


def cluster(made: Program) -> None:
    made.cluster = 3


def maps(made: Program, **changed: object) -> None:
    """Another tensor map for each load by TMA, which the kernel also has."""
    for op in walk(made.body):
        if isinstance(op, o.CopyAsync) and isinstance(op.plan, TmaPlan):
            found = replace(op.plan.map, **changed)  # type: ignore[arg-type]
            op.plan = replace(op.plan, map=found)
            made.tensor_maps.append(found)


def swizzle(made: Program) -> None:
    maps(made, swizzle=64)


def large_box(made: Program) -> None:
    maps(made, box=(512, 64))


def no_map(made: Program) -> None:
    made.tensor_maps.clear()


def multicast(made: Program) -> None:
    for op in walk(made.body):
        if isinstance(op, o.CopyAsync) and isinstance(op.plan, TmaPlan):
            op.plan = replace(op.plan, multicast=4)


CASES: list[tuple[str, Change, str]] = [
    ("gemm", threads, "AG0504"),
    ("gemm", resident, "AG0510"),
    ("gemm", outside, "AG0505"),
    ("gemm", same_warps, "AG0505"),
    ("gemm", shared, "AG0501"),
    ("gemm", buffer_outside, "AG0501"),
    ("gemm", barrier_on_a_buffer, "AG0501"),
    ("gemm", barriers_on_each_other, "AG0501"),
    ("gemm", barrier_misaligned, "AG0501"),
    ("gemm", no_arrivals, "AG0409"),
    ("gemm", too_many_arrivals, "AG0409"),
    ("turns", barrier_16, "AG0507"),
    ("turns", barrier_below, "AG0507"),
    ("gemm", cluster, "AG0508"),
    ("gemm", swizzle, "AG0320"),
    ("gemm", large_box, "AG0320"),
    ("gemm", no_map, "AG0320"),
    ("gemm cluster", multicast, "AG0508"),
    ("ampere", lambda made: setattr(made, "cluster", 2), "AG0508"),
]


@pytest.mark.parametrize(
    ("name", "change", "rule"), CASES, ids=[f"{n} {c.__name__}" for n, c, _ in CASES]
)
def test_beyond_a_limit(name: str, change: Change, rule: str) -> None:
    made = copy.deepcopy(program(name))
    change(made)
    found = [x for x in obligations(made) if x.verdict is Verdict.REFUTED]
    assert rule in {x.rule for x in found}
    assert all(x.counterexample is not None for x in found)


@pytest.mark.parametrize("nbytes", [2**20, -128])
def test_more_bytes_than_a_barrier_counts(nbytes: int) -> None:
    made = copy.deepcopy(program("gemm"))
    for op in walk(made.body):
        if isinstance(op, o.BarrierExpect):
            op.bytes = Const(nbytes)
    bad = failing(made)
    case = next(x.counterexample for x in bad if x.rule == "AG0405")
    assert case is not None
    assert "counts to 1048575" in case.message
