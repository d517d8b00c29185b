"""A bug names the line of the kernel that Argus was at, whichever layer it is in."""

from collections.abc import Callable

import numpy as np
import pytest

from argus.codegen import emit
from argus.diagnostics import bug
from argus.interpret import run
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program, tile_program
from argus.verify.verifier import verify

SOURCE = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    i = ag.block(X.shape[0])
    acc = ag.zeros((64,), f32, dims="N")
    for n in ag.range(0, X.shape[1], 64):
        acc = acc + ag.tanh(ag.load(X[i, n:], (64,)))
    Y[i] = ag.sum(acc, "N")
"""


class BrokenError(Exception):
    """What no code of Argus raises."""


def request() -> Request:
    kernel = load_kernels("bug.py", SOURCE).kernels["k"]
    return Request(kernel, dict.fromkeys("XY", DTYPES["f32"]))


def interpreted() -> None:
    arrays = {"X": np.ones((16, 64), np.float32), "Y": np.zeros(16, np.float32)}
    run(placed_program(request()), arrays, {})


@pytest.mark.parametrize(
    ("broken", "work", "line"),
    [
        ("lang.frontend.builtins.reduce._reduce", lambda: tile_program(request()), 11),
        ("lower.converts._split", lambda: placed_program(request()), 11),
        ("codegen.tiles.elementwise", lambda: emit(placed_program(request())), 10),
        ("codegen.reduce.reduce", lambda: emit(placed_program(request())), 11),
        ("verify.tags.registers.run", lambda: verify(placed_program(request())), 8),
        ("interpret.ops_compute._elementwise", interpreted, 10),
    ],
)
def test_the_line_is_named(
    monkeypatch: pytest.MonkeyPatch, broken: str, work: Callable[[], object], line: int
) -> None:
    def raising(*_: object, **__: object) -> None:
        raise BrokenError("oh")

    monkeypatch.setattr(f"argus.{broken}", raising)
    with pytest.raises(BrokenError) as caught:
        work()
    found = bug(caught.value, help="please report it")
    assert found.code == "AG0913"
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("bug.py", line)
    assert found.notes[0] == "BrokenError: oh"
    assert found.notes[1].startswith("raised at argus/")


def test_without_a_kernel_there_is_no_line() -> None:
    try:
        raise BrokenError("oh")
    except BrokenError as error:
        assert bug(error, help="").span is None
