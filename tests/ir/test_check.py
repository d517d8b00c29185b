"""A valid program passes; each rule, broken, is named with the operation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.check import InvalidProgramError, check
from argus.ir.dtypes import bf16, i32
from argus.ir.expr import Const, Sym
from argus.ir.memory import BarrierAlloc, BarrierRef
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.layout import blocked

HERE = Span("rows.py", 99, 1, 99, 2)


def test_valid_programs_pass(
    unplaced_program: Program, make: Callable[[], Any]
) -> None:
    check(unplaced_program)
    check(make().program)


def drop_definition(s: Any) -> None:
    del s.math[2]


def define_twice(s: Any) -> None:
    s.math.append(s.math[2])


def other_shape(s: Any) -> None:
    s.math[2].result.shape = (64, 16)


def unknown_function(s: Any) -> None:
    s.math[3].fn = "frobnicate"


def wrong_type(s: Any) -> None:
    s.math[1].result.dtype = i32


def unbound_scalar(s: Any) -> None:
    s.math[0].n = Sym("never", "let")


def scalar_of_another_role(s: Any) -> None:
    s.math[0].n = Sym("n", "let")


def no_layout(s: Any) -> None:
    s.math[2].result.layout = None


def other_layout(s: Any) -> None:
    s.sums[2].layout = blocked((16, 64), 128, 4)


def other_threads(s: Any) -> None:
    s.math[1].result.layout = blocked((16, 64), 256, 4)


def no_plan(s: Any) -> None:
    s.math[1].plan = None


def plan_for_another_layout(s: Any) -> None:
    s.math[1].plan = VectorPlan(blocked((16, 64), 128, 4), 4, "ld.shared")


def plan_of_another_kind(s: Any) -> None:
    s.math[1].plan = replace(s.math[1].plan, instruction="st.shared")


def foreign_barrier(s: Any) -> None:
    s.math[0].barrier = BarrierRef(BarrierAlloc("other", 1, 1, HERE, offset=0))


def barrier_on_a_buffer(s: Any) -> None:
    s.program.barriers[0].offset = 2048


def buffer_too_far(s: Any) -> None:
    s.program.shared_bytes = 4000


def crooked_buffer(s: Any) -> None:
    s.program.shared[0].offset = 16


def roles_overlap(s: Any) -> None:
    s.program.body.ops[0].roles[0].first_warp = 3


def roles_first(s: Any) -> None:
    s.program.body.ops.append(o.ClusterSync(span=HERE))


def unnumbered_sync(s: Any) -> None:
    s.math.append(o.Sync(threads=128, span=HERE))


def storage_of_two_types(s: Any) -> None:
    s.math[1].result.storage = 0


def carry_of_another_type(s: Any) -> None:
    s.loop.tiles[0].arg.dtype = bf16


def copy_without_barrier(s: Any) -> None:
    s.load[1].barrier = None


def gather_of_nothing(s: Any) -> None:
    view = s.load[1].src
    coords = (Sym("row", "gather"), view.coords[1])
    s.load[1].src = replace(view, coords=coords)


def branch_from_nowhere(s: Any) -> None:
    tile = s.math[2].result
    merged = o.Tile(tile.dtype, tile.shape, tile.dims, HERE, layout=tile.layout)
    inner = o.Tile(tile.dtype, tile.shape, tile.dims, HERE, layout=tile.layout)
    s.math.append(
        o.If(
            cond=Sym("m", "let"),
            then=o.Block([o.Full(result=inner, value=Const(0.0), span=HERE)]),
            other=o.Block(),
            tiles=[o.TileMerge(inner, inner, merged)],
            span=HERE,
        )
    )


BREAKAGES = {
    drop_definition: "used before it exists",
    define_twice: "defined twice",
    other_shape: "has layout",
    unknown_function: "no function frobnicate",
    wrong_type: "for a view of bf16",
    unbound_scalar: "never is used before it exists",
    scalar_of_another_role: "n is used before it exists",
    no_layout: "has no layout",
    other_layout: "differ in layout",
    other_threads: "spread over 256 threads, but 128 run it",
    no_plan: "has no plan",
    plan_for_another_layout: "the plan is for another layout",
    plan_of_another_kind: "st.shared here",
    foreign_barrier: "no barrier other",
    barrier_on_a_buffer: "overlaps rows",
    buffer_too_far: "ends at 4096 of 4000",
    crooked_buffer: "not aligned to 1024",
    roles_overlap: r"role math runs on warps \[0, 1, 2, 3\]",
    roles_first: "roles come last",
    unnumbered_sync: "named barrier None",
    storage_of_two_types: "storage 0 is shared",
    carry_of_another_type: "differ in shape or type",
    copy_without_barrier: "completes on a barrier",
    gather_of_nothing: "stands for no index tile",
    branch_from_nowhere: "is not there",
}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda f: f.__name__)
def test_a_broken_rule_is_named(
    breakage: Callable[[Any], None], make: Callable[[], Any]
) -> None:
    sample = make()
    breakage(sample)
    with pytest.raises(InvalidProgramError, match=BREAKAGES[breakage]):
        check(sample.program)


def test_the_message_shows_the_operation(make: Callable[[], Any]) -> None:
    sample = make()
    unknown_function(sample)
    with pytest.raises(InvalidProgramError) as caught:
        check(sample.program)
    assert "rows, line 13: %sum" in str(caught.value)


def test_ring_operations_do_not_outlive_placing(unplaced_program: Program) -> None:
    unplaced_program.placed = True
    with pytest.raises(InvalidProgramError):
        check(unplaced_program)
