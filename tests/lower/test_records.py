"""All readers follow an instruction's record: placing, interpreter, verifier, model.

Each test changes what a record says. What is missing then by one of them would be a
fact of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builder import Builder, ops

from argus.interpret import InterpreterError, f32_to_bf16, run
from argus.ir import ops as o
from argus.ir.dtypes import bf16
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.isa import registry
from argus.model import costs
from argus.model.hardware import H200
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

X = np.random.default_rng(0).integers(-9, 9, (64, 64)).astype(np.float32)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change effects of the records whose function begins with a name."""

    def changed(prefix: str, **effects: Any) -> None:
        look_up = registry.lookup

        def lookup(function: str) -> registry.Instruction:
            record = look_up(function)
            if not function.startswith(prefix):
                return record
            return replace(record, effects=replace(record.effects, **effects))

        monkeypatch.setattr(registry, "lookup", lookup)

    return changed


def product() -> Program:
    """Y = X @ X, by wgmma from what ordinary stores have written."""
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(x, (64, 64), 0, 0))
    b.store(y, b.cast(b.dot(b.part(s), b.part(s)), bf16), 0, 0)
    return b.placed()


def without(program: Program, *kinds: type[o.Op]) -> Program:
    for block in (program.body, *(i for op in walk(program.body) for i in blocks(op))):
        block.ops[:] = [op for op in block.ops if not isinstance(op, kinds)]
    return program


def broken(program: Program) -> set[str]:
    """Rules of order that are refuted."""
    found = verify(program).obligations
    return {
        x.rule for x in found if x.verdict is Verdict.REFUTED and x.rule[:4] == "AG04"
    }


def faults(program: Program) -> set[str]:
    arrays = {"X": f32_to_bf16(X), "Y": np.zeros((64, 64), np.uint16)}
    try:
        run(program, arrays, {})
    except InterpreterError as error:
        return {fault.kind for fault in error.faults}
    np.testing.assert_array_equal(arrays["Y"], f32_to_bf16(X @ X))
    return set()


def test_the_proxy_of_a_product(change: Callable[..., None]) -> None:
    assert len(ops(product(), o.Fence)) == 1
    bare = without(product(), o.Fence)
    assert broken(bare) == {"AG0408"}
    assert faults(bare) == {"proxy_fence"}

    change("argus_wgmma_m64", proxy="generic")
    assert not ops(product(), o.Fence)
    assert broken(bare) == set()
    assert faults(bare) == set()


def test_what_completes_a_product(change: Callable[..., None]) -> None:
    waits = o.WgmmaWait, o.WgmmaCommit
    assert all(len(ops(product(), kind)) == 1 for kind in waits)
    bare = without(product(), *waits)
    (dot,) = ops(bare, o.Dot)
    assert "AG0407" in broken(bare)
    assert faults(bare) == {"accumulator"}
    assert costs.product(dot, 4, 1, H200).over == "wgmma_group"

    change("argus_wgmma_m64", completes="issue")
    assert not any(ops(product(), kind) for kind in waits)
    assert broken(bare) == set()
    assert faults(bare) == set()
    assert costs.product(dot, 4, 1, H200).over == "issue"


def test_what_a_fence_is_for(change: Callable[..., None]) -> None:
    fenced = product()
    assert broken(fenced) == faults(fenced) == set()
    change("argus_fence_proxy_async", fence=None)
    assert broken(fenced) == {"AG0408"}
    assert faults(fenced) == {"proxy_fence"}


def test_what_a_wait_awaits(change: Callable[..., None]) -> None:
    waited = product()
    change("argus_wgmma_wait", awaits=("cp_async_group",))
    assert faults(waited) == {"accumulator"}
