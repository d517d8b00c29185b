"""Blocks that are walked stand for all: each course of a block is among theirs."""

from __future__ import annotations

import pytest

from argus.evaluation.requests import default_dtypes
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order.block_classes import BlockClasses
from argus.verify.order.control_dependence import study
from argus.verify.order.course import Courses
from argus.verify.order.scalars import Scalars
from argus.verify.order.sizes import Sizes
from argus.verify.order.slicing import prune

SOURCE = """
import argus as ag
from argus import f32, i32


@ag.kernel
def parts(X: f32["M N"], Y: f32["M N"], T: i32["M"], n: i32, *, CLUSTER: int = 1):
    M, N = X.shape
    ag.cluster(CLUSTER)
    row, column = ag.block_tile(ag.cdiv(M, 4), ag.cdiv(N, 64), 4)
    p = row % 5
    rank = ag.cluster_rank() if CLUSTER > 1 else 0
    ring = ag.ring(2, x=f32.tile(4, 64))
    first = p * n
    count = ag.max(1, ag.min(n + rank, ag.cdiv(N, 64) - first))

    with ag.role("load", warps=1):
        for i in ag.range(0, count):
            with ring.fill() as slot:
                slot.x.load(X[row * 4 :, (first + i) * 64 :])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((4, 64), f32)
        for i in ag.range(0, count):
            with ring.drain() as slot:
                if (i + p) % 3 == 0:
                    acc = acc + slot.x.load()
        Y[row * 4 :, column * 64 :] = acc
"""


@pytest.mark.parametrize("cluster", [1, 2])
def test_every_course_is_met(cluster: int) -> None:
    kernel = load_kernels("parts.py", SOURCE).kernels["parts"]
    dtypes = default_dtypes(kernel, {})
    request = Request(kernel, dtypes, {"CLUSTER": cluster}, "sm_90a", {"X_s0": 4})
    program = placed_program(request)
    control = study(program)
    courses = Courses(program, Scalars())
    sizes = Sizes(program, control, prune(program, control), courses)
    env = sizes.at({"M": 160, "N": 640, "n": 3})
    assert env is not None
    grid = int(evaluate(program.grid, env))
    env[GRID_SIZE.name] = grid

    def course(first: int) -> object:
        return tuple(
            courses.trips(env, first + rank, rank, lambda name, coords: 1)
            for rank in range(cluster)
        )

    firsts = BlockClasses(program).firsts(env, grid)
    assert len(firsts) < grid / cluster / 10
    every = {course(first) for first in range(0, grid, cluster)}
    assert {course(first) for first in firsts} == every
    assert len(every) > 2
