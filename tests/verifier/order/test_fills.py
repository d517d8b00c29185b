"""Which write a read finds: fills of one buffer, and buffers at one place.

All accesses here are ordered, so that nothing races; only the data is another one.
"""

from __future__ import annotations

import copy

import pytest

from argus.ir.program import Program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from verifier.order.check_order import failing, placed, told
from verifier.report.subjects import Mutant

HEAD = """import argus as ag
from argus import bf16


@ag.kernel
"""

TWO = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """Two buffers; each is written and read, one after the other."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    first = ag.shared(bf16, (64, BK), dims="M K")
    second = ag.shared(bf16, (64, BK), dims="M K")
    for k in ag.range(0, K, 2 * BK):
        first.store(ag.load(A[i * 64 :, k:], (64, BK)))
        ag.sync()
        x = first.load()
        ag.sync()
        second.store(ag.load(A[i * 64 :, k + BK :], (64, BK)))
        ag.sync()
        C[i * 64 :, k:] = x
        C[i * 64 :, k + BK :] = second.load()
        ag.sync()
'''
)
READ_LATE = ("        x = first.load()\n", ""), ("] = x", "] = first.load()")


def _overlapping(text: str, by: int) -> Program:
    """The second buffer begins ``by`` bytes after the first one."""
    program = copy.deepcopy(placed(text))
    first, second = program.shared
    assert first.offset is not None
    second.offset = first.offset + by
    return program


@pytest.mark.parametrize("by", [0, 64, 4096])
def test_bytes_are_used_again_once_they_are_read(by: int) -> None:
    bad = failing(_overlapping(TWO, by))
    assert not bad, told(bad)


@pytest.mark.parametrize("by", [0, 64, 4096])
def test_bytes_are_used_again_before_they_are_read(by: int) -> None:
    text = TWO
    for old, new in READ_LATE:
        assert old in text
        text = text.replace(old, new)
    assert not failing(placed(text))
    bad = failing(_overlapping(text, by))
    assert [(o.rule, o.verdict) for o in bad] == [("AG0402", Verdict.REFUTED)]
    found = bad[0].counterexample
    assert found is not None
    assert "wrote to second" in found.message
    assert text.splitlines()[bad[0].span.line - 1].endswith("= first.load()")


def test_buffers_of_the_library_that_overlap() -> None:
    program, _ = Mutant("gemm sm80 epilogue", "buffer_overlaps", 0).made()
    bad = failing(program)
    assert bad[0].verdict is Verdict.REFUTED, told(bad)


AGAIN = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """What belongs to one fill is written, read, and written once more."""
    M, K = A.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), stages=2, dims="M K")
    n = 0
    for k in ag.range(0, K, BK):
        tile[n % 2].store(ag.load(A[i * 64 :, k + BK :], (64, BK)))
        ag.sync()
        x = tile[n % 2].load()
        ag.sync()
        tile[n % 2].store(ag.load(A[i * 64 :, k:], (64, BK)))
        ag.sync()
        C[i * 64 :, k:] = x
        n += 1
'''
)
ITERATIONS = (
    HEAD
    + '''def kernel(A: bf16["M"], C: bf16["M"], *, BM: int = 128):
    """Another role reads what is written first; what comes then nobody reads."""
    (M,) = A.shape
    i = ag.block(ag.cdiv(M, BM))
    tile = ag.shared(bf16, (BM,), dims="M")
    with ag.role("write", warpgroups=1):
        tile.store(ag.load(A[i * BM + BM :], (BM,)))
        ag.arrive("full", threads=256)
        ag.sync("free", threads=256)
        tile.store(ag.load(A[i * BM :], (BM,)))
        ag.arrive("full", threads=256)
    with ag.role("read", warpgroups=1):
        ag.sync("full", threads=256)
        x = tile.load()
        ag.arrive("free", threads=256)
        ag.sync("full", threads=256)
        C[i * BM :] = x
'''
)
MIXED = (
    HEAD
    + '''def kernel(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """A tile that is written before the roles, and again and again in one."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), dims="M K")
    tile.store(ag.load(A[i * 64 :, 0:], (64, BK)))
    ag.sync()
    with ag.role("write", warpgroups=1):
        for k in ag.range(0, K, BK):
            ag.sync("free", threads=256)
            tile.store(ag.load(A[i * 64 :, k:], (64, BK)))
            ag.arrive("full", threads=256)
    with ag.role("read", warpgroups=1):
        for k in ag.range(0, K, BK):
            ag.arrive("free", threads=256)
            ag.sync("full", threads=256)
            C[i * 64 :, k:] = tile.load()
'''
)


@pytest.mark.parametrize(
    "text", [AGAIN, ITERATIONS, MIXED], ids=["again", "turns", "mixed"]
)
def test_which_of_several_writes_is_not_guessed(text: str) -> None:
    report = verify(placed(text), only=("tags", "order"))
    assert report.verdict is Verdict.UNKNOWN
