"""Kernels from source, placed and run: right results, and every guard is needed.

The second half takes one wait, sync, fence, arrival or commit out of a placed program
and expects the interpreter to notice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from argus.evaluation.requests import contiguous_facts
from argus.interpret import InterpreterError, bf16_to_f32, f32_to_bf16, run
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.lower import place
from argus.targets import TARGETS

SOURCE = """
import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def gemm(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, CLUSTER: int = 1):
    M, K = A.shape
    N = B.shape[0]
    ag.cluster(CLUSTER)
    ring = ag.ring(2, a=bf16.tile(128, 64), b=bf16.tile(128, 64))
    with ag.role("load", warps=1, registers=40):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, 128), ag.cdiv(N, 128)):
            for k in ag.range(0, K, 64):
                with ring.fill() as slot:
                    slot.a.load(A[bm * 128 :, k:])
                    slot.b.load(B[bn * 128 :, k:], multicast=CLUSTER)
    with ag.role("math", warpgroups=2, registers=232):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, 128), ag.cdiv(N, 128)):
            slot = ring.wait()
            acc = ag.dot(slot.a, slot.b.T)
            for _ in ag.range(64, K, 64):
                ahead = ring.wait()
                acc = ag.dot(ahead.a, ahead.b.T, acc)
                slot.release()
                slot = ahead
            slot.release()
            C[bm * 128 :, bn * 128 :] = acc.to(bf16)


@ag.kernel
def gemm_sm80(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"]):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(2, a=bf16.tile(64, 32), b=bf16.tile(64, 32))
    with ring.fill() as slot:
        slot.a.load(A[i * 64 :, 0:], via="cp_async")
        slot.b.load(B[j * 64 :, 0:], via="cp_async")
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 32):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k + 32 :], via="cp_async")
                slot.b.load(B[j * 64 :, k + 32 :], via="cp_async")
            acc = ag.dot(full.a, full.b.T, acc)
    C[i * 64 :, j * 64 :] = acc.to(bf16)


@ag.kernel
def attention(Q: bf16["S D"], K: bf16["T D"], V: bf16["T D"], O: bf16["S D"],
              *, D: int = 64):
    S, T = Q.shape[0], K.shape[0]
    i, _ = ag.block(ag.cdiv(S, 64), 1)
    q_ring = ag.ring(1, q=bf16.tile(64, D))
    ring = ag.ring(2, k=bf16.tile(64, D), v=bf16.tile(64, D))
    with ag.role("load", warps=1, registers=24):
        with q_ring.fill() as slot:
            slot.q.load(Q[i * 64 :, :])
        for t in ag.range(0, T, 64):
            with ring.fill() as slot:
                slot.k.load(K[t:, :])
                slot.v.load(V[t:, :])
    with ag.role("math", warpgroups=1, registers=240):
        m = ag.full((64,), -1e30, f32)
        l = ag.zeros((64,), f32)
        o = ag.zeros((64, D), f32)
        query = q_ring.wait()
        for t in ag.range(0, T, 64):
            with ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T) * 0.1803
                s = ag.where(t + ag.index(s, "T") < T, s, -1e30)
                high = ag.maximum(m, ag.max(s, "T"))
                p = ag.exp2(s - high)
                alpha = ag.exp2(m - high)
                l = l * alpha + ag.sum(p, "T")
                o = ag.dot(p.to(bf16), slot.v, o * alpha)
                m = high
        query.release()
        O[i * 64 :, :] = (o * ag.rcp(l)).to(bf16)


@ag.kernel
def softmax(X: bf16["M N"], Y: bf16["M N"]):
    M, N = X.shape
    ag.launch(warps=4)
    b, _ = ag.block(ag.cdiv(M, 2), 1)
    x = ag.load(X[b * 2 :, 0:], (2, 1024), fill=-ag.inf).to(f32)
    e = ag.exp2((x - ag.max(x, "N")) * 1.4426950408889634)
    Y[b * 2 :, 0:] = (e * ag.rcp(ag.sum(e, "N"))).to(bf16)


