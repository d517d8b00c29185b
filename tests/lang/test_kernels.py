"""Complete kernels, and what the program made of them must contain."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from support import KERNELS, load, program

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, evaluate
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import Kernel, load_kernels

T = TypeVar("T")


def all_of(p: Program, kind: type[T]) -> list[T]:
    return [op for op in walk(p.body) if isinstance(op, kind)]


def roles(p: Program) -> dict[str, o.Role]:
    return {r.name: r for op in all_of(p, o.Roles) for r in op.roles}


def kinds(block: o.Block) -> list[str]:
    return [type(op).__name__ for op in block.ops]


@pytest.fixture(scope="module")
def gemm() -> Program:
    return program(load("gemm").kernels["gemm"])


class TestGemm:
    def test_has_two_roles(self, gemm: Program) -> None:
        found = {r.name: (r.warps, r.registers) for r in roles(gemm).values()}
        assert found == {"load": (1, 40), "math": (8, 232)}
        assert kinds(gemm.body)[-1] == "Roles"

    def test_producer_fills_one_slot_per_step(self, gemm: Program) -> None:
        (loop,) = roles(gemm)["load"].body.ops
        assert isinstance(loop, o.For)
        assert kinds(loop.body) == [
            "RingAcquire",
            "CopyAsync",
            "CopyAsync",
            "RingPublish",
        ]
        assert (loop.start, str(loop.stop), loop.step) == (Const(0), "K", Const(64))

    def test_ring_counter_is_carried(self, gemm: Program) -> None:
        for loop in all_of(gemm, o.For):
            (carry,) = loop.scalars
            assert carry.init == Const(0)
            assert carry.yielded == carry.arg + 1
            uses = [
                op
                for op in loop.body.ops
                if isinstance(
                    op, o.RingAcquire | o.RingPublish | o.RingWait | o.RingRelease
                )
            ]
            assert len(uses) == 2
            assert all(op.n == carry.arg for op in uses)

    def test_copies_name_stage_and_dimensions(self, gemm: Program) -> None:
        a, b = all_of(gemm, o.CopyAsync)
        assert a.dst.dims == a.src.dims == ("M", "K")
        assert b.dst.dims == b.src.dims == ("N", "K")
        assert str(a.dst.stage) == "(ring_fill % 4)"
        assert a.ring is b.ring is gemm.rings[0]
        assert [str(c) for c in a.src.coords] == ["((bm * 128) + %0)", "(k + %1)"]

    def test_accumulator_gets_its_names_from_the_product(self, gemm: Program) -> None:
        loop = all_of(gemm, o.For)[1]
        (carry,) = loop.tiles
        assert carry.arg.dims == carry.yielded.dims == ("M", "N")
        (dot,) = all_of(gemm, o.Dot)
        assert dot.acc is carry.arg
        assert dot.result is carry.yielded
        assert isinstance(dot.b, o.SharedView)
        assert (dot.b.dims, dot.b.axes) == (("K", "N"), (1, 0))

    def test_stores_the_result(self, gemm: Program) -> None:
        assert gemm.outputs == ["C"]
        (store,) = all_of(gemm, o.StoreGlobal)
        assert store.src.dtype.name == "bf16"
        assert (store.view.shape, store.view.dims) == ((128, 256), ("M", "N"))

    def test_every_operation_points_at_its_line(self, gemm: Program) -> None:
        (dot,) = all_of(gemm, o.Dot)
        assert (dot.span.line, dot.span.column) == (27, 23)
        assert all(op.span.file == gemm.file for op in walk(gemm.body))

    def test_static_parameters_can_be_chosen(self) -> None:
        p = program(load("gemm").kernels["gemm"], BM=64, STAGES=2)
        assert p.rings[0].stages == 2
        assert p.rings[0].fields["a"].shape == (64, 64)
        assert p.statics["BM"] == 64


def lets(p: Program, environment: dict[str, int]) -> dict[str, int]:
    """Values of the scalars at the top of a program."""
    values = dict(environment)
    for op in p.body.ops:
        if isinstance(op, o.Let):
            values[op.sym.name] = evaluate(op.value, values)
    return values


def tiles_of(p: Program, sizes: dict[str, int]) -> Iterator[tuple[int, int]]:
    for pid in range(evaluate(p.grid, sizes)):
        values = lets(p, {**sizes, "block_x": pid})
        yield values["bm"], values["bn"]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (128, 256), (1300, 3000), (4096, 1)])
def test_block_tile_visits_each_tile_once(gemm: Program, m: int, n: int) -> None:
    found = sorted(tiles_of(gemm, {"M": m, "N": n, "K": 64}))
    rows, columns = -(-m // 128), -(-n // 256)
    assert found == [(i, j) for i in range(rows) for j in range(columns)]


def test_attention_carries_its_state() -> None:
    p = program(load("attention").kernels["attention"])
    assert list(roles(p)) == ["load", "math0", "math1"]
    (_, inner, _) = all_of(p, o.For)
    carried = {c.arg.name: c.arg.dims for c in inner.tiles}
    assert carried == {"m": ("S",), "l": ("S",), "o": ("S", "D")}
    assert len(inner.scalars) == 2
    first, second = all_of(p, o.Dot)[:2]
    assert first.result.dims == ("S", "T")
    assert isinstance(second.a, o.Tile)
    assert second.result.dims == ("S", "D")


def test_turns_open_in_the_last_role_only() -> None:
    p = program(load("attention").kernels["attention"])
    first = {name: role.body.ops[0] for name, role in roles(p).items()}
    opening = first["math1"]
    assert isinstance(opening, o.Sync)
    assert opening.arrive_only
    assert (opening.name, opening.threads) == ("softmax.0", 256)
    assert not isinstance(first["math0"], o.Sync)


def test_static_branch_is_not_even_read() -> None:
    attention = load("attention").kernels["attention"]
    plain = all_of(program(attention), o.Index)
    causal = all_of(program(attention, CAUSAL=True), o.Index)
    assert len(causal) == len(plain) + 4


def test_softmax_is_broadcast_along_rows() -> None:
    p = program(load("softmax").kernels["softmax"])
    assert p.warps == 4
    assert [op.fn for op in all_of(p, o.Reduce)] == ["max", "sum"]
    assert [op.axes for op in all_of(p, o.Broadcast)] == [(0,), (0,)]
    (load_op,) = all_of(p, o.LoadGlobal)
    assert load_op.fill == Const(float("-inf"))


def test_optional_tensor_and_inline_parameter() -> None:
    kernel = load("softmax").kernels["rms_norm"]
    without = program(kernel, absent=("W",))
    assert [t.name for t in without.params] == ["X", "Y", "eps"]
    assert len(all_of(without, o.LoadGlobal)) == 2
    weighted = program(kernel, ACT="relu")
    assert len(all_of(weighted, o.LoadGlobal)) == 3
    assert "maximum" in [op.fn for op in all_of(weighted, o.Elementwise)]


def test_grouped_gathers_by_a_loaded_tile() -> None:
    p = program(load("grouped").kernels["grouped"])
    assert str(p.grid).endswith(", sm_count)")
    (outer, _) = all_of(p, o.For)
    assert (str(outer.start), str(outer.step)) == ("block_x", "grid_x")
    gathered = [op for op in all_of(p, o.LoadGlobal) if op.view.gathers]
    (gather,) = gathered[0].view.gathers
    assert (gather.axis, gather.tile.name) == (0, "rows")
    assert gathered[0].view.coords[0] == gather.symbol
    (scalar,) = all_of(p, o.LoadScalar)
    assert (scalar.tensor.name, scalar.sym.nonneg) == ("Expert", False)


def test_atomic_scatter() -> None:
    p = program(load("grouped").kernels["scatter_add"])
    (store,) = all_of(p, o.StoreGlobal)
    assert store.atomic == "add"
    assert len(store.view.gathers) == 1


def test_static_number_becomes_a_carried_scalar() -> None:
    p = program(load("explicit").kernels["pipelined"])
    (loop,) = all_of(p, o.For)
    (stage,) = loop.scalars
    assert stage.init == Const(0)
    stages = [op.view.stage for op in all_of(p, o.LoadShared)]
    assert stages == [stage.arg]
    assert loop.unroll == 1


def test_explicit_barriers_count_completions() -> None:
    p = program(load("explicit").kernels["explicit"])
    waits = all_of(p, o.BarrierWait)
    assert [str(w.n) for w in waits] == ["((n // 3) + -1)", "(n_3 // 3)"]
    assert [b.arrivals for b in p.barriers] == [1, 4]
    assert kinds(roles(p)["copy"].body.ops[0].body)[-2:] == ["CopyOut", "CopyOutCommit"]


def test_map_of_a_tensor_has_limits() -> None:
    p = program(load("explicit").kernels["conv"])
    (read,) = all_of(p, o.LoadGlobal)
    assert read.view.tensor.name == "X"
    assert len(read.view.coords) == 4
    assert len(read.view.limits) == 1  # the other is where X ends
    (branch,) = all_of(p, o.If)
    assert [m.result.name for m in branch.tiles] == ["acc"]


def test_facts_follow_scalars() -> None:
    p = program(load("gemm").kernels["gemm"])
    loops = [op.var.name for op in all_of(p, o.For)]
    assert all(p.facts[name] == 64 for name in loops)
    assert p.facts["A_s0"] == 16


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda p: p.stem)
def test_scalars_have_one_definition(path: Path) -> None:
    for kernel in load(path.stem).kernels.values():
        names = list(definitions(program(kernel)))
        assert len(names) == len(set(names))


def definitions(p: Program) -> Iterator[str]:
    for op in walk(p.body):
        match op:
            case o.Let(sym=sym) | o.LoadScalar(sym=sym):
                yield sym.name
            case o.For(var=var, scalars=scalars):
                yield var.name
                yield from (s.name for c in scalars for s in (c.arg, c.result))
            case o.If(scalars=scalars):
                yield from (c.result.name for c in scalars)
            case _:
                pass


def test_reading_twice_gives_the_same_program() -> None:
    def text(kernel: Kernel) -> list[str]:
        return [
            f"{type(op).__name__} {op.span} {[str(e) for e in expressions_of(op)]}"
            for op in walk(program(kernel).body)
        ]

    kernel = load("attention").kernels["attention"]
    assert text(kernel) == text(kernel)


def expressions_of(op: o.AnyOp) -> tuple[Expr, ...]:
    from argus.ir.walk import expressions

    return expressions(op)


def test_symbols_are_shared_by_name() -> None:
    p = program(load("gemm").kernels["gemm"])
    tensors = {t.name: t for t in p.params}
    assert tensors["A"].shape[1] == tensors["B"].shape[1] == Sym("K", "dim")


def test_outputs_stand_in_the_order_of_parameters() -> None:
    """So do the results of a reference, wherever they are stored."""
    text = (
        "import argus as ag\nfrom argus import f32\n\n\n@ag.kernel\n"
        'def k(X: f32["N"], Y: f32["N"], Z: f32["N"]):\n'
        "    i = ag.block(ag.cdiv(X.shape[0], 32))\n"
        "    x = ag.load(X[i * 32 :], (32,))\n"
        "    Z[i * 32 :] = x + 1.0\n    Y[i * 32 :] = x\n"
    )
    (kernel,) = load_kernels("two.py", text).kernels.values()
    assert program(kernel).outputs == ["Y", "Z"]
