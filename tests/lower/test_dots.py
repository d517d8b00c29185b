"""Which matrix instruction a dot becomes, and that it computes the product."""

import numpy as np
import pytest
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f16, i32
from argus.ir.memory import SharedView
from argus.ir.placement import MmaPlan, WgmmaPlan


def whole_product(
    m: int,
    n: int,
    k: int,
    *,
    target: str = "sm_90a",
    warps: int = 4,
    a_registers: bool = False,
    b_registers: bool = False,
    b_rows: str = "K",
    padded: bool = False,
) -> Builder:
    """C = A B with operands brought to shared memory by registers.

    ``b_rows``: "K", B is stored (K, N), or "N", it is stored transposed. ``padded``:
    the operands are parts of larger buffers.
    """
    b = Builder(target, warps)
    ta, tb = b.tensor("A", "M K", bf16, 8), b.tensor("B", "P Q", bf16, 8)
    tc = b.tensor("C", "M N", fact=8)

    def staged(tile: o.Tile) -> SharedView:
        rows, columns = tile.shape
        if not padded:
            where = b.part(b.shared((rows, columns)))
        else:
            buffer = b.shared((rows + 64, columns + 64))
            where = b.part(buffer, 0, (64, 64), (rows, columns))
        b.sts(where, tile)
        return where

    left = b.load(ta, (m, k), 0, 0)
    right = b.load(tb, (k, n) if b_rows == "K" else (n, k), 0, 0)
    a = left if a_registers else staged(left)
    if b_registers:
        assert b_rows == "K"
        d = b.dot(a, right)
    else:
        view = staged(right)
        d = b.dot(a, view if b_rows == "K" else view.transposed)
    b.store(tc, d, 0, 0)
    return b


def check(b: Builder, m: int, n: int, k: int, b_rows: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (m, k)).astype(np.float32)
    y = rng.integers(-3, 4, (k, n)).astype(np.float32)
    arrays = {
        "A": x,
        "B": y if b_rows == "K" else np.ascontiguousarray(y.T),
        "C": np.zeros((m, n), np.float32),
    }
    b.run(arrays)
    np.testing.assert_array_equal(arrays["C"], x @ y)


def plan(b: Builder) -> WgmmaPlan | MmaPlan:
    (dot,) = ops(b.placed(), o.Dot)
    assert dot.plan is not None
    return dot.plan


@pytest.mark.parametrize("b_rows", ["K", "N"])
@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "k", "warps"),
    [(64, 64, 64, 4), (128, 32, 16, 4), (128, 128, 48, 8), (256, 64, 128, 8)],
)
def test_wgmma(
    m: int, n: int, k: int, warps: int, b_rows: str, a_registers: bool, padded: bool
) -> None:
    b = whole_product(
        m, n, k, warps=warps, a_registers=a_registers, b_rows=b_rows, padded=padded
    )
    check(b, m, n, k, b_rows)
    found = plan(b)
    assert isinstance(found, WgmmaPlan)
    assert found.b.mn_major == (b_rows == "K")
    assert (found.a is None) == a_registers
    assert found.m_atoms == m // (16 * warps)


@pytest.mark.parametrize(
    ("n", "b_rows", "inst_n"),
    [
        (8, "N", 8), (24, "N", 24), (256, "N", 256), (384, "N", 192),
        (320, "N", 160), (320, "K", 64), (192, "K", 192), (96, "K", 96),
    ],
)  # fmt: skip
def test_columns_of_one_instruction(n: int, b_rows: str, inst_n: int) -> None:
    b = whole_product(64, n, 32, b_rows=b_rows)
    check(b, 64, n, 32, b_rows)
    found = plan(b)
    assert isinstance(found, WgmmaPlan)
    assert (found.inst_n, found.n_atoms) == (inst_n, n // inst_n)


@pytest.mark.parametrize(
    ("options", "m"),
    [
        ({"target": "sm_80"}, 64),
        ({"warps": 2}, 64),
        ({"b_registers": True}, 64),
        ({}, 32),
        ({"warps": 3}, 96),
    ],
)
def test_mma_where_wgmma_is_not_possible(options: dict[str, object], m: int) -> None:
    b = whole_product(m, 48, 32, **options)  # type: ignore[arg-type]
    check(b, m, 48, 32, "K")
    assert isinstance(plan(b), MmaPlan)


@pytest.mark.parametrize("b_rows", ["K", "N"])
@pytest.mark.parametrize(
    ("m", "n", "k", "warps"),
    [
        (16, 8, 16, 1),
        (32, 64, 32, 2),
        (64, 64, 64, 4),
        (128, 96, 32, 8),
        (16, 64, 64, 4),
    ],
)
def test_mma(m: int, n: int, k: int, warps: int, b_rows: str) -> None:
    b = whole_product(m, n, k, target="sm_80", warps=warps, b_rows=b_rows)
    check(b, m, n, k, b_rows)
    loads = [x.plan.instruction for x in ops(b.placed(), o.LoadShared) if x.plan]
    # K along the rows is read as it lies, along the columns transposed.
    assert loads == ["ldmatrix", "ldmatrix.trans" if b_rows == "K" else "ldmatrix"]


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_result_is_the_next_operand(target: str) -> None:
    b = Builder(target)
    ta, tc = b.tensor("A", "M K", bf16), b.tensor("C", "M N")
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(ta, (64, 64), 0, 0))
    first = b.dot(b.part(s), b.part(s).transposed)
    second = b.dot(b.cast(b.apply("mod", first, 4.0), bf16), b.part(s))
    b.store(tc, second, 0, 0)
    x = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype(np.float32)
    arrays = {"A": x, "C": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["C"], np.mod(x @ x.T, 4) @ x)
    if target == "sm_90a":
        assert not ops(b.placed(), o.Convert)


def test_a_wgmma_and_an_mma_result_meet() -> None:
    """Two accumulators of one shape in different layouts: one is converted."""
    b = Builder()
    ta, tc = b.tensor("A", "M K", bf16), b.tensor("C", "M N")
    s = b.shared((64, 64))
    x = b.load(ta, (64, 64), 0, 0)
    b.sts(b.part(s), x)
    both = b.apply("add", b.dot(b.part(s), b.part(s)), b.dot(b.part(s), x))
    b.store(tc, both, 0, 0)
    plans = {type(x.plan) for x in ops(b.placed(), o.Dot)}
    assert plans == {WgmmaPlan, MmaPlan}
    value = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype(np.float32)
    arrays = {"A": value, "C": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["C"], 2 * (value @ value))


def test_no_instruction_for_the_type() -> None:
    b = Builder()
    x = b.full((64, 64), dtype=i32)
    b.dot(x, x)
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0603"


@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 16), (64, 64, 8), (48, 4, 16)])
def test_no_instruction_for_the_shape(m: int, n: int, k: int) -> None:
    b = Builder()
    b.dot(b.full((m, k), dtype=f16), b.full((k, n), dtype=f16))
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0603"
    assert "wgmma: " in str(error.value)
