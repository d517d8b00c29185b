"""A warp-specialised GEMM: right as it is, and every missing wait is found."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from argus.interpret import InterpreterError, Result, bf16_to_f32, run
from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.program import Program


def launch(
    kit: SimpleNamespace,
    program: Program,
    m: int = 256,
    n: int = 128,
    k: int = 256,
    **options: object,
) -> tuple[Result, np.ndarray, np.ndarray]:
    a, b = kit.half((m, k), 1), kit.half((n, k), 2)
    c = np.full((m, n), 0x7FFF, np.uint16)
    result = run(program, {"A": a, "B": b, "C": c}, **options)
    return result, bf16_to_f32(c), bf16_to_f32(a) @ bf16_to_f32(b).T


@pytest.mark.parametrize("schedule", ["random", "in_order"])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_computes_the_product(
    kit: SimpleNamespace, schedule: str, seed: int
) -> None:
    result, c, expected = launch(kit, kit.gemm(), schedule=schedule, seed=seed)
    assert result.errors == []
    assert result.blocks == (0, 1, 2, 3)
    np.testing.assert_allclose(c, expected, rtol=1e-2, atol=1e-2)


def test_edges_are_zero_outside_and_not_written(kit: SimpleNamespace) -> None:
    _, c, expected = launch(kit, kit.gemm(), m=136, n=72, k=72)
    np.testing.assert_allclose(c, expected, rtol=1e-2, atol=1e-2)


def test_no_iterations_give_zeros(kit: SimpleNamespace) -> None:
    program = kit.gemm()
    _, math = bodies(program)
    for loop in (op for op in math.ops if isinstance(op, o.For)):
        loop.stop = Const(0)
    load, _ = bodies(program)
    load.ops[0].stop = Const(0)
    _, c, _ = launch(kit, program)
    assert not c.any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_cluster_shares_a_tile_by_multicast(kit: SimpleNamespace, seed: int) -> None:
    result, c, expected = launch(kit, kit.gemm(cluster=2), seed=seed)
    assert result.errors == []
    np.testing.assert_allclose(c, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_block_stays_while_others_reach_its_memory(
    kit: SimpleNamespace, seed: int
) -> None:
    program = kit.gemm(cluster=2)
    for body in bodies(program):
        del body.ops[-1]
    with pytest.raises(InterpreterError, match="after that block has ended") as caught:
        launch(kit, program, seed=seed)
    assert caught.value.faults[0].kind == "unfinished"


def test_a_block_brings_its_cluster(kit: SimpleNamespace) -> None:
    result, _, _ = launch(kit, kit.gemm(cluster=2), blocks=[3])
    assert result.blocks == (2, 3)


def bodies(program: Program) -> tuple[o.Block, o.Block]:
    roles = program.body.ops[-1]
    assert isinstance(roles, o.Roles)
    return roles.roles[0].body, roles.roles[1].body


def loops(program: Program) -> tuple[o.Block, o.Block]:
    """The bodies of the load loop and of the math loop."""
    load, math = bodies(program)
    return load.ops[0].body, math.ops[1].body


def without(kind: type[o.Op], role: int) -> Callable[[Program], None]:
    def remove(program: Program) -> None:
        body = loops(program)[role]
        body.ops = [op for op in body.ops if not isinstance(op, kind)]

    return remove


def wait_for_too_few(program: Program) -> None:
    for op in loops(program)[1].ops:
        if isinstance(op, o.WgmmaWait):
            op.pending = 1


def release_early(program: Program) -> None:
    body = loops(program)[1]
    body.ops.insert(1, body.ops.pop())


def forget_the_tile(program: Program) -> None:
    for op in loops(program)[1].ops:
        if isinstance(op, o.WgmmaWait):
            op.tiles = ()


def wait_ahead(program: Program) -> None:
    for op in loops(program)[1].ops:
        if isinstance(op, o.BarrierWait):
            op.n = op.n - 1


BUGS = {
    "no wait for the data": (without(o.BarrierWait, 1), {"in_flight", "uninitialised"}),
    "no wait for the slot": (
        without(o.BarrierWait, 0),
        {"in_flight", "unordered", "barrier"},
    ),
    "no wait for the product": (without(o.WgmmaWait, 1), {"unordered", "in_flight"}),
    "a wait that does not cover": (wait_for_too_few, {"accumulator"}),
    "a wait that does not name": (forget_the_tile, {"accumulator"}),
    "a slot released too early": (release_early, {"in_flight", "unordered"}),
    "a wait for the wrong phase": (
        wait_ahead,
        {"barrier", "in_flight", "uninitialised"},
    ),
}


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("schedule", ["random", "in_order"])
def test_a_missing_wait_is_found(
    kit: SimpleNamespace, bug: str, seed: int, schedule: str
) -> None:
    change, kinds = BUGS[bug]
    program = kit.gemm()
    change(program)
    with pytest.raises(InterpreterError) as caught:
        launch(kit, program, seed=seed, schedule=schedule)
    assert caught.value.faults[0].kind in kinds


def test_a_deadlock_says_who_waits_for_what(kit: SimpleNamespace) -> None:
    program = kit.gemm()
    for op in loops(program)[0].ops:
        if isinstance(op, o.BarrierExpect):
            op.bytes = op.bytes + 16
    with pytest.raises(InterpreterError) as caught:
        launch(kit, program)
    (fault,) = caught.value.faults
    assert fault.kind == "deadlock"
    text = str(fault)
    assert "load (block 0, line 9) waits for completion 0 of barrier empty[0]" in text
    assert "lacks 2 of 2 arrivals and 0 bytes" in text
    assert "math (block 0, line 17) waits for completion 0 of barrier full[0]" in text
    assert "lacks 0 of 1 arrivals and 16 bytes" in text


def test_too_many_arrivals_are_a_fault(kit: SimpleNamespace) -> None:
    program = kit.gemm()
    for op in loops(program)[1].ops:
        if isinstance(op, o.BarrierArrive):
            op.per = "thread"
    with pytest.raises(InterpreterError, match="256 arrivals"):
        launch(kit, program)


def test_faults_are_collected(kit: SimpleNamespace) -> None:
    program = kit.gemm()
    forget_the_tile(program)
    result, _, _ = launch(kit, program, collect=True)
    assert [fault.kind for fault in result.errors] == ["accumulator"]
    assert result.errors[0].count == 4  # once in each block
    assert result.errors[0].span is not None and result.errors[0].span.line == 21
