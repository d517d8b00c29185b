"""Indices fit the 32 bits in which they are computed, at every size of a launch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

import pytest

from argus.codegen import emit, overflow
from argus.codegen.overflow import guards
from argus.codegen.scalars import ScalarTypes, infer
from argus.ir import ops as o
from argus.ir.expr import Binary, Expr, Select, evaluate, symbols
from argus.ir.memory import GlobalView
from argus.ir.program import Program
from argus.ir.walk import expressions, plan_expressions
from verifier.order.check_order import placed

HEAD = "import argus as ag\nfrom argus import bf16, f32\n\n\n@ag.kernel\n"
SUMS = """\
def sums(X: bf16["M N"], Y: f32["M"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    (i,) = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32)
    for n in ag.range(0, N, BN):
        acc += ag.sum(ag.load(X[i * BM :, n:], (BM, BN)).to(f32), 1)
    Y[i * BM :] = acc
"""
FLAT = """\
def flat(X: f32["T"], Y: f32["M N"], *, B: int = 128):
    M, N = Y.shape
    (i,) = ag.block(M)
    for n in ag.range(0, N, B):
        Y[i, n:] = ag.rename(ag.load(X[i * N + n :], B), "N")
"""
GROUPED = """\
def copy(X: bf16["M N"], Y: bf16["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), 4)
    Y[i * BM :, j * BN :] = ag.load(X[i * BM :, j * BN :], (BM, BN))
"""
PERSISTENT = """\
def tiles(X: bf16["M N"], Y: bf16["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    for i, j in ag.persistent(ag.cdiv(M, BM), ag.cdiv(N, BN)):
        r = ag.cdiv(M, BM) - 1 - i
        Y[r * BM :, j * BN :] = ag.load(X[r * BM :, j * BN :], (BM, BN))
"""
SHIFTED = """\
def shifted(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 64):
    M, N = X.shape
    (i,) = ag.block(M)
    for n in ag.range(0, N, BN):
        Y[i, n:] = ag.load(X[i, n - 3 * M - 100 :], BN)
"""
PARTS = """\
def parts(X: f32["M"], Y: f32["N"], *, B: int = 64):
    M, N = X.shape[0], Y.shape[0]
    each = ag.cdiv(M, N)
    (p,) = ag.block(N)
    acc = ag.zeros((B,), f32)
    for m in ag.range(p * each, ag.min(p * each + each, M), B):
        acc += ag.rename(ag.load(X[m:], (B,)), "_")
    Y[p] = ag.sum(acc, 0)
"""
KERNELS = [SUMS, FLAT, GROUPED, PERSISTENT, SHIFTED, PARTS]


@lru_cache
def program(text: str) -> Program:
    return placed(HEAD + text)


def admitted(text: str, **sizes: int) -> bool:
    """Whether the launch's own conditions on 32 bits hold."""
    made = program(text)
    found = set(emit(made).spec.requirements) - set(made.requirements)
    return all(evaluate(x.cond, sizes) for x in found)


def test_the_counter_of_a_loop_does_not_turn_over() -> None:
    """`n += 64` behind the last iteration would be negative, and the loop never end."""
    assert admitted(SUMS, M=16, N=2**31 - 128)
    assert not admitted(SUMS, M=16, N=2**31 - 16)


def test_a_product_of_sizes_has_more_than_32_bits() -> None:
    assert admitted(FLAT, M=2**15, N=2**15)
    assert not admitted(FLAT, M=2**16, N=2**16)


def test_large_products_of_matrices_are_admitted() -> None:
    """As large as the memory of a device holds."""
    assert admitted(GROUPED, M=2**18, N=2**18)
    assert admitted(PERSISTENT, M=2**18, N=2**18)


def test_parts_of_a_sum_are_no_larger_than_it() -> None:
    """``p * ((M + N - 1) // N)``, however many parts there are."""
    assert admitted(PARTS, M=1, N=2**20)
    assert admitted(PARTS, M=2**29, N=2**20)
    assert not admitted(PARTS, M=2**31 - 2, N=2**20)


# --------------------------------------------------- every value, with a small limit

LIMIT = 6000


def nodes(e: Expr, scalars: ScalarTypes) -> Iterator[Expr]:
    """What is computed as int."""
    if isinstance(e, Binary):
        yield from nodes(e.left, scalars)
        yield from nodes(e.right, scalars)
        if e.op in ("+", "-", "*") and scalars.ctype(e) == "int":
            yield e
    if isinstance(e, Select):
        for part in (e.cond, e.then, e.other):
            yield from nodes(part, scalars)


class Walk:
    """Computes every index of some blocks, at corners of their views."""

    def __init__(self, made: Program, sizes: dict[str, int], rng: random.Random):
        self.scalars = infer(made, {})
        self.rng = rng
        self.found: list[int] = []
        env = {**sizes, "sm_count": 3, "cluster_rank": 0}
        env["grid_x"] = grid = int(evaluate(made.grid, env))
        for block in {0, grid - 1, grid // 2, rng.randrange(grid)}:
            self.block(made.body, {**env, "block_x": block})

    def see(self, e: Expr, env: dict[str, int]) -> None:
        for node in nodes(e, self.scalars):
            if all(s.name in env for s in symbols(node)):
                self.found.append(int(evaluate(node, env)))

    def block(self, block: o.Block, env: dict[str, int]) -> None:
        for op in block.ops:
            match op:
                case o.Let():
                    self.see(op.value, env)
                    env[op.sym.name] = int(evaluate(op.value, env))
                case o.For():
                    for e in (op.start, op.stop, op.step):
                        self.see(e, env)
                    start, stop, step = (
                        int(evaluate(e, env)) for e in (op.start, op.stop, op.step)
                    )
                    iterations = range(start, stop, step)
                    for at in {
                        0,
                        len(iterations) - 1,
                        self.rng.randrange(len(iterations) + 1),
                    }:
                        if 0 <= at < len(iterations):
                            self.block(op.body, {**env, op.var.name: iterations[at]})
                    self.found.append(start + len(iterations) * step)
                case _:
                    views = [getattr(op, f.name) for f in fields(op)]
                    shapes = [v.shape for v in views if isinstance(v, GlobalView)]
                    for corner in (0, 1):
                        axes = {
                            f"%{i}": corner * (n - 1)
                            for shape in shapes
                            for i, n in enumerate(shape)
                        }
                        for e in (*expressions(op), *plan_expressions(op)):
                            self.see(e, env | axes)


@pytest.mark.parametrize("text", KERNELS, ids=lambda t: t[4 : t.index("(")])
def test_what_is_admitted_fits(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit so low that small sizes exceed it."""
    monkeypatch.setattr(overflow, "_MOST", LIMIT)
    monkeypatch.setattr(overflow, "_LEAST", -LIMIT - 1)
    monkeypatch.setattr(overflow, "_MULTIPROCESSORS", 3)
    made = program(text)
    conditions = guards(made, infer(made, {}))
    rng = random.Random(0)
    fits = refused = 0
    for _ in range(150):
        m, n = (
            int(2 ** rng.uniform(0, 12))
            if rng.random() < 0.7
            else rng.randint(5500, 6000)
            for _ in "mn"
        )
        sizes = {"M": m, "N": n, "T": min(m * n, LIMIT), "X_s0": n, "Y_s0": n}
        walk = Walk(made, sizes, rng)
        within = max(walk.found) <= LIMIT and min(walk.found) >= -LIMIT - 1
        if all(evaluate(x.cond, sizes) for x in conditions):
            fits += 1
            assert within, sizes
        else:
            refused += 1
    assert fits >= 20
    assert refused >= 5