@ag.kernel
def transposed(X: bf16["M N"], Y: bf16["N M"]):
    ag.launch(warps=4)
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    Y[j * 64 :, i * 64 :] = ag.load(X[i * 64 :, j * 64 :], (64, 64)).T
"""


def half(shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return f32_to_bf16(values)


def by_rows(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@dataclass
class Case:
    kernel: str
    target: str
    shapes: dict[str, tuple[int, ...]]
    reference: Callable[..., np.ndarray]
    statics: dict[str, object] = field(default_factory=dict)

    def place(self) -> Program:
        kernel = load_kernels("kernels.py", SOURCE).kernels[self.kernel]
        facts = contiguous_facts(kernel, self.shapes)
        target = TARGETS[self.target]
        return place(specialise(kernel, {}, self.statics, target, facts=facts))

    def launch(self, program: Program, **options: object) -> None:
        """Run it; raises InterpreterError or AssertionError."""
        *inputs, output = self.shapes
        arrays = {name: half(self.shapes[name], i) for i, name in enumerate(inputs)}
        expected = self.reference(*(bf16_to_f32(arrays[name]) for name in inputs))
        arrays[output] = np.full(self.shapes[output], 0x7FFF, np.uint16)
        # Few multiprocessors: persistent loops go round more than once.
        run(program, arrays, sm_count=program.cluster, **options)
        found = bf16_to_f32(arrays[output])
        np.testing.assert_allclose(found, expected, rtol=2e-2, atol=1e-2)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.T


CASES = {
    "gemm": Case(
        "gemm", "sm_90a", {"A": (136, 272), "B": (256, 272), "C": (136, 256)}, product
    ),
    "gemm in a cluster": Case(
        "gemm",
        "sm_90a",
        {"A": (256, 256), "B": (200, 256), "C": (256, 200)},
        product,
        {"CLUSTER": 2},
    ),
    "gemm on sm_80": Case(
        "gemm_sm80", "sm_80", {"A": (80, 112), "B": (64, 112), "C": (80, 64)}, product
    ),
    "attention": Case(
        "attention",
        "sm_90a",
        {"Q": (96, 64), "K": (176, 64), "V": (176, 64), "O": (96, 64)},
        lambda q, k, v: by_rows(q @ k.T * 0.125) @ v,
    ),
    "softmax": Case("softmax", "sm_90a", {"X": (5, 976), "Y": (5, 976)}, by_rows),
    "transpose": Case(
        "transposed", "sm_90a", {"X": (80, 144), "Y": (144, 80)}, lambda x: x.T
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("schedule", "seed"), [("in_order", 0), ("random", 0), ("random", 1)]
)
def test_kernels_compute_what_they_should(name: str, schedule: str, seed: int) -> None:
    case = CASES[name]
    case.launch(case.place(), schedule=schedule, seed=seed)


GUARDS = (
    o.BarrierWait,
    o.BarrierArrive,
    o.BarrierExpect,
    o.Sync,
    o.CpAsyncCommit,
    o.CpAsyncWait,
    o.WgmmaCommit,
    o.WgmmaWait,
)


def guards(program: Program) -> list[tuple[list[o.AnyOp], int]]:
    """Where the operations are that order others: (operations, position).

    Not those of the "ring empty" barrier of a ring that is filled once: there is no
    second fill to guard.
    """
    found: list[tuple[list[o.AnyOp], int]] = []

    def collect(block: o.Block, looping: bool) -> None:
        for position, op in enumerate(block.ops):
            ring = isinstance(op, o.BarrierWait | o.BarrierArrive)
            once = ring and op.barrier.alloc.role == "ring empty" and not looping
            if isinstance(op, GUARDS) and not once:
                found.append((block.ops, position))
            match op:
                case o.For():
                    collect(op.body, True)
                case o.If():
                    collect(op.then, looping)
                    collect(op.other, looping)
                case o.Roles():
                    for role in op.roles:
                        collect(role.body, looping)
                case _:
                    pass

    collect(program.body, False)
    return found


@pytest.mark.parametrize("name", [name for name in CASES if name != "transpose"])
def test_no_guard_is_there_for_nothing(name: str) -> None:
    case = CASES[name]
    count = len(guards(case.place()))
    assert count > 0
    unnoticed: list[str] = []
    for number in range(count):
        program = case.place()
        ops, position = guards(program)[number]
        op = ops.pop(position)
        try:
            case.launch(program)
        except (InterpreterError, AssertionError):
            continue
        unnoticed.append(f"line {op.span.line}: {type(op).__name__} ({op.note})")
    assert unnoticed == [], "\n".join(unnoticed)


def test_placed_programs_have_operations_of_many_kinds() -> None:
    kinds = {type(op) for case in CASES.values() for op in walk(case.place().body)}
    assert len(kinds) >= 25
