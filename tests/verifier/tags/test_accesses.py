"""Accesses are inside of what they touch, whatever the elements mean."""

from __future__ import annotations

import copy

import pytest

from argus.verify.tags import ProgramScope, accessed
from argus.verify.verdict import Verdict
from verifier.order.programs import program
from verifier.tags.check_tags import placed

PART = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 16))
    s = ag.shared(f32, (16, 64), dims="M N")
    s.store(ag.load(X[i * 16 :, 0:], (16, 64)))
    ag.sync()
    for c in ag.range(0, END, STEP):
        Y[i * 16 :, c:] = s[:, c : c + 32].load()
"""
"""Parts of a buffer, which begin where a loop says."""


@pytest.mark.parametrize(
    ("end", "step", "verdict"),
    [
        ("64", 32, Verdict.PROVED),
        ("33", 4, Verdict.PROVED),
        ("64", 16, Verdict.REFUTED),
        ("N", 32, Verdict.REFUTED),
    ],
)
def test_a_part_that_begins_anywhere_is_inside_of_its_buffer(
    end: str, step: int, verdict: Verdict
):
    text = PART.replace("END", end).replace("STEP", str(step))
    found = accessed(ProgramScope.of(placed(text)))
    (part,) = (o for o in found if o.claim == "the view is a part of s")
    assert (part.rule, part.span.line, part.verdict) == ("AG0313", 13, verdict)


WIDE = PART.replace("END", "64").replace("STEP", "32")


def test_vectors_are_aligned_wherever_a_part_begins():
    program = placed(WIDE)
    found = accessed(ProgramScope.of(program))
    rules = {(o.rule, o.span.line) for o in found if o.verdict is Verdict.PROVED}
    assert {("AG0320", 13), ("AG0313", 13)} <= rules


@pytest.mark.parametrize(("name", "kind"), [("ampere", "ld"), ("gemm", "st")])
@pytest.mark.parametrize(("apart", "verdict"), [(0, "PROVED"), (8, "REFUTED")])
def test_rows_of_matrices_begin_at_16_bytes(
    name: str, kind: str, apart: int, verdict: str
):
    made = copy.deepcopy(program(name))
    for alloc in made.shared:
        if alloc.offset is not None:
            alloc.offset += apart
    found = accessed(ProgramScope.of(made))
    rows = [o for o in found if o.claim.startswith(f"rows for {kind}matrix")]
    assert rows
    assert {o.rule for o in rows} == {"AG0320"}
    assert {o.verdict for o in rows} == {Verdict[verdict]}
