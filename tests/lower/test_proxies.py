"""Fences between ordinary and asynchronous accesses: where they must be, only there.

What is taken out of a placed program is refuted and shows as a fault, too.
"""

from collections.abc import Callable

import numpy as np
import pytest
from build import reader
from builder import Builder, ops

from argus.interpret import f32_to_bf16, run
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order import obligations
from argus.verify.verdict import Verdict

READS = "ordinary reads"
WRITES = "ordinary writes"


def fences(program: Program) -> list[str]:
    """What each proxy fence is for."""
    return [" ".join((f.note or "").split()[:2]) for f in ops(program, o.Fence)]


def holding(program: Program, op: o.AnyOp) -> list[o.AnyOp]:
    """The operations of the block that an operation is in."""
    bodies = [program.body, *(b for x in walk(program.body) for b in blocks(x))]
    return next(b.ops for b in bodies if op in b.ops)


def broken(program: Program) -> set[str]:
    """Rules of order that are not proved."""
    found = obligations(program)
    return {x.rule for x in found if x.verdict is not Verdict.PROVED}


def faults(program: Program, rows: int = 300) -> set[str]:
    x = np.random.default_rng(0).integers(-9, 9, (rows, 64)).astype(np.float32)
    arrays = {"X": f32_to_bf16(x), "Y": np.zeros(x.shape, np.uint16)}
    found = run(program, arrays, {}, collect=True).errors
    return {fault.kind for fault in found}


def unsafe(program: Program) -> None:
    """Both machines say that a proxy fence is missing."""
    assert broken(program) == {"AG0408"}
    assert faults(program) == {"proxy_fence"}


@pytest.mark.parametrize(
    ("by", "loads", "expected"),
    [
        ("loads", "tma", [READS]),
        ("wgmma", "tma", []),
        ("stores", "tma", []),
        ("loads", "cp_async", []),
    ],
)
def test_a_slot_is_fenced_where_threads_read_what_tma_fills(
    by: str, loads: str, expected: list[str]
) -> None:
    program = reader(by, loads).placed()
    assert fences(program) == expected
    assert broken(program) == set()
    for fence in ops(program, o.Fence):
        body = holding(program, fence)
        before, after = (body[body.index(fence) + step] for step in (-1, 1))
        assert isinstance(before, o.LoadShared)
        assert isinstance(after, o.BarrierArrive) and after.per == "warp"


OWN_BARRIERS = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    full, done = ag.barriers(1), ag.barriers(1, arrivals=4)
    with ag.role("load", warps=1):
        t = 0
        for n in ag.range(0, N, 32):
            done[0].wait(t - 1)
            full[0].expect(64 * 32 * 4)
            s.copy(X[i * 64 :, n:], full[0])
            t += 1
    with ag.role("store", warpgroups=1):
        t = 0
        for n in ag.range(0, N, 32):
            full[0].wait(t)
            Y[i * 64 :, n:] = s.load()
            done[0].arrive(per="warp")
            t += 1
"""
"""A buffer that an author's own barriers hand on."""


def test_reads_before_an_author_s_own_arrival_are_fenced() -> None:
    (kernel,) = load_kernels("made.py", OWN_BARRIERS).kernels.values()
    program = placed_program(Request(kernel, {"X": f32, "Y": f32}))
    assert fences(program) == [READS]
    assert broken(program) == set()
    (fence,) = (x for x in ops(program, o.Fence) if x.kind == "proxy.async")
    body = holding(program, fence)
    assert isinstance(body[body.index(fence) + 1], o.BarrierArrive)
    body.remove(fence)
    assert broken(program) == {"AG0408"}


def _left_out(program: Program) -> None:
    (fence,) = ops(program, o.Fence)
    holding(program, fence).remove(fence)


def _late(program: Program) -> None:
    """After the arrival: whoever waits for it knows nothing of the fence."""
    (fence,) = ops(program, o.Fence)
    body = holding(program, fence)
    at = body.index(fence)
    body[at : at + 2] = body[at + 1], body[at]


def _by_others(program: Program) -> None:
    """By the threads that wait: they have no loads of these bytes."""
    (fence,) = ops(program, o.Fence)
    holding(program, fence).remove(fence)
    (expect,) = ops(program, o.BarrierExpect)
    body = holding(program, expect)
    body.insert(body.index(expect), fence)


@pytest.mark.parametrize("change", [_left_out, _late, _by_others])
def test_no_other_place_will_do(change: Callable[[Program], None]) -> None:
    program = reader("loads").placed()
    assert faults(program) == set()
    change(program)
    unsafe(program)


