"""The printed text computes what the program says: run on the CPU, compared with numpy.

Every array a kernel gets is larger than its problem, and the rest must stay as it was.
"""

from __future__ import annotations

import emulator
import numpy as np
import placed_programs as programs
import pytest
from emulator import from_bf16, to_bf16

import pieces
from argus.codegen import emit
from argus.ir import ops as o
from argus.ir.dtypes import DType, bf16, f16, f32, i8, i32, i64, u8
from argus.ir.expr import Const, Sym, binary, cdiv
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.layout import Fragment, Mode, blocked

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]


def launch(
    program: Program, sizes: dict[str, int | float], arrays: dict[str, np.ndarray]
) -> None:
    emulator.launch(emit(program), sizes, arrays)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_vectors_with_a_tail() -> None:
    x, y = rng().normal(size=(2, 2048)).astype(np.float32)
    z = np.full(2048, 9, np.float32)
    launch(programs.scaled_add(), {"N": 1500, "alpha": -0.5}, {"X": x, "Y": y, "Z": z})
    assert np.array_equal(z[:1500], x[:1500] + y[:1500] * np.float32(-0.5))
    assert (z[1500:] == 9).all()


@pytest.mark.parametrize("dtype", [bf16, f16])
def test_softmax(dtype) -> None:
    rows, columns = 6, 200
    x = rng().normal(size=(8, 256)).astype(np.float32)
    as_stored = {
        "bf16": to_bf16,
        "f16": lambda a: a.astype(np.float16).view(np.uint16),
    }[dtype.name]
    as_f32 = {
        "bf16": from_bf16,
        "f16": lambda a: a.view(np.float16).astype(np.float32),
    }[dtype.name]
    stored, out = as_stored(x), as_stored(np.full((8, 256), 9.0, np.float32))
    launch(
        programs.softmax(dtype),
        {"M": rows, "N": columns},
        {"X": stored, "Y": out},
    )
    exact = as_f32(stored)[:rows, :columns].astype(np.float64)
    exact = np.exp(exact - exact.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    found = as_f32(out)
    tolerance = {"bf16": 2**-8, "f16": 2**-10}[dtype.name]
    assert np.allclose(found[:rows, :columns], exact, rtol=tolerance, atol=1e-6)
    assert (found[rows:] == 9).all() and (found[:, columns:] == 9).all()


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_masks_fill_and_argmax(dtype) -> None:
    rows = 130
    x = rng().integers(-8, 8, size=(256, 33)).astype(np.float32)
    stored = to_bf16(x) if dtype is bf16 else x.copy()
    out = np.full_like(stored, 0)
    best = np.full(256, -1, np.int32)
    launch(programs.masked(dtype), {"M": rows}, {"X": stored, "Y": out, "Best": best})
    seen = x.copy()
    seen[:, 7] = -2
    chosen = np.where(np.arange(33) % 2 == 0, seen, -seen)
    found = from_bf16(out) if dtype is bf16 else out
    keep = np.arange(33) != 7
    assert np.array_equal(found[:rows, keep], chosen[:rows][:, keep])
    assert (found[:, 7] == 0).all() and (found[rows:] == 0).all()
    assert np.array_equal(best[:rows], chosen[:rows].argmax(1))
    assert (best[rows:] == -1).all()


def test_gather_and_atomic_add() -> None:
    x = rng().integers(-9, 9, size=(20, 64)).astype(np.float32)
    rows = rng().integers(0, 20, size=16).astype(np.int32)
    rows[3] = -1  # no such row: reads as zero
    rows[5] = 20
    y = np.ones(16, np.float32)
    sizes = {"R": 20, "N": 60, "M": 13}
    launch(programs.gather(), sizes, {"X": x, "Rows": rows, "Y": y})
    valid = (rows >= 0) & (rows < 20)
    exact = 1 + np.where(valid, x[np.clip(rows, 0, 19), :60].sum(1), 0)
    exact[13:] = 1
    assert np.array_equal(y, exact)


@pytest.mark.parametrize("dtype", [f32, bf16])
def test_prefix_sums(dtype) -> None:
    x = rng().integers(-2, 3, size=(8, 256)).astype(np.float32)
    stored = to_bf16(x) if dtype is bf16 else x
    y = np.zeros_like(stored)
    launch(programs.scan(dtype), {"M": 7, "N": 252}, {"X": stored, "Y": y})
    found = from_bf16(y) if dtype is bf16 else y
    assert np.array_equal(found[:7, :252], x[:7, :252].cumsum(1))
    assert (found[7:] == 0).all()


def test_carried_values_and_branches() -> None:
    x = rng().integers(-9, 9, size=64).astype(np.int32)
    source = emit(programs.control())
    found = {steps: np.full(64, 77, np.int32) for steps in (0, 1, 2, 7, 12)}
    emulator.run_all(
        [
            emulator.bound(source, {"N": 60, "steps": steps}, {"X": x, "Y": y})
            for steps, y in found.items()
        ]
    )
    for steps, y in found.items():
        a, b, i, j = x.copy(), np.ones_like(x), 0, 5
        for _ in range(steps):
            a, b = b, a + b
            i, j = j, i + 1
        merged, extra = (a * 2, i - j) if i > j else (b, (j - i) % 4)
        if steps == 0:
            # Elements outside the tensor read as 0 and are not stored.
            merged = b
        assert np.array_equal(y[:60], (merged + extra)[:60]), steps
        assert (y[60:] == 77).all(), steps


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_transpose_through_swizzled_shared_memory(dtype) -> None:
    kind = np.uint16 if dtype is bf16 else np.float32
    x = rng().integers(0, 60000, size=(64, 128)).astype(kind)
    y = np.zeros((128, 64), kind)
    launch(programs.transpose(dtype), {}, {"X": x, "Y": y})
    assert np.array_equal(y, x.T)


def test_mma_with_cp_async_and_ldmatrix() -> None:
    a, b = (rng().integers(-3, 4, size=(64, 64)).astype(np.float32) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    launch(
        programs.mma(),
        {"M": 60, "N": 48, "K": 56},
        {"A": to_bf16(a), "B": to_bf16(b), "C": c},
    )
    exact = np.zeros_like(c)
    exact[:60, :48] = a[:60, :56] @ b[:56, :48]
    assert np.array_equal(c, exact)


WIDTHS = [(i8, 1), (i8, 2), (i8, 16), (u8, 4), (u8, 8), (i32, 4), (i64, 1), (i64, 2)]


def test_integers() -> None:
    """Vectors of each type, by way of shared memory, with an operation on them."""
    launches: list[emulator.Launch] = []
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for dtype, width in WIDTHS:
        kind = np.dtype({"i8": "i1", "u8": "u1", "i32": "i4", "i64": "i8"}[dtype.name])
        info = np.iinfo(kind)
        given = rng().integers(info.min, info.max, size=4096, dtype=kind, endpoint=True)
        found = np.zeros(4096, kind)
        source = emit(integers(dtype, width))
        launches.append(emulator.bound(source, {"N": 3072}, {"X": given, "Y": found}))
        pairs.append((given, found))
    emulator.run_all(launches)
    for (dtype, width), (given, found) in zip(WIDTHS, pairs, strict=True):
        exact = np.maximum(given, given.dtype.type(5 if dtype is u8 else -5))
        assert np.array_equal(found[:3072], exact[:3072]), (dtype, width)
        assert (found[3072:] == 0).all(), (dtype, width)


def integers(dtype: DType, width: int) -> Program:
    """The larger of each element and a constant."""
    x, y = (pieces.tensor(n, dtype, "N") for n in "XY")
    b = programs.Build("integers")
    layout = blocked((2048,), 128, width)
    view = pieces.window(x, (2048,), programs.BLOCK * 2048)
    t = b.load("t", view, layout, width)
    buffer = pieces.shared("buffer", dtype, (2048,))
    plan = VectorPlan(layout, width, "st.shared")
    whole = pieces.whole(buffer)
    b.add(o.StoreShared(view=whole, src=t, plan=plan, span=b.here()))
    back = pieces.tile("back", dtype, layout, "N")
    plan = VectorPlan(layout, width, "ld.shared")
    b.add(o.LoadShared(result=back, view=whole, plan=plan, span=b.here()))
    more = b.apply("more", "maximum", back, Const(-5 if dtype is not u8 else 5))
    view = pieces.window(y, (2048,), programs.BLOCK * 2048)
    b.store(view, more, width)
    return b.program([x, y], ["Y"], cdiv(Sym("N", "dim"), 2048), 2048 * dtype.bytes)


def test_scalars_that_become_64_bit() -> None:
    """A carried and a merged scalar whose wide value appears only later."""
    x, y = pieces.tensor("X", i64, "N"), pieces.tensor("Y", i64, "N")
    b = programs.Build("wide", warps=1)
    big, out, merged = Sym("big", "let"), Sym("out", "let"), Sym("merged", "let")
    carried = Sym("carried", "let")
    inner = o.LoadScalar(sym=big, tensor=x, coords=(Const(1),), span=b.here())
    b.add(
        o.For(
            var=Sym("i", "loop"),
            start=Const(0),
            stop=Const(2),
            step=Const(1),
            body=o.Block([inner]),
            scalars=[o.ScalarCarry(Const(1), carried, carried + big, out)],
            span=b.here(),
        )
    )
    b.add(
        o.If(
            cond=binary(">", out, 0),
            then=o.Block([]),
            other=o.Block([]),
            scalars=[o.ScalarMerge(Const(3), out, merged)],
            span=b.here(),
        )
    )
    t = b.full("t", i64, blocked((32,), 32), 0)
    t = b.apply("t", "add", t, merged)
    b.store(pieces.window(y, (32,), Const(0)), t, 1)
    given = np.array([0, -(1 << 40)] + [0] * 30, np.int64)
    found = np.zeros(32, np.int64)
    launch(b.program([x, y], ["Y"], Const(1)), {"N": 32}, {"X": given, "Y": found})
    assert (found == 1 - (1 << 41)).all()


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_registers_move_within_a_thread(dtype) -> None:
    """Convert and Broadcast with maps that are no layout of the loop variable."""
    x, y = pieces.tensor("X", dtype, "8 64"), pieces.tensor("Y", dtype, "8 64")
    b = programs.Build("moves", warps=1)
    threads = (Mode(32, 1, 2),)
    rows_last = Fragment((8, 64), threads, (Mode(2, 1, 1), Mode(8, 0, 1)))
    rows_first = Fragment((8, 64), threads, (Mode(8, 0, 1), Mode(2, 1, 1)))
    view = pieces.window(x, (8, 64), Const(0), Const(0))
    t = b.load("t", view, rows_last, 2)
    other = pieces.tile("other", dtype, rows_first, "8 64")
    b.add(o.Convert(result=other, src=t, span=b.here()))
    twice = b.apply("twice", "add", other, other)
    total = b.reduce("total", "max", twice, 0)
    spread = b.broadcast("spread", total, twice, (1,))
    difference = b.apply("difference", "sub", spread, twice)
    b.store(pieces.window(y, (8, 64), Const(0), Const(0)), difference, 1)
    given = rng().integers(-20, 20, size=(8, 64)).astype(np.float32)
    stored = to_bf16(given) if dtype is bf16 else given
    found = np.zeros_like(stored)
    launch(b.program([x, y], ["Y"], Const(1)), {}, {"X": stored, "Y": found})
    found = from_bf16(found) if dtype is bf16 else found
    assert np.array_equal(found, 2 * given.max(0) - 2 * given)


def test_an_author_may_use_the_names_of_temporaries() -> None:
    """A tile called like a temporary of the printer is another variable."""
    x, y = pieces.tensor("X", f32, "8 64"), pieces.tensor("Y", f32, "8 64")
    b = programs.Build("names", warps=1)
    layout = blocked((8, 64), 32, 4)
    view = pieces.window(x, (8, 64), Const(0), Const(0))
    t = b.load("i0", view, layout, 4)
    for name in ("v", "v0", "v1", "i", "rr", "r", "tid", "lane", "smem"):
        t = b.apply(name, "add", t, Const(1.0))
        top = b.reduce("v0", "max", t, 1)
        where = b.reduce("arg_index", "argmax", t, 1, dtype=i32)
        index = b.cast("arg_at", where, f32)
        for part in (top, index):
            t = b.apply("at", "add", t, b.broadcast("best", part, t, (0,)))
        out = pieces.tile("scan_sum", f32, t.layout, "8 64")
        b.add(pieces.prefix_sum(out, t, b.here()))
        t = b.apply("i1", "minimum", out, Const(7.0))
    b.store(pieces.window(y, (8, 64), Const(0), Const(0)), t, 4)
    given = rng().integers(-9, 9, size=(8, 64)).astype(np.float32)
    found = np.zeros_like(given)
    launch(b.program([x, y], ["Y"], Const(1)), {}, {"X": given, "Y": found})
    exact = given
    for _ in range(9):
        exact = exact + 1
        top, where = exact.max(1), exact.argmax(1)
        exact = np.minimum((exact + top[:, None] + where[:, None]).cumsum(1), 7)
    assert np.array_equal(found, exact)
