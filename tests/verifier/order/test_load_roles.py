"""Load roles of several warps: one thread copies by TMA, all warps wait for slots."""

import pytest

from argus.ir import ops as o
from argus.ir.dtypes import DTYPES
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

SOURCE = """
import argus as ag
from argus import f32


@ag.kernel
def scaled(X: f32["M N"], Y: f32["M N"], *, WARPS: int = 4, STAGES: int = 1):
    M, N = X.shape
    ring = ag.ring(STAGES, x=f32.tile(16, 64))
    with ag.role("load", warps=WARPS):
        for i in ag.persistent(ag.cdiv(M, 16)):
            for n in ag.range(0, N, 64):
                with ring.fill() as slot:
                    slot.x.load(X[i * 16 :, n:])
    with ag.role("store", warps=2):
        for i in ag.persistent(ag.cdiv(M, 16)):
            for n in ag.range(0, N, 64):
                with ring.drain() as slot:
                    Y[i * 16 :, n:] = slot.x.load() * 2.0
"""


def placed(warps: int, stages: int) -> Program:
    kernel = load_kernels("scaled.py", SOURCE).kernels["scaled"]
    f32 = DTYPES["f32"]
    statics = {"WARPS": warps, "STAGES": stages}
    facts = {"N": 16, "X_s0": 16, "Y_s0": 16}
    return placed_program(
        Request(kernel, {"X": f32, "Y": f32}, statics, "sm_90a", facts)
    )


def syncs(program: Program) -> list[o.Sync]:
    (roles,) = (op for op in program.body.ops if isinstance(op, o.Roles))
    return [op for op in walk(roles.roles[0].body) if isinstance(op, o.Sync)]


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_no_warp_falls_a_lap_behind(warps: int, stages: int) -> None:
    program = placed(warps, stages)
    assert len(syncs(program)) == (warps > 1)
    assert verify(program).verdict is Verdict.PROVED


def test_without_the_sync_it_is_refuted() -> None:
    program = placed(4, 1)
    (roles,) = (op for op in program.body.ops if isinstance(op, o.Roles))
    for op in walk(roles.roles[0].body):
        if isinstance(op, o.For):
            op.body.ops[:] = [x for x in op.body.ops if not isinstance(x, o.Sync)]
    assert syncs(program) == []
    report = verify(program)
    failing = [x for x in report.obligations if x.verdict is Verdict.REFUTED]
    assert "AG0404" in {x.rule for x in failing}
