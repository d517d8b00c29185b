"""Registers: arithmetic and rounding, reductions and scans under many layouts."""

from types import SimpleNamespace

import numpy as np
import pytest

from argus.interpret import InterpreterError, bf16_to_f32, f32_to_bf16, run
from argus.interpret.numbers import convert
from argus.ir import ops as o
from argus.ir.combine import Combination
from argus.ir.dtypes import DType, bf16, boolean, f16, f32, i8, i32
from argus.ir.expr import Const, Expr, Sym
from argus.ir.functions import FUNCTIONS
from argus.ir.placement import VectorPlan
from argus.layout import (
    Fragment,
    Mode,
    blocked,
    mma_accumulator,
    wgmma_accumulator,
)

# Rows within a warp, so that axis 1 can be reduced; some hold copies.
LAYOUTS = {
    "wgmma": wgmma_accumulator(64, 32),
    "mma": mma_accumulator(64, 32, 4, 1),
    "rows": blocked((64, 32), 128, 4),
    "a row per thread": blocked((128, 8), 128, 8),
    "copies": Fragment(
        (16, 32),
        (Mode(4, 1, 1), Mode(8, 0, 2), Mode(4)),
        (Mode(8, 1, 4), Mode(2, 0, 1)),
    ),
}


def apply(
    kit: SimpleNamespace,
    layout: Fragment,
    result: o.Tile,
    ops: list[o.AnyOp],
    x: np.ndarray,
    loaded: o.Tile,
    out_dtype: DType = f32,
) -> np.ndarray:
    """Load X as `loaded`, run `ops`, store `result`."""
    shape = result.shape
    source = kit.tensor("X", loaded.dtype, "M N")
    names = " ".join("PQ"[: len(shape)])
    target = kit.tensor("Y", out_dtype, names)
    assert result.layout is not None
    program = kit.program(
        [
            o.LoadGlobal(
                result=loaded,
                view=kit.window(source, loaded.shape, 0, 0),
                plan=VectorPlan(layout, 1, "ld.global"),
                span=kit.at(2),
            ),
            *ops,
            o.StoreGlobal(
                view=kit.window(target, shape, *[0] * len(shape)),
                src=result,
                plan=VectorPlan(result.layout, 1, "st.global"),
                span=kit.at(9),
            ),
        ],
        [source, target],
    )
    from argus.interpret.numbers import storage

    y = np.zeros(shape, storage(out_dtype))
    run(program, {"X": x, "Y": y})
    return y


