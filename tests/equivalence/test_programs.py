"""What is made once for all that is asked of a kernel, and what is not made at all."""

from __future__ import annotations

import pytest

from argus.equivalence import fitting
from argus.equivalence.programs import programs_of
from argus.evaluation.requests import default_dtypes
from argus.ir.walk import expressions, walk
from argus.lang.kernel import load_kernels
from argus.requests import Request

TEXT = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    m, n = ag.block(M, ag.cdiv(N, 128))
    Y[m : m + 1, n * 128 :] = ag.load(X[m : m + 1, n * 128 :], (1, 128)) * 2.0
"""


def request_of(text: str) -> Request:
    (kernel,) = load_kernels("k.py", text).kernels.values()
    return Request(kernel, default_dtypes(kernel, {}), {})


def test_copies_of_a_program_share_what_never_changes() -> None:
    programs = programs_of(request_of(TEXT))
    typed, tile = programs.typed, programs.tile
    assert typed.body is not tile.body
    for one, other in zip(walk(typed.body), walk(tile.body), strict=True):
        assert one is not other
        assert one.span is other.span
        for left, right in zip(expressions(one), expressions(other), strict=True):
            assert left is right


def test_no_sizes_are_looked_for_where_a_launch_requires_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        fitting, "with_others_small", lambda *_: pytest.fail("sizes are looked for")
    )
    programs = programs_of(request_of(TEXT))
    programs.__dict__["index_bounds"] = ()
    fitting.require_fitting(programs)
