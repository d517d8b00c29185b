"""Global memory and roles: masks, gathers, atomics, vectors, syncs, arguments."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from argus.interpret import ArgumentError, InterpreterError, run
from argus.ir import ops as o
from argus.ir.dtypes import boolean, f32, i32
from argus.ir.expr import Const, Sym, axis, binary
from argus.ir.memory import GatheredAxis, GlobalView, Limit
from argus.ir.placement import VectorPlan
from argus.ir.program import (
    BLOCK_INDEX,
    LaunchRequirement,
    PointerAlignment,
    Program,
    ScalarParam,
)
from argus.layout import blocked


def copied(kit: SimpleNamespace, width: int = 4, shift: int = 0) -> Program:
    """Y = X, (16, 32) for each block, elements outside are -1."""
    x, y = kit.tensor("X", f32, "M N"), kit.tensor("Y", f32, "M N")
    layout = blocked((16, 32), 128, 4)
    value = kit.tile("x", f32, layout)
    row = BLOCK_INDEX * 16
    return kit.program(
        [
            o.LoadGlobal(
                result=value,
                view=kit.window(x, (16, 32), row, shift),
                fill=Const(-1),
                plan=VectorPlan(layout, width, "ld.global"),
                span=kit.at(2),
            ),
            o.StoreGlobal(
                view=kit.window(y, (16, 32), row, 0),
                src=value,
                plan=VectorPlan(layout, width, "st.global"),
                span=kit.at(3),
            ),
        ],
        [x, y],
        grid=(Sym("M", "dim") + 15) // 16,
    )


def arrays(m: int, n: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return {"X": x, "Y": np.full((m, n), np.nan, np.float32)}


def test_elements_outside_are_filled_and_not_stored(kit: SimpleNamespace) -> None:
    data = arrays(40, 32)
    result = run(copied(kit), data)
    assert result.grid == 3
    np.testing.assert_array_equal(data["X"], data["Y"])


def test_only_the_wanted_blocks_run(kit: SimpleNamespace) -> None:
    data = arrays(40, 32)
    result = run(copied(kit), data, blocks=[1])
    assert result.blocks == (1,)
    np.testing.assert_array_equal(data["Y"][16:32], data["X"][16:32])
    assert np.isnan(data["Y"][:16]).all() and np.isnan(data["Y"][32:]).all()


def test_a_shifted_window_reads_the_fill(kit: SimpleNamespace) -> None:
    data = arrays(16, 32)
    run(copied(kit, width=1, shift=3), data)
    expected = np.pad(data["X"][:, 3:], ((0, 0), (0, 3)), constant_values=-1)
    np.testing.assert_array_equal(data["Y"], expected)


def test_a_vector_across_the_edge_is_a_fault(kit: SimpleNamespace) -> None:
    with pytest.raises(InterpreterError, match="only a part of a vector") as caught:
        run(copied(kit), arrays(16, 30))
    assert caught.value.faults[0].kind == "vector"
    assert caught.value.faults[0].thread == 7


def test_a_vector_is_aligned(kit: SimpleNamespace) -> None:
    with pytest.raises(InterpreterError, match="a vector of 16 bytes") as caught:
        run(copied(kit, shift=2), arrays(16, 34))
    assert caught.value.faults[0].kind == "alignment"


def test_pointers_are_no_more_aligned_than_promised(kit: SimpleNamespace) -> None:
    program = copied(kit)
    program.alignments = [PointerAlignment("X", 8)]
    with pytest.raises(InterpreterError, match="a vector of 16 bytes"):
        run(program, arrays(16, 32))


def test_a_mask_takes_elements_out_one_by_one(kit: SimpleNamespace) -> None:
    program = copied(kit)
    layout = blocked((16, 32), 128, 4)
    column, mask = kit.tile("c", i32, layout), kit.tile("m", boolean, layout)
    program.body.ops[:0] = [
        o.Index(result=column, axis=1, span=kit.at(1)),
        o.Elementwise(result=mask, fn="lt", args=(column, Const(10)), span=kit.at(1)),
    ]
    program.body.ops[-1].mask = mask
    data = arrays(16, 32)
    run(program, data)
    np.testing.assert_array_equal(data["Y"][:, :10], data["X"][:, :10])
    assert np.isnan(data["Y"][:, 10:]).all()


def test_limits_and_gathers_decide_what_exists(kit: SimpleNamespace) -> None:
    x, y = kit.tensor("X", f32, "M N"), kit.tensor("Y", f32, "P N")
    rows = kit.tensor("R", i32, "P")
    layout = blocked((16, 32), 128, 4)
    index = kit.tile("r", i32, layout.slice(1))
    value = kit.tile("x", f32, layout)
    symbol = Sym("row", "gather")
    view = GlobalView(
        x,
        (16, 32),
        ("P", "N"),
        (symbol, axis(1)),
        (GatheredAxis(symbol, index, 0),),
        (Limit(axis(0), Const(12)),),
    )
    program = kit.program(
        [
            o.LoadGlobal(
                result=index,
                view=kit.window(rows, (16,), 0),
                plan=VectorPlan(layout.slice(1), 1, "ld.global"),
                span=kit.at(2),
            ),
            o.LoadGlobal(
                result=value,
                view=view,
                plan=VectorPlan(layout, 4, "ld.global"),
                span=kit.at(3),
            ),
            o.StoreGlobal(
                view=kit.window(y, (16, 32), 0, 0),
                src=value,
                plan=VectorPlan(layout, 4, "st.global"),
                span=kit.at(4),
            ),
        ],
        [x, rows, y],
    )
    data = np.random.default_rng(0).standard_normal((9, 32)).astype(np.float32)
    chosen = np.array([3, 1, 4, 1, 5, 8, 2, 6, -1, 3, 5, 100, 0, 0, 0, 0], np.int32)
    out = np.full((16, 32), np.nan, np.float32)
    run(program, {"X": data, "R": chosen, "Y": out})
    expected = np.zeros((16, 32), np.float32)
    for p, row in enumerate(chosen[:12]):
        if 0 <= row < 9:
            expected[p] = data[row]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("unique", [True, False])
def test_atomics_of_copies_count_twice_unless_unique(
    kit: SimpleNamespace, unique: bool
) -> None:
    total = kit.tensor("S", f32, "N")
    layout = blocked((32,), 128)
    one = kit.tile("one", f32, layout)
    program = kit.program(
        [
            o.Full(result=one, value=Const(1.0), span=kit.at(2)),
            o.StoreGlobal(
                view=kit.window(total, (32,), 0),
                src=one,
                atomic="add",
                plan=VectorPlan(layout, 1, "red.global", unique=unique),
                span=kit.at(3),
            ),
        ],
        [total],
        grid=3,
    )
    sums = np.zeros(32, np.float32)
    run(program, {"S": sums})
    assert (sums == (3 if unique else 12)).all()


def test_two_values_for_one_element_are_a_fault(kit: SimpleNamespace) -> None:
    program = copied(kit)
    store = program.body.ops[-1]
    store.view = replace(store.view, coords=(Const(0), store.view.coords[1]))
    with pytest.raises(InterpreterError, match="same element of Y"):
        run(program, arrays(16, 32))


def scalars(kit: SimpleNamespace) -> Program:
    """Y[i] = scale * T[block] summed over a loop with a branch."""
    t, y = kit.tensor("T", i32, "B"), kit.tensor("Y", f32, "B")
    scale = Sym("scale", "param", "float")
    count, i = Sym("count", "let"), Sym("i", "loop")
    total, total_in = Sym("total", "let"), Sym("total_in", "let")
    step = Sym("step", "let")
    layout = blocked((1,), 128)
    result = kit.tile("y", f32, layout)
    program = kit.program(
        [
            o.LoadScalar(sym=count, tensor=t, coords=(BLOCK_INDEX,), span=kit.at(2)),
            o.For(
                var=i,
                start=Const(0),
                stop=count,
                step=Const(1),
                span=kit.at(3),
                scalars=[o.ScalarCarry(Const(0), total_in, total_in + step, total)],
                body=o.Block(
                    [
                        o.If(
                            cond=(i % 2),
                            then=o.Block(),
                            other=o.Block(),
                            scalars=[o.ScalarMerge(i, Const(0), step)],
                            span=kit.at(4),
                        )
                    ]
                ),
            ),
            o.Full(result=result, value=scale * total, span=kit.at(6)),
            o.StoreGlobal(
                view=kit.window(y, (1,), BLOCK_INDEX),
                src=result,
                plan=VectorPlan(layout, 1, "st.global", unique=True),
                span=kit.at(7),
            ),
        ],
        [t, y],
        grid=Sym("B", "dim"),
    )
    program.params.append(ScalarParam("scale", "f32", scale))
    return program


def test_scalars_flow_through_loops_and_branches(kit: SimpleNamespace) -> None:
    counts = np.array([0, 1, 2, 7], np.int32)
    y = np.zeros(4, np.float32)
    run(scalars(kit), {"T": counts, "Y": y}, {"scale": 0.5})
    expected = [0.5 * sum(i for i in range(c) if i % 2) for c in counts]
    np.testing.assert_array_equal(y, expected)


def test_a_scalar_load_outside_is_a_fault(kit: SimpleNamespace) -> None:
    program = scalars(kit)
    program.grid = Const(5)
    data = {"T": np.zeros(4, np.int32), "Y": np.zeros(4, np.float32)}
    with pytest.raises(InterpreterError, match="of a tensor") as caught:
        run(program, data, {"scale": 1.0})
    assert caught.value.faults[0].kind == "bounds"
    assert caught.value.faults[0].block == 4


# ----------------------------------------------------------- named barriers


def handed_over(kit: SimpleNamespace, *, sync: bool = True) -> Program:
    """Role "a" writes a buffer, role "b" reads it after a named barrier."""
    y = kit.tensor("Y", f32, "N")
    buffer = kit.shared("buffer", f32, (128,))
    layout = blocked((128,), 128)
    ours, theirs = kit.tile("x", f32, layout), kit.tile("y", f32, layout)
    write: list[o.AnyOp] = [
        o.Full(result=ours, value=Const(7.0), span=kit.at(3)),
        o.StoreShared(
            view=kit.whole(buffer),
            src=ours,
            plan=VectorPlan(layout, 1, "st.shared"),
            span=kit.at(4),
        ),
    ]
    read: list[o.AnyOp] = [
        o.LoadShared(
            result=theirs,
            view=kit.whole(buffer),
            plan=VectorPlan(layout, 1, "ld.shared"),
            span=kit.at(8),
        ),
        o.StoreGlobal(
            view=kit.window(y, (128,), 0),
            src=theirs,
            plan=VectorPlan(layout, 1, "st.global"),
            span=kit.at(9),
        ),
    ]
    if sync:
        write.append(o.Sync(threads=256, barrier=1, arrive_only=True, span=kit.at(5)))
        read.insert(0, o.Sync(threads=256, barrier=1, span=kit.at(7)))
    roles = [
        o.Role("a", 4, None, o.Block(write), kit.at(2), 0),
        o.Role("b", 4, None, o.Block(read), kit.at(6), 4),
    ]
    return kit.program(
        [o.Roles(roles=roles, span=kit.at(2))], [y], buffers=[buffer], warps=8
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_named_barrier_orders_two_roles(kit: SimpleNamespace, seed: int) -> None:
    y = np.zeros(128, np.float32)
    run(handed_over(kit), {"Y": y}, seed=seed)
    assert (y == 7).all()


@pytest.mark.parametrize("seed", range(4))
def test_without_it_every_interleaving_shows_the_race(
    kit: SimpleNamespace, seed: int
) -> None:
    with pytest.raises(InterpreterError) as caught:
        run(handed_over(kit, sync=False), {"Y": np.zeros(128, np.float32)}, seed=seed)
    assert caught.value.faults[0].kind in ("unordered", "uninitialised")


def test_a_barrier_that_nobody_completes_is_a_deadlock(kit: SimpleNamespace) -> None:
    program = handed_over(kit)
    program.body.ops[0].roles[0].body.ops.pop()
    with pytest.raises(InterpreterError, match="128 of 256 threads have arrived"):
        run(program, {"Y": np.zeros(128, np.float32)})


# ---------------------------------------------------------------- arguments


def test_arguments_are_checked(kit: SimpleNamespace) -> None:
    program = copied(kit)
    data = arrays(16, 32)
    with pytest.raises(ArgumentError, match="Y is missing"):
        run(program, {"X": data["X"]})
    with pytest.raises(ArgumentError, match="float64, not float32"):
        run(program, {**data, "X": data["X"].astype(np.float64)})
    with pytest.raises(ArgumentError, match="axis 0 of Y is 8, not 16"):
        run(program, {**data, "Y": np.zeros((8, 32), np.float32)})
    with pytest.raises(ArgumentError, match="stride of axis 1 of X is 16, not 1"):
        run(program, {**data, "X": np.zeros((32, 16), np.float32).T})
    with pytest.raises(ArgumentError, match="blocks"):
        run(program, data, blocks=[7])
    program.requirements = [
        LaunchRequirement(binary("==", Sym("N", "dim") % 64, 0), "of it", kit.at(1))
    ]
    with pytest.raises(ArgumentError, match="N = 32; required because of it"):
        run(program, data)


def test_strided_arrays_are_read_where_they_are(kit: SimpleNamespace) -> None:
    wide = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    y = np.zeros((16, 32), np.float32)
    run(copied(kit), {"X": wide[:, 32:], "Y": y})
    np.testing.assert_array_equal(y, wide[:, 32:])