REFERENCES = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "argmax": np.argmax,
    "argmin": np.argmin,
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("fn", REFERENCES)
def test_a_reduction_leaves_the_result_in_all_lanes(
    kit: SimpleNamespace, name: str, fn: str
) -> None:
    layout = LAYOUTS[name]
    x = np.random.default_rng(0).uniform(0.5, 1.5, layout.shape).astype(np.float32)
    x[:, 3] = x[:, 5]  # ties: the first counts
    loaded = kit.tile("x", f32, layout)
    dtype = i32 if fn.startswith("arg") else f32
    reduced = kit.tile("y", dtype, layout.slice(1))
    # Stored by all holders (not `unique`): every copy has to be right.
    y = apply(
        kit,
        layout,
        reduced,
        [o.Reduce(result=reduced, src=loaded, axis=1, fn=fn, span=kit.at(3))],
        x,
        loaded,
        dtype,
    )
    np.testing.assert_allclose(y, REFERENCES[fn](x, axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_scan_is_a_prefix_sum(kit: SimpleNamespace, name: str) -> None:
    layout = LAYOUTS[name]
    x = np.arange(np.prod(layout.shape), dtype=np.float32).reshape(layout.shape)
    loaded, summed = kit.tile("x", f32, layout), kit.tile("y", f32, layout)
    add = Combination.of("add", f32)
    scan = o.Scan(
        result=summed, srcs=(loaded,), axis=1, combine=add, part=0, span=kit.at(3)
    )
    y = apply(kit, layout, summed, [scan], x, loaded)
    np.testing.assert_array_equal(y, np.cumsum(x, axis=1))


def test_a_reduction_across_warps_is_a_fault(kit: SimpleNamespace) -> None:
    layout = wgmma_accumulator(64, 32)
    loaded, reduced = kit.tile("x", f32, layout), kit.tile("y", f32, layout.slice(0))
    reduce = o.Reduce(result=reduced, src=loaded, axis=0, fn="sum", span=kit.at(3))
    with pytest.raises(InterpreterError, match="leaves the warp"):
        apply(kit, layout, reduced, [reduce], np.ones((64, 32), np.float32), loaded)


def test_broadcast_and_index_follow_the_layout(kit: SimpleNamespace) -> None:
    layout = wgmma_accumulator(64, 32)
    loaded = kit.tile("x", f32, layout)
    most = kit.tile("m", f32, layout.slice(1))
    spread, result = kit.tile("s", f32, layout), kit.tile("r", f32, layout)
    row, rows = kit.tile("i", i32, layout.slice(1)), kit.tile("j", i32, layout)
    numbers = kit.tile("k", f32, layout)
    ops: list[o.AnyOp] = [
        o.Reduce(result=most, src=loaded, axis=1, fn="max", span=kit.at(3)),
        o.Broadcast(result=spread, src=most, axes=(0,), span=kit.at(4)),
        o.Index(result=row, axis=0, span=kit.at(5)),
        o.Broadcast(result=rows, src=row, axes=(0,), span=kit.at(5)),
        o.Cast(result=numbers, src=rows, span=kit.at(5)),
        o.Elementwise(
            result=result, fn="fma", args=(loaded, spread, numbers), span=kit.at(6)
        ),
    ]
    x = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    y = apply(kit, layout, result, ops, x, loaded)
    # One rounding, as a fused multiply-add has.
    exact = x.astype(np.float64)
    exact = exact * exact.max(axis=1, keepdims=True) + np.arange(64)[:, None]
    np.testing.assert_allclose(y, exact.astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", ["wgmma", "mma", "copies"])
def test_a_slice_keeps_registers(kit: SimpleNamespace, name: str) -> None:
    layout = LAYOUTS[name]
    window = layout.window(1, range(16, 32))
    assert window is not None
    loaded, part = kit.tile("x", f32, layout), kit.tile("y", f32, window[0])
    x = np.random.default_rng(0).standard_normal(layout.shape).astype(np.float32)
    cut = o.Slice(result=part, src=loaded, axis=1, start=16, span=kit.at(3))
    y = apply(kit, layout, part, [cut], x, loaded)
    np.testing.assert_array_equal(y, x[:, 16:])


def test_neighbours_in_other_threads_cannot_be_left_out_by_each_thread() -> None:
    assert LAYOUTS["copies"].window(1, range(0, 32, 2)) is None
    assert LAYOUTS["copies"].window(1, range(0, 32, 4)) is None


@pytest.mark.parametrize("name", ["wgmma", "mma", "rows"])
@pytest.mark.parametrize("start", [0, 1])
def test_every_other_element_keeps_registers(
    kit: SimpleNamespace, name: str, start: int
) -> None:
    layout = LAYOUTS[name]
    elements = range(start, layout.shape[1], 2)
    window = layout.window(1, elements)
    assert window is not None
    loaded, part = kit.tile("x", f32, layout), kit.tile("y", f32, window[0])
    x = np.random.default_rng(0).standard_normal(layout.shape).astype(np.float32)
    kept = o.StridedSlice(part, loaded, axis=1, start=start, step=2, span=kit.at(3))
    y = apply(kit, layout, part, [kept], x, loaded)
    np.testing.assert_array_equal(y, x[:, elements])


def test_bf16_arithmetic_is_f32_rounded_once(kit: SimpleNamespace) -> None:
    layout = blocked((32, 32), 128, 4)
    loaded, result = kit.tile("x", bf16, layout), kit.tile("r", bf16, layout)
    x = kit.half((32, 32), 0)
    third: Expr = Const(1 / 3)
    ops: list[o.AnyOp] = [
        o.Elementwise(result=result, fn="mul", args=(loaded, third), span=kit.at(3))
    ]
    y = apply(kit, layout, result, ops, x, loaded, bf16)
    np.testing.assert_array_equal(y, f32_to_bf16(bf16_to_f32(x) * np.float32(1 / 3)))


def test_where_takes_a_mask_and_scalars(kit: SimpleNamespace) -> None:
    layout = blocked((32, 32), 128, 4)
    loaded, mask = kit.tile("x", f32, layout), kit.tile("m", boolean, layout)
    result = kit.tile("r", f32, layout)
    limit = Sym("limit", "let", "float")
    ops: list[o.AnyOp] = [
        o.Let(sym=limit, value=Const(0.25), span=kit.at(3)),
        o.Elementwise(result=mask, fn="lt", args=(loaded, limit), span=kit.at(3)),
        o.Elementwise(
            result=result,
            fn="where",
            args=(mask, loaded, Const(float("-inf"))),
            span=kit.at(4),
        ),
    ]
    x = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    y = apply(kit, layout, result, ops, x, loaded)
    np.testing.assert_array_equal(y, np.where(x < np.float32(0.25), x, -np.inf))


# -------------------------------------------------------------------- numbers


def test_every_bf16_survives_the_round_trip() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = bf16_to_f32(bits)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(f32_to_bf16(values)[number], bits[number])
    assert (f32_to_bf16(values)[~number] == 0x7FFF).all()


def test_bf16_rounds_to_the_nearest_and_ties_to_even() -> None:
    bits = np.arange(0x3F80, 0x4080, dtype=np.uint16)
    low, high = bf16_to_f32(bits[:-1]), bf16_to_f32(bits[1:])
    middle = ((low.astype(np.float64) + high) / 2).astype(np.float32)
    even = np.where(bits[:-1] % 2 == 0, bits[:-1], bits[1:])
    np.testing.assert_array_equal(f32_to_bf16(middle), even)
    below, above = np.nextafter(middle, low), np.nextafter(middle, high)
    np.testing.assert_array_equal(f32_to_bf16(below), bits[:-1])
    np.testing.assert_array_equal(f32_to_bf16(above), bits[1:])


def test_casts_to_integers_truncate_and_saturate() -> None:
    x = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, 200.0], np.float32)
    np.testing.assert_array_equal(
        convert(x, f32, i32), [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1, 200]
    )
    np.testing.assert_array_equal(convert(x, f32, i8), [1, -1, 127, -128, 0, 127, 127])
    np.testing.assert_array_equal(
        convert(np.array([2049], np.int32), i32, f16), np.array([2048], np.float16)
    )


def test_functions_of_numbers_of_64_bits_round_none_to_32() -> None:
    """They stand for real numbers where a kernel is compared with its reference."""
    x = np.array([-4.7, -0.3, 0.1, 2.6])
    for name, function in FUNCTIONS.items():
        if not function.real or function.result == "bool":
            continue
        with np.errstate(all="ignore"):
            made = function.numpy(*[x] * function.arity)
        assert np.asarray(made).dtype == np.float64, name
