"""Votes: what they say in the interpreter, what is proved of them, and their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.interpret import run
from argus.ir.dtypes import bf16, f32, i32
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

HEAD = """import argus as ag
from argus import bf16, f32, i32


@ag.kernel
"""
VOTES = (
    HEAD
    + """def k(X: f32["M N"], V: i32["B 2"]):
    M, N = X.shape
    ag.launch(warps={warps})
    ag.require(N == 32, "a row is a tile")
    i = ag.block(ag.cdiv(M, 16))
    x = ag.load(X[i * 16 :, 0:32], (16, 32), fill=1.0)
    some, every = 0, 0
    if ag.any(x > 3.0):
        some = 1
    if ag.all(x > 0.0):
        every = 1
    V[i, 0] = some
    V[i, 1] = every
"""
)
CLIPPED = (
    HEAD
    + """def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 32))
    x = ag.load(X[i * 32 :, 0:64], (32, 64), fill={fill})
    if {vote}:
        x = ag.minimum(x, 3.0)
    Y[i * 32 :, 0:64] = x
"""
)


def _request(folder: Path, text: str, **types) -> Request:
    path = folder / "k.py"
    path.write_text(text)
    facts = dict.fromkeys(("M", "N", "B", "X_s0", "V_s0", "Y_s0"), 1)
    return Request(load_kernels(path).kernels["k"], types, {}, "sm_90a", facts)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_what_they_say(tmp_path: Path, warps: int) -> None:
    request = _request(tmp_path, VOTES.format(warps=warps), X=f32, V=i32)
    x = np.ones((80, 32), np.float32)
    x[17, 3] = 4.0
    x[40, 31] = np.nan
    x[79, 0] = 0.0
    found = np.full((5, 2), -1, np.int32)
    run(placed_program(request), {"X": x, "V": found}, {})
    tiles = x.reshape(5, -1)
    some, every = np.any(tiles > 3, axis=1), np.all(tiles > 0, axis=1)
    np.testing.assert_array_equal(found, np.stack([some, every], axis=1))
    assert some.any()
    assert not some.all()
    assert every.any()
    assert not every.all()


def _verdict(folder: Path, fill: str, vote: str) -> Verdict:
    text = CLIPPED.format(fill=fill, vote=vote)
    return verify(placed_program(_request(folder, text, X=f32, Y=f32))).verdict


def test_padding_must_not_decide(tmp_path: Path) -> None:
    assert _verdict(tmp_path, "-ag.inf", "ag.any(x > 3.0)") is Verdict.PROVED
    assert _verdict(tmp_path, "ag.inf", "ag.any(x > 3.0)") is not Verdict.PROVED
    assert _verdict(tmp_path, "ag.inf", "ag.all(x > 3.0)") is Verdict.PROVED
    assert _verdict(tmp_path, "-ag.inf", "ag.all(x > 3.0)") is not Verdict.PROVED


@pytest.mark.parametrize(
    ("vote", "code", "help"),
    [
        ("x > 3.0", "AG0007", "ag.any"),
        ("ag.any(x)", "AG0105", "compare its elements"),
        ("ag.all(3.0)", "AG0105", ""),
        ("ag.any(x > 3.0, 1)", "AG0104", ""),
    ],
)
def test_errors(tmp_path: Path, vote: str, code: str, help: str) -> None:
    with pytest.raises(ArgusError) as caught:
        text = CLIPPED.format(fill="0.0", vote=vote)
        placed_program(_request(tmp_path, text, X=f32, Y=f32))
    found = next(iter(caught.value.diagnostics))
    assert found.code == code
    assert help in (found.help or "")


def test_any_is_still_a_type(tmp_path: Path) -> None:
    text = CLIPPED.format(fill="-ag.inf", vote="ag.any(x > 3.0)")
    text = text.replace('X: f32["M N"]', 'X: ag.any["M N"]')
    text = text.replace("64), fill=-ag.inf)", "64), fill=-ag.inf).to(f32)")
    placed_program(_request(tmp_path, text, X=bf16, Y=f32))
