"""wgmma waits: late, enough, for the right tiles; and who shares registers."""

import numpy as np
import pytest
from build import gemm
from builder import Builder, Loop, ops, rounded

from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, binary
from argus.ir.memory import SharedView
from argus.ir.program import GRID_SIZE
from argus.lower import place


def body_of(b: Builder) -> list[str]:
    """Names of the operations of the loop with a dot, waits with a number."""
    (loop,) = [x for x in ops(b.placed(), o.For) if any(
        isinstance(y, o.Dot) for y in x.body.ops)]  # fmt: skip
    return [
        f"wait {x.pending}" if isinstance(x, o.WgmmaWait) else type(x).__name__
        for x in loop.body.ops
    ]


def lazy(stages: int = 3, n: int = 64, by_two: bool = False, m: int = 128) -> Builder:
    """A product whose slots are released one iteration late."""
    b = Builder("sm_90a")
    ta, tb = b.tensor("A", "M K", bf16), b.tensor("B", "N K", bf16)
    tc = b.tensor("C", "M N")
    ring = b.ring(stages, a=(bf16, (m, 64)), b=(bf16, (n, 64)))
    k = ta.shape[1]
    with b.role("load", 1), b.loop(k, 64, scalars=[0]) as loop:
        (i,) = loop.counters
        with b.fill(ring, i) as slot:
            b.copy(slot["a"], b.view(ta, (m, 64), 0, loop.op.var), ring=ring)
            b.copy(slot["b"], b.view(tb, (n, 64), 0, loop.op.var), ring=ring)
        loop.carry(scalars=[i + 1])
    with b.role("math", 4 * (m // 64)):
        slot = b.wait(ring, Const(0))
        acc = b.dot(slot["a"], slot["b"].transposed)
        with b.loop(k, 64, [acc], scalars=[0, 1], start=64) as loop:
            last, i = loop.counters
            slot = b.wait(ring, i)
            d = b.dot(slot["a"], slot["b"].transposed, loop.args[0])
            b.release(ring, last)
            loop.carry(d, scalars=[i, i + 1])
        b.release(ring, loop.after[0])
        b.store(tc, loop.results[0], 0, 0)
    return b


@pytest.mark.parametrize("depth", [64, 128, 192, 512])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_slot_released_late_leaves_one_group_in_flight(
    stages: int, depth: int
) -> None:
    b = lazy(stages)
    assert body_of(b) == [
        "BarrierWait", "Dot", "WgmmaCommit", "wait 1", "BarrierArrive"
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, (r, depth)).astype(np.float32) for r in (128, 64))
    arrays = {"A": x, "B": y, "C": np.zeros((128, 64), np.float32)}
    b.run(arrays, seeds=(0, 1, 2))
    np.testing.assert_array_equal(arrays["C"], x @ y.T)


def test_a_slot_released_at_once_is_waited_for() -> None:
    program = place(gemm())
    (dot,) = ops(program, o.Dot)
    (wait,) = ops(program, o.WgmmaWait)
    assert wait.pending == 0
    assert wait.note == "the slot must not be read any more"
    assert dot.acc is not None and dot.acc.storage == dot.result.storage is not None


def test_the_result_is_named_by_the_wait_after_the_loop() -> None:
    b = lazy()
    last = ops(b.placed(), o.WgmmaWait)[-1]
    (store,) = ops(b.placed(), o.StoreGlobal)
    assert last.pending == 0 and store.src in last.tiles


def attention(next_first: bool, length: int) -> tuple[Builder, dict[str, np.ndarray]]:
    """Online softmax over tiles of keys; optionally the next scores come first."""
    b = Builder("sm_90a")
    tq, tk, tv = (
        b.tensor(x, f"{d} D", bf16) for x, d in zip("QKV", "STT", strict=True)
    )
    to = b.tensor("O", "S D")
    rows, cols, width = 64, 64, 64
    q = b.ring(1, q=(bf16, (rows, width)))
    ring = b.ring(2, k=(bf16, (cols, width)))
    v_ring = b.ring(2, v=(bf16, (cols, width)))
    end = tk.shape[0]
    with b.role("load", 1):
        with b.fill(q, Const(0)) as slot:
            b.copy(slot["q"], b.view(tq, (rows, width), 0, 0), ring=q)
        with b.loop(end, cols, scalars=[0]) as loop:
            (n,) = loop.counters
            with b.fill(ring, n) as slot:
                src = b.view(tk, (cols, width), loop.op.var, 0)
                b.copy(slot["k"], src, ring=ring)
            with b.fill(v_ring, n) as slot:
                src = b.view(tv, (cols, width), loop.op.var, 0)
                b.copy(slot["v"], src, ring=v_ring)
            loop.carry(scalars=[n + 1])

    def scores(n: object, query: SharedView) -> o.Tile:
        return b.dot(query, b.wait(ring, n)["k"].transposed)  # type: ignore[arg-type]

    def soften(s: o.Tile, loop: Loop) -> tuple[o.Tile, ...]:
        m, total, acc = loop.args[:3]
        m_new = b.apply("maximum", m, b.reduce(s, 1, "max"))
        wide = b.broadcast(m_new, (rows, cols), (0,))
        p = b.apply("exp2", b.apply("sub", s, wide))
        alpha = b.apply("exp2", b.apply("sub", m, m_new))
        l_new = b.apply("add", b.apply("mul", total, alpha), b.reduce(p, 1))
        scaled = b.apply("mul", acc, b.broadcast(alpha, (rows, width), (0,)))
        return m_new, l_new, scaled, b.cast(p, bf16)

    with b.role("math", 4):
        query = b.wait(q, Const(0))["q"]
        start = [b.full((rows,), -1e30), b.full((rows,)), b.full((rows, width))]
        if next_first:
            start.append(scores(Const(0), query))
            with b.loop(end, cols, start, scalars=[0, 1], start=cols) as loop:
                n, ahead = loop.counters
                s_next = scores(ahead, query)
                m, total, acc, p = soften(loop.args[3], loop)
                b.release(ring, n)
                d = b.dot(p, b.wait(v_ring, n)["v"], acc)
                b.release(v_ring, n)
                loop.carry(m, total, d, s_next, scalars=[ahead, ahead + 1])
            n = loop.after[0]
            last = Loop(loop.op, loop.results, [], [], [])
            m, total, acc, p = soften(loop.results[3], last)
            b.release(ring, n)
            acc = b.dot(p, b.wait(v_ring, n)["v"], acc)
            b.release(v_ring, n)
        else:
            with b.loop(end, cols, start, scalars=[0]) as loop:
                (n,) = loop.counters
                s = scores(n, query)
                b.release(ring, n)
                m, total, acc, p = soften(s, loop)
                d = b.dot(p, b.wait(v_ring, n)["v"], acc)
                b.release(v_ring, n)
                loop.carry(m, total, d, scalars=[n + 1])
            m, total, acc = loop.results
        whole = b.apply(
            "mul", acc, b.broadcast(b.apply("rcp", total), (rows, width), (0,))
        )
        b.release(q, Const(0))
        b.store(to, whole, 0, 0)
    rng = np.random.default_rng(1)
    arrays = {
        k: rounded(rng.normal(size=(r, width)))
        for k, r in (("Q", rows), ("K", length), ("V", length))
    }
    return b, arrays | {"O": np.zeros((rows, width), np.float32)}


@pytest.mark.parametrize("length", [64, 128, 256])
@pytest.mark.parametrize("next_first", [False, True])
def test_attention(next_first: bool, length: int) -> None:
    b, arrays = attention(next_first, length)
    b.run(arrays, seeds=(0, 1, 2))
    s = arrays["Q"] @ arrays["K"].T
    p = np.exp2(s - s.max(1, keepdims=True))
    expected = (p / p.sum(1, keepdims=True)) @ arrays["V"]
    np.testing.assert_allclose(arrays["O"], expected, atol=2e-2)
    # Probabilities go from accumulator to operand without moving.
    converts = [x for x in ops(b.placed(), o.Convert) if "operand" in (x.note or "")]
    assert not converts
    assert not [s for s in b.placed().shared if s.scratch]


def test_the_next_scores_stay_in_flight_during_the_softmax() -> None:
    b, _ = attention(True, 128)
    names = body_of(b)
    first, exp = names.index("Dot"), names.index("Reduce")
    assert all(x in ("WgmmaCommit", "wait 1") for x in names[first + 1 : exp]), names
    # The output's product must not wait for anything but its own operands.
    assert names.count("wait 0") <= 2, names


def two_tiles(b: Builder) -> tuple[SharedView, SharedView]:
    """Two shared operands full of small integers of their own making."""
    parts: list[SharedView] = []
    for along in (0, 1):
        s = b.shared((64, 64))
        values = b.apply("mod", b.index((64, 64), along), 4)
        b.sts(b.part(s), b.cast(values, bf16))
        parts.append(b.part(s))
    return parts[0], parts[1]


def numbers() -> tuple[np.ndarray, np.ndarray]:
    a = np.repeat(np.arange(64)[:, None] % 4, 64, 1).astype(np.float32)
    return a, a.T.copy()


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_an_accumulator_that_is_used_again_is_copied(target: str) -> None:
    b = Builder(target)
    ty, tz = b.tensor("Y", "M N"), b.tensor("Z", "M N")
    x, y = two_tiles(b)
    first = b.dot(x, y)
    second = b.dot(x, y, first)
    b.store(ty, first, 0, 0)
    b.store(tz, second, 0, 0)
    arrays = {k: np.zeros((64, 64), np.float32) for k in "YZ"}
    b.run(arrays)
    p, q = numbers()
    np.testing.assert_array_equal(arrays["Y"], p @ q)
    np.testing.assert_array_equal(arrays["Z"], 2 * (p @ q))
    assert any("in a copy" in (c.note or "") for c in ops(b.placed(), o.Convert))


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_dot_in_a_loop_on_an_accumulator_from_outside(target: str) -> None:
    """Every iteration starts from the same accumulator: it must survive the first."""
    b = Builder(target)
    ty = b.tensor("Y", "M N")
    x, y = two_tiles(b)
    base, total = b.full((64, 64), 1.0), b.full((64, 64))
    with b.loop(3, tiles=[total]) as loop:
        d = b.dot(x, y, base)
        loop.carry(b.apply("add", loop.args[0], d))
    b.store(ty, loop.results[0], 0, 0)
    arrays = {"Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    p, q = numbers()
    np.testing.assert_array_equal(arrays["Y"], 3 * (p @ q + 1))


def test_a_chain_of_dots_needs_no_wait_between() -> None:
    b = Builder("sm_90a")
    ty = b.tensor("Y", "M N")
    x, y = two_tiles(b)
    acc = b.dot(x, y)
    for _ in range(3):
        acc = b.dot(x, y, acc)
    b.store(ty, acc, 0, 0)
    assert [w.pending for w in ops(b.placed(), o.WgmmaWait)] == [0]
    arrays = {"Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    p, q = numbers()
    np.testing.assert_array_equal(arrays["Y"], 4 * (p @ q))


def test_only_what_is_needed_is_waited_for() -> None:
    b = Builder("sm_90a")
    ty, tz = b.tensor("Y", "M N"), b.tensor("Z", "M N")
    x, y = two_tiles(b)
    first, second = b.dot(x, y), b.dot(y, x)
    b.store(ty, first, 0, 0)
    b.store(tz, second, 0, 0)
    waits = ops(b.placed(), o.WgmmaWait)
    assert [(w.pending, w.tiles) for w in waits] == [(1, (first,)), (0, (second,))]
    b.run({k: np.zeros((64, 64), np.float32) for k in "YZ"})


@pytest.mark.parametrize("taken", [False, True])
def test_products_under_a_branch(taken: bool) -> None:
    b = Builder("sm_90a")
    ty = b.tensor("Y", "M N")
    x, y = two_tiles(b)
    acc = b.dot(x, y)
    (result,) = b.branch(
        binary("==", GRID_SIZE, 1 if taken else 2),
        lambda: [b.dot(x, y, acc)],
        lambda: [acc],
    )
    b.store(ty, result, 0, 0)
    arrays = {"Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    p, q = numbers()
    np.testing.assert_array_equal(arrays["Y"], (2 if taken else 1) * (p @ q))


def test_registers_that_a_product_reads_are_not_overwritten() -> None:
    """The A operand of one iteration is made anew while the product may still read."""
    b = Builder("sm_90a")
    ty = b.tensor("Y", "M N")
    _, y = two_tiles(b)
    acc, step = b.full((64, 64)), b.full((64, 64), 1.0)
    with b.loop(4, tiles=[acc, step]) as loop:
        a = b.cast(loop.args[1], bf16)
        d = b.dot(a, y, loop.args[0])
        loop.carry(d, b.apply("add", loop.args[1], 1.0))
    b.store(ty, loop.results[0], 0, 0)
    names = body_of(b)
    assert names[:2] == ["wait 0", "Cast"]
    arrays = {"Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    _, q = numbers()
    ones = np.ones((64, 64), np.float32)
    np.testing.assert_array_equal(arrays["Y"], 10 * (ones @ q))


def test_nested_loops_with_a_product_carried_through_both() -> None:
    b = Builder("sm_90a")
    ty = b.tensor("Y", "M N", f32)
    x, y = two_tiles(b)
    with b.loop(2, tiles=[b.full((64, 64))]) as outer:
        with b.loop(3, tiles=[outer.args[0]]) as inner:
            inner.carry(b.dot(x, y, inner.args[0]))
        outer.carry(inner.results[0])
    b.store(ty, outer.results[0], 0, 0)
    waits = ops(b.placed(), o.WgmmaWait)
    # In the loop only the limit of groups in flight is kept.
    assert [w.pending for w in waits] == [8, 0]
    arrays = {"Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    p, q = numbers()
    np.testing.assert_array_equal(arrays["Y"], 6 * (p @ q))
