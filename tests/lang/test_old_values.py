"""Atomics that say what was there: their meaning, what is proved, and their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.interpret import run
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32, i32
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

HEAD = """import argus as ag
from argus import bf16, f32, i32


@ag.kernel
"""
TICKETS = (
    HEAD
    + """def k(X: f32["M N"], Next: i32["1"], Y: f32["M N"]):
    M, N = X.shape
    ag.require(N <= 64, "a row is a tile")
    _ = ag.block(ag.cdiv(M, 32))
    t = ag.atomic_add(Next[0], 1)
    Y[t * 32 :, 0:64] = ag.load(X[t * 32 :, 0:64], (32, 64)) * 2.0
"""
)
SLOTS = (
    HEAD
    + """def k(X: i32["M"], C: i32["B"], Out: i32["M"]):
    M = X.shape[0]
    ag.launch(warps={warps})
    i = ag.block(ag.cdiv(M, 64))
    x = ag.load(X[i * 64 :], (64,), fill=-1)
    Out[i * 64 :] = ag.atomic_{fn}(C[x], {value}, mask=x != 3).rename("M")
"""
)


def _request(folder: Path, text: str, **types) -> Request:
    path = folder / "k.py"
    path.write_text(text)
    kernel = load_kernels(path).kernels["k"]
    dims = {d for t in kernel.signature.tensors for d in t.dims if isinstance(d, str)}
    facts = dict.fromkeys([*dims, *(f"{t}_s0" for t in types)], 1)
    return Request(kernel, types, {}, "sm_90a", facts)


def test_tickets_are_handed_out_once(tmp_path: Path) -> None:
    request = _request(tmp_path, TICKETS, X=f32, Next=i32, Y=f32)
    x = np.random.default_rng(0).normal(size=(100, 60)).astype(np.float32)
    y, count = np.zeros_like(x), np.zeros(1, np.int32)
    run(placed_program(request), {"X": x, "Next": count, "Y": y}, {})
    np.testing.assert_array_equal(y, 2 * x)
    assert count == 4


def test_tickets_are_not_proved(tmp_path: Path) -> None:
    """From another number than 0 on, the first rows are not written."""
    report = verify(placed_program(_request(tmp_path, TICKETS, X=f32, Next=i32, Y=f32)))
    assert report.verdict is Verdict.UNKNOWN
    bad = [x for x in report.obligations if x.verdict is Verdict.UNKNOWN]
    assert {x.rule for x in bad} == {"AG0306"}


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("fn", ["add", "max", "min", "exchange"])
def test_old_values_of_gathered_elements(tmp_path: Path, fn: str, warps: int) -> None:
    """Each sees what those before it have left, in some order of all."""
    text = SLOTS.format(fn=fn, value="ag.where(x > 4, 5, 2)", warps=warps)
    request = _request(tmp_path, text, X=i32, C=i32, Out=i32)
    rng = np.random.default_rng(1)
    x = rng.integers(-1, 9, 150).astype(np.int32)
    c = rng.integers(0, 4, 8).astype(np.int32)
    before, out = c.copy(), np.full(150, -7, np.int32)
    run(placed_program(request), {"X": x, "C": c, "Out": out}, {})
    inside = (x >= 0) & (x < 8) & (x != 3)
    assert (out[~inside] == 0).all()
    assert c[3] == before[3]
    for place in range(8):
        here = inside & (x == place)
        values = np.where(x[here] > 4, 5, 2)
        seen = sorted(out[here])
        steps = {
            "add": before[place] + np.cumsum([0, *values]),
            "max": np.maximum.accumulate([before[place], *values]),
            "min": np.minimum.accumulate([before[place], *values]),
            "exchange": np.array([before[place], *values]),
        }[fn]
        assert seen == sorted(steps[:-1])
        assert c[place] == steps[-1]


def test_compare_and_swap_has_one_winner(tmp_path: Path) -> None:
    text = SLOTS.replace("ag.atomic_{fn}(C[x], {value}", "ag.atomic_cas(C[x], 0, x + 1")
    request = _request(tmp_path, text.format(warps=2), X=i32, C=i32, Out=i32)
    x = np.tile(np.arange(8, dtype=np.int32), 20)
    c, out = np.zeros(8, np.int32), np.full(160, -7, np.int32)
    c[5] = 9
    run(placed_program(request), {"X": x, "C": c, "Out": out}, {})
    assert c.tolist() == [1, 2, 3, 0, 5, 9, 7, 8]
    for place in (0, 1, 2, 4, 6, 7):
        assert sorted(out[x == place])[:2] == [0, place + 1]
    assert (out[x == 5] == 9).all()
    report = verify(placed_program(request))
    assert report.verdict is Verdict.UNKNOWN


def test_a_statement_asks_for_no_old_values(tmp_path: Path) -> None:
    def kinds(line: str) -> set[type[o.Op]]:
        text = TICKETS.replace("t = ag.atomic_add(Next[0], 1)", line)
        request = _request(tmp_path, text, X=f32, Next=i32, Y=f32)
        program = placed_program(request)
        return {type(x) for x in walk(program.body) if isinstance(x, o.StoreGlobal)}

    assert o.Atomic not in kinds("t = 0; ag.atomic_add(Next[0], 1)")
    assert o.Atomic in kinds("t = ag.atomic_add(Next[0], 1)")
    assert o.Atomic in kinds("t = 0; ag.atomic_exchange(Next[0], 1)")


@pytest.mark.parametrize("rows", [1, 16])
def test_what_is_stored_of_old_values_is_unknown(tmp_path: Path, rows: int) -> None:
    """Also where threads hold copies, which get them through shared memory."""
    text = EXCHANGED.replace("ag.atomic_", "Z[{at} :, 0:64] = ag.atomic_")
    text = text.replace("32", str(rows)).replace("Y: f3" + str(rows), "Y: f32")
    text = text.replace("f" + str(rows), "f32").replace("k(X", 'k(Z: f32["M N"], X')
    text = text.format(grid=f"ag.cdiv(M, {rows})", at=f"i * {rows}")
    request = _request(tmp_path, text, Z=f32, X=f32, Y=f32)
    report = verify(placed_program(request))
    assert report.verdict is Verdict.UNKNOWN
    bad = [x for x in report.obligations if x.verdict is Verdict.UNKNOWN]
    assert {x.rule for x in bad} == {"AG0305"}
    assert "order of blocks" in bad[0].reason


EXCHANGED = (
    HEAD
    + """def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block({grid})
    x = ag.load(X[i * 32 :, 0:64], (32, 64))
    ag.require(N <= 64, "a row is a tile")
    ag.atomic_exchange(Y[{at} :, 0:64], x + 1.0)


