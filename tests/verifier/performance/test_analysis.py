"""Findings about whole kernels: which are conflict-free, and what a bad one is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.targets import TARGETS
from argus.verify.performance import measure, obligations
from argus.verify.performance.coalescing import count_sectors
from argus.verify.performance.resources import occupancy
from argus.verify.verdict import Verdict

TARGET = TARGETS["sm_90a"]

ROOT = Path(__file__).parents[3]


def program(path: str, name: str, target: str = "sm_90a", **statics: object):
    kernel = load_kernels(ROOT / path).kernels[name]
    return placed_program(Request(kernel, default_dtypes(kernel, {}), statics, target))


KERNELS = (
    ("src/argus/kernels/gemm/kernel.py", "gemm_sm90", "sm_90a"),
    ("src/argus/kernels/gemm/kernel.py", "gemm_sm80", "sm_80"),
    ("src/argus/kernels/norms/kernel.py", "softmax", "sm_90a"),
    ("src/argus/kernels/norms/kernel.py", "rmsnorm", "sm_80"),
    ("src/argus/kernels/attention/kernel.py", "attention", "sm_90a"),
    ("src/argus/kernels/grouped/kernel.py", "grouped_gemm", "sm_90a"),
)


@pytest.mark.parametrize(("path", "name", "target"), KERNELS)
def test_the_library_has_no_bank_conflicts_and_fits(path, name, target):
    made = list(obligations(program(path, name, target)))
    assert made
    assert all(o.slow for o in made)
    for o in made:
        assert o.verdict is not Verdict.UNKNOWN, o
        if o.rule != "AG0512":
            assert o.verdict is Verdict.PROVED, o


def test_rows_are_read_in_whole_sectors():
    facts = measure(program("src/argus/kernels/norms/kernel.py", "softmax"))
    assert facts.worst() == {
        "bank_conflicts": 0,
        "excess_sectors": 0,
        "access_bytes": 16,
        "occupancy": 1,
    }
    assert facts.unknown == ()


def test_a_swizzle_left_out_names_the_line_and_the_threads():
    path = "tests/gpu/kernels/banks.py"
    made = list(obligations(program(path, "matrices", SWIZZLE=0)))
    found = [o for o in made if o.rule == "AG0511" and o.verdict is Verdict.REFUTED]
    lines = (ROOT / path).read_text().splitlines()
    assert len(found) == 2
    for o in found:
        assert "s.store" in lines[o.span.line - 1] or "s.load" in lines[o.span.line - 1]
        evidence = o.counterexample
        assert evidence is not None
        assert "32 wavefronts where 4 would do" in evidence.message
        assert "different words of bank" in evidence.notes[0]
        assert evidence.place.thread is not None
    swizzled = obligations(program(path, "matrices", SWIZZLE=128))
    assert all(o.verdict is Verdict.PROVED for o in swizzled if o.rule == "AG0511")


def test_direct_stores_of_an_accumulator_touch_half_sectors():
    facts = measure(program("src/argus/kernels/gemm/kernel.py", "gemm_sm80", "sm_80"))
    worst = facts.excess_sectors
    assert worst is not None
    assert (worst.value, worst.ideal) == (8, 4)
    assert "8 runs of 16 to 16 bytes" in worst.why


@pytest.mark.parametrize(
    ("step", "sectors", "ideal"), [(4, 4, 4), (8, 8, 4), (32, 32, 4), (0, 1, 1)]
)
def test_sectors_by_stride(step, sectors, ideal):
    addresses = np.arange(32, dtype=np.int64).reshape(32, 1, 1) * step
    found, best = count_sectors(
        addresses, 4, np.ones(addresses.shape, np.bool_), TARGET
    )
    assert (int(found[0, 0]), int(best[0, 0])) == (sectors, ideal)


def test_a_row_that_begins_within_a_sector():
    addresses = np.arange(32, dtype=np.int64).reshape(32, 1, 1) * 4 + 4
    found, best = count_sectors(
        addresses, 4, np.ones(addresses.shape, np.bool_), TARGET
    )
    assert (int(found[0, 0]), int(best[0, 0])) == (5, 4)


def test_occupancy():
    """By the occupancy calculator; the GEMM has 12 warps."""
    gemm = program("src/argus/kernels/gemm/kernel.py", "gemm_sm90")
    found = occupancy(gemm, 168)
    assert (found.blocks, found.by) == (1, "shared memory")
    assert found.limits["registers"] == 1
    small = program("src/argus/kernels/norms/kernel.py", "softmax", WARPS=8)
    assert occupancy(small, 32).blocks == 8
    assert occupancy(small, 33).limits["registers"] == 6
    assert occupancy(small, 255).limits["registers"] == 1


def test_more_blocks_declared_than_fit():
    gemm = program("src/argus/kernels/gemm/kernel.py", "gemm_sm90")
    gemm.min_blocks = 2
    found = [o for o in obligations(gemm) if o.rule == "AG0510"]
    assert [o.verdict for o in found] == [Verdict.REFUTED]
    assert found[0].counterexample is not None
    assert "shared memory leave room for 1" in found[0].counterexample.message
