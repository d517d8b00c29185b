"""Printed shared-memory offsets against `ir.access`, which the other readers use."""

from __future__ import annotations

import numpy as np
import placed_programs as programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pieces
from argus.codegen.addresses import register_coordinates, shared_offsets
from argus.codegen.context import (
    TID,
    Emission,
    EmissionGroup,
    Irregular,
    RegisterIteration,
)
from argus.codegen.names import Identifiers
from argus.codegen.storage import RegisterArrays
from argus.codegen.writer import Writer
from argus.ir.access import vector_shared
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Expr, Sym, evaluate, lift
from argus.ir.memory import SharedView
from argus.ir.placement import VectorPlan
from argus.layout import (
    WARP_LANES,
    Fragment,
    blocked,
    mma_accumulator,
    wgmma_accumulator,
)


def context(warps: int) -> Emission:
    program = programs.scaled_add()
    out = Writer()
    group = EmissionGroup(
        "block", warps, WARP_LANES, out.reserve(), "threadIdx.x", out.reserve()
    )
    return Emission(program, Identifiers(), RegisterArrays(), out, group)


def printed_offsets(
    cx: Emission, plan: VectorPlan, view: SharedView, env: dict[str, int]
) -> np.ndarray:
    """Offset of each (thread, access), from the expressions that would be printed."""
    layout = plan.layout
    first = np.arange(plan.accesses) * plan.width
    offsets = shared_offsets(
        cx,
        view,
        tuple(lift(e) for e in layout.thread_part(TID)),
        [part[first] for part in register_coordinates(layout)],
        "at",
    )
    iterations = np.arange(plan.accesses)
    symbols = {**env, **cx.group.tables}
    try:
        e = offsets(RegisterIteration(Sym("r", "loop"), iterations), iterations)
    except Irregular:
        each = [
            offsets(
                RegisterIteration(None, iterations[i : i + 1]), iterations[i : i + 1]
            )
            for i in iterations
        ]
        return np.stack([_table(x, symbols, layout) for x in each], axis=1)
    return np.stack(
        [_table(e, {**symbols, "r": i}, layout) for i in iterations], axis=1
    )


def _table(e: Expr, symbols: dict[str, object], layout: Fragment) -> np.ndarray:
    return np.zeros(layout.num_threads, np.int64) + evaluate(e, symbols)


@settings(max_examples=60)
@given(
    st.sampled_from([(64, 64), (64, 128), (128, 64), (32, 256)]),
    st.sampled_from([0, 32, 64, 128]),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
    st.integers(0, 2),
)
def test_blocked_accesses(
    shape: tuple[int, int], swizzle: int, width: int, columns_first: bool, stage: int
) -> None:
    order = (0, 1) if columns_first else (1, 0)
    if columns_first:
        width = 1
    layout = blocked(shape, 128, width, order)
    alloc = pieces.shared("s", bf16, shape, 4096, 3, swizzle)
    view = pieces.whole(alloc, Sym("stage", "let"))
    plan = VectorPlan(layout, width, "ld.shared")
    cx = context(4)
    found = printed_offsets(cx, plan, view, {"stage": stage})
    exact = vector_shared(plan, view, {"stage": stage})[:, :, 0]
    assert np.array_equal(found, exact)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("dtype", [bf16, f32])
@pytest.mark.parametrize(
    ("layout", "warps"),
    [
        (wgmma_accumulator(64, 96), 4),
        (wgmma_accumulator(128, 64, 2), 8),
        (mma_accumulator(64, 64, 2, 2), 4),
    ],
)
@pytest.mark.parametrize("transposed", [False, True])
def test_fragments(dtype, swizzle, layout, warps, transposed) -> None:
    shape = layout.shape[::-1] if transposed else layout.shape
    if shape[-1] * dtype.bytes % (swizzle or 1):
        pytest.skip("rows do not fill the swizzle")
    alloc = pieces.shared("s", dtype, shape, 8192, 1, swizzle)
    view = pieces.whole(alloc)
    plan = VectorPlan(layout, 1 if transposed else 2, "st.shared")
    view = view.transposed if transposed else view
    found = printed_offsets(context(warps), plan, view, {})
    assert np.array_equal(found, vector_shared(plan, view, {})[:, :, 0])


@pytest.mark.parametrize("row", [0, 8, 24, 64, 3])
@pytest.mark.parametrize("column", [0, 16, 64, 80])
@pytest.mark.parametrize("symbolic", [False, True])
def test_parts_of_a_buffer(row: int, column: int, symbolic: bool) -> None:
    """A window at any origin, known or not: where it does not split, the formula."""
    alloc = pieces.shared("s", bf16, (128, 192), swizzle=128)
    origin: tuple[Expr, ...] = (Const(row), Const(column))
    if symbolic:
        origin = (Sym("row", "let"), Sym("column", "let"))
    view = SharedView(alloc, Const(0), origin, (0, 1), (32, 64), (None, None))
    layout = blocked((32, 64), 128, 8)
    plan = VectorPlan(layout, 8, "ld.shared")
    cx = context(4)
    env = {"row": row, "column": column}
    found = printed_offsets(cx, plan, view, env)
    assert np.array_equal(found, vector_shared(plan, view, env)[:, :, 0])


def test_a_known_divisor_keeps_the_cheap_form() -> None:
    alloc = pieces.shared("s", bf16, (128, 64), swizzle=128)
    origin: tuple[Expr, ...] = (Sym("row", "let") * 64, Const(0))
    view = SharedView(alloc, Const(0), origin, (0, 1), (64, 64), (None, None))
    plan = VectorPlan(blocked((64, 64), 128, 8), 8, "ld.shared")
    cx = context(4)
    found = printed_offsets(cx, plan, view, {"row": 1})
    assert np.array_equal(found, vector_shared(plan, view, {"row": 1})[:, :, 0])
    # The swizzle is computed once per thread: no xor is left in the access.
    assert any("^" in line for line in cx.out.code().splitlines())
