"""A wait for TMA stores is that of the thread that made them: others need a sync."""

from pathlib import Path

import numpy as np
import pytest

from argus.interpret import run
from argus.ir import ops as o
from argus.ir.dtypes import bf16
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order import obligations
from argus.verify.verdict import Verdict

SOURCE = """
import argus as ag
from argus import bf16

@ag.kernel
def copy(X: bf16["M N"], Y: bf16["M N"]):
    M, N = X.shape
    ag.launch(warps=WARPS)
    i = ag.block(ag.cdiv(M, 64))
    buf = ag.shared(bf16, (64, 64), dims="M N")
    for n in ag.range(0, N, 64):
        buf.store(ag.load(X[i * 64 :, n:], (64, 64)))
        ag.tma_store(Y[i * 64 :, n:], buf)
"""


def program(folder: Path, warps: int, *, synced: bool) -> Program:
    """A tile that is stored again and again; with the sync after the wait, or not."""
    path = folder / "kernel.py"
    path.write_text(SOURCE.replace("WARPS", str(warps)))
    kernel = load_kernels(path).kernels["copy"]
    made = placed_program(Request(kernel, {"X": bf16, "Y": bf16}))
    (loop,) = (op for op in walk(made.body) if isinstance(op, o.For))
    at = next(i for i, x in enumerate(loop.body.ops) if isinstance(x, o.CopyOutWait))
    if warps > 1:
        assert isinstance(loop.body.ops[at + 1], o.Sync)
        if not synced:
            del loop.body.ops[at + 1]
    return made


def kinds(made: Program) -> set[str]:
    x = np.arange(64 * 256, dtype=np.uint16).reshape(64, 256) % 0x4000
    y = np.zeros_like(x)
    found = run(made, {"X": x, "Y": y}, {}, schedule="in_order", collect=True)
    if not found.errors:
        assert (x == y).all()
    return {fault.kind for fault in found.errors}


@pytest.mark.parametrize("warps", [1, 4])
def test_with_the_sync(tmp_path: Path, warps: int) -> None:
    assert kinds(program(tmp_path, warps, synced=True)) == set()


def test_without_the_sync(tmp_path: Path) -> None:
    made = program(tmp_path, 4, synced=False)
    assert kinds(made) == {"unordered"}
    # The verifier knows that, too.
    assert any(x.verdict is Verdict.REFUTED for x in obligations(made))
