"""Counting wavefronts: known patterns, a slow reference, the kernels for the GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.targets import TARGETS
from argus.verify.performance.bank_conflicts import count_rows, count_vectors

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu"))

from bank_variants import VARIANTS, counts

from argus.codegen import emit
from argus.evaluation.disassembly import disassembler, sass
from argus.runtime.build import build
from few import spread

TARGET = TARGETS["sm_90a"]

LANES = np.arange(32, dtype=np.int64)[:, None]


def wavefronts(addresses: np.ndarray, size: int) -> tuple[int, int]:
    found = count_vectors(addresses, size, np.ones(addresses.shape, np.bool_), TARGET)
    return found.wavefronts, found.ideal


@pytest.mark.parametrize(
    ("stride", "size", "expected"),
    [
        (4, 4, (1, 1)),
        (8, 4, (2, 1)),
        (12, 4, (1, 1)),
        (128, 4, (32, 1)),
        (132, 4, (1, 1)),
        (0, 4, (1, 1)),
        (2, 2, (1, 1)),
        (128, 2, (32, 1)),
        (8, 8, (2, 2)),
        (16, 8, (4, 2)),
        (128, 8, (32, 2)),
        (16, 16, (4, 4)),
        (32, 16, (8, 4)),
        (144, 16, (4, 4)),
        (128, 16, (32, 4)),
    ],
)
def test_strides(stride, size, expected):
    assert wavefronts(LANES * stride, size) == expected


def test_the_threads_that_collide_are_named():
    found = count_vectors(LANES * 64, 4, np.ones((32, 1), np.bool_), TARGET)
    assert (found.wavefronts, found.ideal) == (16, 1)
    a, b = found.threads
    assert a != b
    assert 64 * a // 4 % 32 == 64 * b // 4 % 32 == found.bank
    assert found.words == (16 * a, 16 * b)


def test_inactive_threads_collide_with_none():
    active = np.zeros((32, 1), np.bool_)
    active[5] = True
    found = count_vectors(LANES * 128, 4, active, TARGET)
    assert (found.wavefronts, found.ideal, found.conflicts) == (1, 1, 0)
    nothing = count_vectors(LANES * 128, 4, np.zeros((32, 1), np.bool_), TARGET)
    assert nothing.wavefronts == 0


def test_the_worst_access_of_the_worst_warp():
    one = LANES * 4
    two = LANES * 8
    addresses = np.concatenate([np.hstack([one, one]), np.hstack([one, two])])
    found = count_vectors(addresses, 4, np.ones((64, 2), np.bool_), TARGET)
    assert (found.wavefronts, found.all_wavefronts, found.all_conflicts) == (2, 5, 1)
    assert min(found.threads) >= 32


@pytest.mark.parametrize(("pitch", "expected"), [(128, 8), (64, 4), (32, 2), (144, 1)])
def test_rows_of_a_matrix(pitch, expected):
    rows = np.arange(8, dtype=np.int64).reshape(1, 1, 1, 8) * pitch
    found = count_rows(np.repeat(rows, 4, axis=2), TARGET)
    assert (found.wavefronts, found.ideal) == (4 * expected, 4)


def slow_count(addresses, size, active) -> int:
    """Wavefronts of one access of one warp, straight from the definition."""
    lanes = {8: 16, 16: 8}.get(size, 32)
    total = 0
    for phase in range(0, 32, lanes):
        banks: dict[int, set[int]] = {}
        for lane in range(phase, phase + lanes):
            for word in range(max(1, size // 4)):
                if active[lane]:
                    touched = addresses[lane] // 4 + word
                    banks.setdefault(touched % 32, set()).add(touched)
        total += max(map(len, banks.values()), default=0)
    return total


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.integers(0, 200), min_size=64, max_size=64),
    st.lists(st.booleans(), min_size=64, max_size=64),
)
def test_against_the_definition(size, places, active):
    addresses = np.array(places, np.int64).reshape(32, 2) * size
    used = np.array(active).reshape(32, 2)
    found = count_vectors(addresses, size, used, TARGET)
    slow = [slow_count(addresses[:, i], size, used[:, i]) for i in range(2)]
    assert found.all_wavefronts == sum(slow)
    assert found.wavefronts in slow


# ------------------------------------------------------- the kernels for the hardware

MACHINE = {
    ("st.shared", 4): "STS ",
    ("st.shared", 8): "STS.64",
    ("st.shared", 16): "STS.128",
    ("st.shared", 2): "STS.U16",
    ("ld.shared", 4): "LDS ",
    ("ld.shared", 8): "LDS.64",
    ("ld.shared", 16): "LDS.128",
    ("ld.shared", 2): "LDS.U16",
}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_variants_are_what_they_are_called(variant):
    program = variant.program()
    made = [
        op.plan.instruction
        for op in program.body.ops
        if type(op).__name__ in ("StoreShared", "LoadShared")
    ]
    assert tuple(made) == variant.instructions


def test_what_is_predicted_for_the_hardware():
    """By hand: accesses x warps x (wavefronts - phases)."""
    found = {v.name: counts(v.program()) for v in VARIANTS}
    loads = {name: c["ld"].conflicts for name, c in found.items()}
    assert loads["4 bytes, rows, columns"] == 4 * 31
    assert loads["4 bytes, columns, swizzled"] == 4 * 3
    assert loads["8 bytes, columns"] == 4 * 2 * 15
    assert loads["8 bytes, columns, swizzled"] == 4 * 2 * 1
    assert loads["16 bytes, columns"] == 4 * 4 * 7
    assert loads["16 bytes, columns, swizzled"] == 0
    assert loads["16 bytes, one for all"] == 0
    assert loads["matrices of rows 128 bytes apart"] == 16 * 4 * 7
    assert loads["matrices of rows 64 bytes apart"] == 8 * 4 * 3


# Each width, and matrices; tests on a GPU count what all of them do.
@pytest.mark.compiler
@pytest.mark.parametrize("variant", spread(VARIANTS[::2], 2), ids=lambda v: v.name)
def test_the_compiler_keeps_the_accesses(variant):
    """Each access of the plan is one instruction: what is counted is what runs."""
    if disassembler() is None:
        pytest.skip("nvdisasm is not installed")
    program = variant.program()
    code = sass(build(emit(program).text, "sm_90a").image)
    for op in program.body.ops:
        if type(op).__name__ not in ("StoreShared", "LoadShared"):
            continue
        plan = op.plan
        if "matrix" in plan.instruction:
            spelled = "LDSM" if plan.instruction.startswith("ld") else "STSM"
            size = ""
        else:
            size = plan.width * op.view.dtype.bytes
            spelled = MACHINE[plan.instruction, size]
        assert code.count(spelled) == plan.accesses, (spelled, plan.accesses)
