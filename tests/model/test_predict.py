"""What predictions must be like, whatever the constants: finite, sane, complete."""

from __future__ import annotations

import itertools
import math
import time
from copy import deepcopy

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import contiguous_facts
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const
from argus.ir.walk import blocks, walk
from argus.kernels.gemm.kernel import gemm_sm90
from argus.kernels.library import LIBRARY
from argus.kernels.norms.kernel import softmax
from argus.lang.kernel import load_kernels
from argus.model import predict
from argus.model.hardware import H200
from argus.requests import Request, placed_program, tile_program
from few import EVERY
from predicted import every_size, gemm, library, sizes

SMALL = 2 if EVERY else 1
CASES = [(e.name, c) for e in LIBRARY.values() for c in (*e.small[-SMALL:], e.large[0])]
UNITS = {"tensor", "memory", "l2", "shared", "issue"}


@pytest.mark.parametrize(("entry", "case"), CASES, ids=lambda x: getattr(x, "name", x))
def test_every_case_of_the_library_has_a_time(entry, case):
    """And no unit is busy for longer than the kernel takes."""
    found = predict(library(entry, case), every_size(entry, case))
    assert math.isfinite(found.microseconds)
    assert found.microseconds > H200.launch_microseconds
    assert set(found.parts) == UNITS | {"waves", "launch"}
    # Extrapolated, so not exactly.
    assert all(0 <= found.parts[u] <= 1.02 * found.microseconds for u in UNITS), (
        found.parts
    )
    assert found.occupancy >= 1


def test_the_tensor_cores_are_never_faster_than_they_are():
    """2 M N K operations at 4096 per cycle and multiprocessor."""
    found = predict(gemm(), sizes(4096, 4096, 4096))
    rate = H200.tensor_flops * H200.multiprocessors * H200.clock_ghz * 1e3
    assert found.parts["tensor"] >= 2 * 4096**3 / rate
    assert found.bottleneck == "tensor"


def test_memory_is_never_faster_than_it_is():
    """A softmax reads and writes everything once."""
    case = LIBRARY["softmax"].large[0]
    found = predict(library("softmax", case), case.sizes)
    least = LIBRARY["softmax"].work(case).bytes / H200.dram_bytes_per_second * 1e6
    assert found.microseconds >= least
    assert found.bottleneck == "memory"


def test_the_blame_follows_the_size():
    """A tiny problem is launching, one with few tiles leaves multiprocessors idle."""
    assert predict(gemm(), sizes(64, 64, 64)).bottleneck in ("launch", "waves")
    assert predict(gemm(), sizes(256, 256, 8192)).bottleneck == "waves"


@pytest.mark.parametrize("form", ["sm90", "sm80"])
def test_more_work_takes_longer(form):
    """Along each dimension."""
    program = gemm(form)
    base = predict(program, sizes(2048, 2048, 2048)).microseconds
    for larger in (
        sizes(8192, 2048, 2048),
        sizes(2048, 8192, 2048),
        sizes(2048, 2048, 8192),
    ):
        ratio = predict(program, larger).microseconds / base
        assert 2.0 < ratio < 6.0, (larger, ratio)


@pytest.mark.parametrize("size", [(4096, 4096, 4096), (1024, 1024, 1024)])
def test_more_stages_are_not_slower(size):
    """As long as the same number of blocks is resident."""
    times = [predict(gemm(STAGES=n), sizes(*size)).microseconds for n in (2, 3, 4)]
    for fewer, more in itertools.pairwise(times):
        assert more <= 1.03 * fewer, times


def test_a_deeper_pipeline_overlaps_more():
    """Two slots of one depth cannot hide what four do."""
    two, four = (
        predict(gemm(STAGES=n), sizes(4096, 4096, 4096)).microseconds for n in (2, 4)
    )
    assert four < 0.95 * two


def test_waves_are_quantised():
    """One tile more than fits takes a second iteration."""
    program = gemm(BM=128, BN=256, CLUSTER=1)
    full = predict(program, sizes(128 * 132, 256, 8192))
    more = predict(program, sizes(128 * 133, 256, 8192))
    assert more.microseconds > 1.6 * full.microseconds
    assert more.parts["waves"] > full.parts["waves"]


def test_multicast_saves_what_is_fetched_and_not_what_enters():
    """It pays where rows straddle lines, so that more is fetched than is used."""
    alone, pair = gemm(CLUSTER=1), gemm(CLUSTER=2)
    for size, saved in ((4096, False), (4104, True)):
        one = predict(alone, sizes(size, size, size)).parts["l2"]
        two = predict(pair, sizes(size, size, size)).parts["l2"]
        assert (two < 0.85 * one) == saved