@ag.reference
def reference(X):
    return X + 1
"""
)


def test_an_exchange_is_a_store(tmp_path: Path) -> None:
    right = EXCHANGED.format(grid="ag.cdiv(M, 32)", at="i * 32")
    request = _request(tmp_path, right, X=f32, Y=f32)
    assert verify(placed_program(request)).verdict is Verdict.PROVED
    wrong = EXCHANGED.format(grid="ag.cdiv(M, 32)", at="0 * i")
    request = _request(tmp_path, wrong, X=f32, Y=f32)
    assert verify(placed_program(request)).verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("t = ag.atomic_add(H[0], 1.0)", "AG0107", "no old values of bf16"),
        ("ag.atomic_exchange(H[0], 1.0)", "AG0107", "not defined for bf16"),
        ("ag.atomic_cas(X[0, 0], 1.0, 2.0)", "AG0107", "not defined for f32"),
        ("ag.atomic_cas(Next[0:1], ag.zeros((2,), i32), 2)", "AG0206", "expected"),
        ("ag.atomic_cas(Next[0:1], ag.zeros((1,), f32), 2)", "AG0106", "f32"),
        ("ag.atomic_cas(Next[0], 2)", "AG0104", ""),
    ],
)
def test_errors(tmp_path: Path, line: str, code: str, said: str) -> None:
    text = TICKETS.replace("t = ag.atomic_add(Next[0], 1)", f"t = 0\n    {line}")
    text = text.replace("k(X:", 'k(H: bf16["M"], X:')
    with pytest.raises(ArgusError) as caught:
        placed_program(_request(tmp_path, text, H=bf16, X=f32, Next=i32, Y=f32))
    found = next(iter(caught.value.diagnostics))
    assert (found.code, said in found.message) == (code, True), found
