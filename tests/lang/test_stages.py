"""Buffers whose stages are counted: the first index is a stage, also of one."""

from __future__ import annotations

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program
from verifier.equality.attacking import HEAD, decided_text

TEXT = """@ag.kernel
def k(A: f32["M K"], Y: f32["M"], *, BM=64, BK=32, ST={stages}):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.shared(f32, (BM, BK), stages=ST, dims="M K")
    acc = ag.zeros((BM,), f32, dims="M")
    st = 0
    for t in ag.range(ag.cdiv(K, BK)):
        s[{stage}].store(ag.load(A[i * BM :, {read} * BK :], (BM, BK)))
        acc = acc + ag.sum({tile}.load(), "K")
    Y[i * BM :] = acc


@ag.reference
def reference(A):
    return A.sum(1)
"""


@pytest.mark.parametrize("stages", [1, 2])
def test_a_stage_by_its_number(stages: int) -> None:
    given = {"stages": stages, "stage": "t % ST", "read": "t", "tile": "s[t % ST]"}
    assert decided_text(TEXT.format(**given)).equal
    assert not decided_text(TEXT.format(**{**given, "read": "(t + 1)"})).equal


def test_the_only_stage_needs_no_index() -> None:
    given = {"stages": 1, "stage": "0", "read": "t", "tile": "s"}
    assert decided_text(TEXT.format(**given)).equal


def test_a_part_of_the_only_stage() -> None:
    given = {"stages": 1, "stage": "0", "read": "t", "tile": "s[0, :, 0:16]"}
    assert not decided_text(TEXT.format(**given)).equal


def test_there_is_no_second_stage_of_one() -> None:
    text = TEXT.format(stages=1, stage="1", read="t", tile="s[0]")
    (kernel,) = load_kernels("made.py", HEAD + text).kernels.values()
    with pytest.raises(ArgusError, match="no stage 1"):
        tile_program(Request(kernel, default_dtypes(kernel, {}), {}, "sm_90a", {}))