def test_rows_that_straddle_lines_cost_l2():
    """Of 4104 elements: most begin within a line of 128 bytes."""
    aligned = predict(gemm(), sizes(4096, 4096, 4096)).parts["l2"]
    odd = predict(gemm(), sizes(4096, 4096, 4104)).parts["l2"]
    assert odd > 1.2 * aligned


SHIFTED = """
import argus as ag
from argus import f32

@ag.kernel
def shifted(X: f32["M N"], Y: f32["M N"], *, SHIFT: int = 0):
    M, N = X.shape
    i, j = ag.block(M, ag.cdiv(N, 512))
    x = ag.load(X[i, j * 512 :], (512,))
    Y[i, j * 512 - SHIFT :] = x
"""
"""Of 512 columns, those before the first one belong to nobody."""


def test_what_lies_before_a_tensor_is_not_written():
    """Nor is what lies behind it: neither is counted."""
    (shifted,) = load_kernels("made.py", SHIFTED).kernels.values()
    memory: list[float] = []
    for shift in (-256, 0, 256, 512):
        shape = {"X": (2**18, 512), "Y": (2**18, 512)}
        facts = contiguous_facts(shifted, shape)
        types = {"X": f32, "Y": f32}
        request = Request(shifted, types, {"SHIFT": shift}, "sm_90a", facts)
        found = predict(placed_program(request), {"M": 2**18, "N": 512})
        memory.append(found.parts["memory"])
    behind, whole, before, none = memory
    assert behind == pytest.approx(before)
    assert none < 0.7 * whole
    assert before == pytest.approx((none + whole) / 2, rel=0.1)


def test_a_block_begins_each_cycle_at_most():
    """What very many blocks with next to no work are bound by."""
    statics = {"BN": 256, "ROWS": 1, "WARPS": 1}
    facts = contiguous_facts(softmax, {"X": (1, 256), "Y": (1, 256)})
    types = {"X": bf16, "Y": bf16}
    program = placed_program(Request(softmax, types, statics, "sm_90a", facts))
    found = predict(program, {"M": 2**20, "N": 256})
    begun = 2**20 / (H200.clock_ghz * 1e3)
    assert begun < found.microseconds < 1.1 * begun


def test_it_is_deterministic():
    """The same twice."""
    assert predict(gemm(), sizes(1000, 1000, 1000)) == predict(
        gemm(), sizes(1000, 1000, 1000)
    )


def test_it_is_fast():
    """At most 20 ms of processor time for a matrix product."""
    program, best = gemm(), math.inf
    for _ in range(5):
        begin = time.process_time()
        predict(program, sizes(4096, 4096, 4096))
        best = min(best, time.process_time() - begin)
    assert best < 20e-3


def test_a_missing_size_is_told():
    """By name."""
    with pytest.raises(ArgusError, match="`K`") as caught:
        predict(gemm(), {"M": 64, "N": 64})
    assert caught.value.code == "AG0517"


def test_a_program_that_is_not_placed_is_refused():
    """It has no instructions to count."""
    request = Request(gemm_sm90, dict.fromkeys("ABC", bf16))
    with pytest.raises(ValueError, match="not placed"):
        predict(tile_program(request), sizes(64, 64, 64))


def test_groups_that_wait_for_ever_are_told():
    """A ring of which no slot is given back."""
    program = deepcopy(gemm())
    for op in [op for op in walk(program.body) if blocks(op)]:
        for block in blocks(op):
            block.ops[:] = [x for x in block.ops if not isinstance(x, o.BarrierArrive)]
    with pytest.raises(ArgusError, match="wait for ever") as caught:
        predict(program, sizes(4096, 4096, 4096))
    assert caught.value.code == "AG0517"


def test_no_operation_is_skipped():
    """One that the model does not know is an error, not nothing."""
    program = deepcopy(gemm())
    op = next(op for op in walk(program.body) if isinstance(op, o.Dot))
    op.plan = None
    with pytest.raises(ValueError, match="not placed"):
        predict(program, sizes(64, 64, 64))
    program = deepcopy(gemm())
    ring = program.rings[0]
    program.body.ops.insert(0, o.RingAcquire(ring, Const(0), span=program.span))
    with pytest.raises(ValueError, match="ring operation"):
        predict(program, sizes(64, 64, 64))