def drained(write: bool) -> Builder:
    """One group fills by TMA, reads, perhaps writes back, and fills again."""
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    ring = b.ring(1, x=(bf16, (64, 64)))
    with b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (n,) = loop.counters
        with b.fill(ring, n) as slot:
            b.copy(slot["x"], b.view(x, (64, 64), loop.op.var, 0), ring=ring, via="tma")
        slot = b.wait(ring, n)
        t = b.lds(slot["x"])
        if write:
            b.sts(slot["x"], b.transpose(t))
            t = b.transpose(b.lds(slot["x"]))
        b.release(ring, n)
        b.store(y, t, loop.op.var, 0)
        loop.carry(scalars=[n + 1])
    return b


@pytest.mark.parametrize("write", [False, True])
def test_without_roles_the_fence_comes_before_the_sync(write: bool) -> None:
    b = drained(write)
    program = b.placed()
    found = ops(program, o.Fence)
    assert found
    for fence in found:
        body = holding(program, fence)
        assert isinstance(body[body.index(fence) + 1], o.Sync)
    if not write:
        assert fences(program) == [READS]
        assert broken(program) == set()
        assert faults(program) == set()
        _left_out(program)
        unsafe(program)


def test_what_tma_loads_once_needs_no_fence() -> None:
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    ring, s = b.ring(1, x=(bf16, (64, 64))), b.shared((64, 64))
    with b.fill(ring, Const(0)) as slot:
        b.copy(slot["x"], b.view(x, (64, 64), 0, 0), ring=ring, via="tma")
    slot = b.wait(ring, Const(0))
    b.sts(b.part(s), b.transpose(b.lds(slot["x"])))
    b.store(y, b.lds(b.part(s)), 0, 0)
    b.release(ring, Const(0))
    program = b.placed()
    assert ops(program, o.Sync) and fences(program) == []
    assert broken(program) == set()
    assert faults(program, rows=64) == set()


def test_reads_of_what_tma_only_reads_need_no_fence() -> None:
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    with b.loop(x.shape[0], 64) as loop:
        b.sts(b.part(s), b.load(x, (64, 64), loop.op.var, 0))
        b.copy_out(b.view(y, (64, 64), loop.op.var, 0), b.part(s))
        b.store(y, b.lds(b.part(s)), loop.op.var, 0)
    program = b.placed()
    assert fences(program) == [WRITES]
    assert broken(program) == set()
    assert faults(program) == set()


def test_a_slot_that_its_reader_writes() -> None:
    """TMA may not overtake the stores either, once it fills the slot again."""
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    ring = b.ring(1, x=(bf16, (64, 64)))
    with b.role("load", 1), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (n,) = loop.counters
        with b.fill(ring, n) as slot:
            b.copy(slot["x"], b.view(x, (64, 64), loop.op.var, 0), ring=ring, via="tma")
        loop.carry(scalars=[n + 1])
    with b.role("use", 1), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (n,) = loop.counters
        slot = b.wait(ring, n)
        t = b.lds(slot["x"])
        b.sts(slot["x"], b.apply("mul", t, 2.0))
        b.release(ring, n)
        b.store(y, t, loop.op.var, 0)
        loop.carry(scalars=[n + 1])
    program = b.placed()
    assert fences(program) == [WRITES]
    assert broken(program) == set()
    _left_out(program)
    assert "AG0408" in broken(program)
    assert "proxy_fence" in faults(program)


def test_copies_are_fenced_once_they_are_there() -> None:
    """A fence before the wait covers no copy that is still in flight."""
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    stages = [b.shared((64, 64)), b.shared((64, 64))]
    for row, s in zip((0, 64), stages, strict=True):
        b.copy(b.part(s), b.view(x, (64, 64), row, 0), via="cp_async")
        b.emit(o.CpAsyncCommit(span=b.program.span))
    for row, s in zip((0, 64), stages, strict=True):
        b.emit(o.Sync(128, span=b.program.span))
        b.emit(o.CpAsyncWait(0 if row else 1, span=b.program.span))
        b.emit(o.Sync(128, span=b.program.span))
        b.store(y, b.cast(b.dot(b.part(s), b.part(s)), bf16), row, 0)
    program = b.placed()
    assert fences(program) == [WRITES, WRITES]
    for fence in ops(program, o.Fence):
        body = holding(program, fence)
        at = body.index(fence)
        assert isinstance(body[at - 1], o.CpAsyncWait)
        assert isinstance(body[at + 1], o.Sync)
    assert broken(program) == set()
    assert faults(program, rows=128) == set()
