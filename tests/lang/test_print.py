"""What a kernel prints: the same lines from the interpreter and the printed code."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from argus.codegen import emit
from argus.diagnostics import ArgusError
from argus.evaluation.judge.subject import check_silent
from argus.interpret import run
from argus.ir import ops as o
from argus.ir.dtypes import f32
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

sys.path.insert(0, str(Path(__file__).parent.parent / "codegen"))
from hostile import PAYLOAD, TEXTS

TEXT = """import argus as ag
from argus import bf16, f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], a: f32 = 2.5):
    M, N = X.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 16))
    x = ag.load(X[i * 16 :, 0:64], (16, 64), fill=-ag.inf)
{prints}    Y[i * 16 :, 0:64] = x
"""
PRINTS = """    ag.print("all", i, a, 7)
    ag.print("part", i, x[0:2, 0:2].to(bf16))
    if ag.any(x > 40.0):
        ag.print("large")
"""


def _program(folder: Path, prints: str):
    path = folder / "k.py"
    path.write_text(TEXT.format(prints=prints), errors="surrogatepass")
    facts = dict.fromkeys(("M", "N", "X_s0", "Y_s0"), 1)
    kernel = load_kernels(path).kernels["k"]
    request = Request(kernel, {"X": f32, "Y": f32}, {}, "sm_90a", facts)
    return placed_program(request)


def test_the_interpreter_prints(tmp_path: Path) -> None:
    lines: list[str] = []
    x = np.arange(20 * 2, dtype=np.float32).reshape(20, 2) + 0.5
    arrays = {"X": x, "Y": np.zeros_like(x)}
    program = _program(tmp_path, PRINTS)
    run(program, arrays, {"a": 2.5}, printed=lines.append)
    said = [line.split(": ", 1)[1] for line in lines]
    assert sorted(said) == sorted([
        "all 0 2.5 7", "part 0 [0, 0] 0.5", "part 0 [0, 1] 1.5", "part 0 [1, 0] 2.5",
        "part 0 [1, 1] 3.5", "all 1 2.5 7", "part 1 [0, 0] 32.5", "part 1 [0, 1] 33.5",
        "part 1 [1, 0] 34.5", "part 1 [1, 1] 35.5",
    ])  # fmt: skip
    assert all(line.startswith(("block 0, thread ", "block 1, ")) for line in lines)
    run(program, arrays, {"a": 2.5})


def test_proofs_are_the_same(tmp_path: Path) -> None:
    reports = [verify(_program(tmp_path, p)) for p in ("", PRINTS)]
    assert {r.verdict for r in reports} == {Verdict.PROVED}


def test_the_printed_code_calls_printf(tmp_path: Path) -> None:
    text = emit(_program(tmp_path, PRINTS)).text
    assert text.count("printf(") == 4
    assert '"all"' in text
    assert "%s %lld %.9g %lld" in text
    assert "printf" not in emit(_program(tmp_path, "")).text


@pytest.mark.parametrize("index", range(len(TEXTS)))
def test_texts_stay_texts(tmp_path: Path, index: int) -> None:
    """Whatever an author prints, the code around it is that of another text."""
    said = TEXTS[index]
    try:
        program = _program(tmp_path, f"    ag.print({said!a}, i)\n")
    except ArgusError as error:
        assert next(iter(error.diagnostics)).code == "AG0126"
        return
    plain = _program(tmp_path, '    ag.print("plain", i)\n')
    text, wanted = emit(program).text, emit(plain).text
    (line,) = (x for x in text.splitlines() if "printf(" in x)
    (same,) = (x for x in wanted.splitlines() if "printf(" in x)
    begin, end = same.split('"plain"')
    assert line.startswith(begin)
    assert line.endswith(end)
    inside = line[len(begin) : len(line) - len(end)]
    assert inside[0] == inside[-1] == '"'
    assert inside.isascii()
    bare = inside[1:-1].replace("\\\\", "")
    assert '"' not in bare.replace('\\"', "")
    code = [x for x in text.splitlines() if PAYLOAD in x and "printf(" not in x]
    assert all(x.lstrip().startswith("//") for x in code)


def test_what_prints_is_not_timed(tmp_path: Path) -> None:
    program = _program(tmp_path, PRINTS)
    assert any(isinstance(op, o.Print) for op in walk(program.body))
    with pytest.raises(ArgusError) as caught:
        check_silent(program)
    assert next(iter(caught.value.diagnostics)).code == "AG0127"
    check_silent(_program(tmp_path, ""))
