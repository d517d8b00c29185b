"""Kernels that once ended in an exception that was no diagnosed mistake."""

from __future__ import annotations

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.proving import proved_all
from argus.interpret import ArgumentError, run
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.model.predict import predict
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

HEAD = "import argus as ag\nfrom argus import bf16, f32, i32, i64\n\n\n@ag.kernel\n"
KERNELS = {
    "a function of three operands, two of which are known numbers": """
def k(X: f32["M N"], Y: f32["M N"], c: i32 = 1):
    M, N = X.shape
    i = ag.block(M)
    x = ag.load(X[i, 0:], (64,))
    ag.require(N <= 64, "one tile")
    Y[i, 0:] = ag.fma(x, x, 0.5)
""",
    "a table that may name an end below its start": """
def k(E: i32["G"], X: f32["G M"], Y: f32["G"]):
    M = X.shape[1]
    g = ag.block(E.shape[0])
    last = E[g]
    acc = ag.zeros((1,), f32)
    for m in ag.range(0, last, 32):
        x = ag.load(X[g : g + 1, m:last], (1, 32))
        acc = acc + ag.sum(x, "M")
    Y[g : g + 1] = acc
""",
    "a divisor that is 0 for each element of a table": """
def k(T: i32["G"], Y: i32["G"]):
    g = ag.block(T.shape[0])
    rest = 12 % (T[g] - T[g])
    Y[g : g + 1] = ag.full((1,), rest, i32)
""",
    "a size that has to divide a number, and that a ring's loop is over": """
def k(X: f32["M N"], S: f32["M"]):
    M, N = X.shape
    ag.require(64 % N == 0, "whole units")
    i = ag.block(ag.cdiv(M, 16))
    ring = ag.ring(4, a=f32.tile(16, 32))
    with ag.role("fill", warps=1):
        for n in ag.range(0, N, 32):
            with ring.fill() as slot:
                slot.a.load(X[i * 16 :, n:])
    with ag.role("use", warpgroups=1):
        acc = ag.zeros((16,), f32, dims="M")
        for _ in ag.range(0, N, 64):
            with ring.drain() as slot:
                acc = acc + ag.sum(slot.a.load(), "N")
            with ring.drain() as slot:
                acc = acc + ag.sum(slot.a.load(), "N")
        S[i * 16 :] = acc
""",
    "a bound that a loop adds up from a table": """
def k(L: i64["G T"], X: f32["M N"], S: f32["G N"]):
    g, j = ag.block(L.shape[0], ag.cdiv(X.shape[1], 32))
    last = 0
    for t in ag.range(0, L.shape[1]):
        last = last + L[g, t]
    last = ag.min(last, X.shape[0])
    acc = ag.zeros((32,), f32, dims="N")
    for m in ag.range(0, last, 16):
        x = ag.load(X[m:, j * 32 :], (16, 32))
        acc = acc + ag.sum(ag.where(ag.index(x, "M") + m < last, x, 0.0), "M")
    S[g, j * 32 :] = acc
""",
}


@pytest.mark.parametrize("text", list(KERNELS.values()), ids=list(KERNELS))
def test_the_verifier_answers(text: str) -> None:
    kernel = load_kernels("crash.py", HEAD + text.lstrip("\n")).kernels["k"]
    dtypes = {t.name: DTYPES[t.dtypes[0].name] for t in kernel.signature.tensors}
    assert verify(placed_program(Request(kernel, dtypes))).obligations


def test_an_empty_array_has_no_strides() -> None:
    text = 'def k(X: f32["M N"], Y: f32["M N"]):\n    i = ag.block(X.shape[0])\n'
    text += "    Y[i, 0:] = ag.load(X[i, 0:], (32,)) * 2.0\n"
    kernel = load_kernels("empty.py", HEAD + text).kernels["k"]
    program = placed_program(Request(kernel, dict.fromkeys("XY", DTYPES["f32"])))
    empty = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (0, 32), (0, 0))
    run(program, {"X": empty.copy(), "Y": empty}, {})


def test_a_single_barrier_needs_no_index() -> None:
    """`bar.expect` is no annotation, though `ag.expect` is one."""
    text = """
def k(X: f32["M N"], Y: f32["M N"]):
    i = ag.block(ag.cdiv(X.shape[0], 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    bar = ag.barriers(1)
    with ag.role("load", warps=1):
        bar.expect(64 * 32 * 4)
        s.copy(X[i * 64 :, 0:], bar)
    with ag.role("use", warpgroups=1):
        bar.wait(0)
        Y[i * 64 :, 0:32] = s.load()
"""
    kernel = load_kernels("single.py", HEAD + text.lstrip("\n")).kernels["k"]
    program = placed_program(Request(kernel, dict.fromkeys("XY", DTYPES["f32"])))
    x, y = np.ones((64, 32), np.float32), np.zeros((64, 32), np.float32)
    run(program, {"X": x, "Y": y}, {})
    assert (y == 1).all()


@pytest.mark.parametrize(
    "where",
    ["ag.require(N % (G * W) == 0, 'whole groups')", "ag.block(N // G)"],
)
def test_a_launch_that_divides_by_zero_is_refused(where: str) -> None:
    text = f"""
def k(X: f32["N"], T: f32["G W"], Y: f32["N"]):
    N = X.shape[0]
    G, W = T.shape
    i = {where if "block" in where else "0"}
    {where if "require" in where else "pass"}
    Y[i * 32 :] = ag.load(X[i * 32 :], (32,))
"""
    kernel = load_kernels("zero.py", HEAD + text.lstrip("\n")).kernels["k"]
    request = Request(kernel, dict.fromkeys("XTY", DTYPES["f32"]))
    program = placed_program(request)
    arrays = {n: np.ones(16, np.float32) for n in "XY"}
    arrays["T"] = np.ones((0, 16), np.float32)
    with pytest.raises(ArgumentError, match=r"divides by zero|does not hold"):
        run(program, arrays, {})
    if "block" in where:
        with pytest.raises(ArgusError) as caught:
            predict(program, {"N": 16, "G": 0, "W": 16})
        assert caught.value.code == "AG0517"


@pytest.mark.parametrize("size", [0, 10**12, 2**62])
def test_sizes_that_no_launch_has_are_not_predicted(size: int) -> None:
    text = 'def k(X: f32["M N"], Y: f32["M N"]):\n    i, j = ag.block_tile('
    text += "X.shape[0], ag.cdiv(X.shape[1], 64))\n"
    text += "    Y[i, j * 64 :] = ag.load(X[i, j * 64 :], (64,))\n"
    kernel = load_kernels("large.py", HEAD + text).kernels["k"]
    program = placed_program(Request(kernel, dict.fromkeys("XY", DTYPES["f32"])))
    assert predict(program, {"M": 4, "N": 64}).microseconds > 0
    for sizes in ({"M": size, "N": 64}, {"M": size, "N": size}):
        with pytest.raises(ArgusError) as caught:
            predict(program, sizes)
        assert caught.value.code == "AG0517"


BEYOND = (
    HEAD
    + """def k(T: i32["G"], U: i64["G"], Y: i64["G"]):
    G = ag.dim("G")
    g = ag.block(G)
    v1 = U[g] * 3
    v2 = -v1
    Y[v2 : g + 1] = ag.full((1,), v2, i64)


@ag.reference
def reference(T, U, Y, **sizes):
    return -(U * 3)
"""
)


def test_a_search_survives_coordinates_beyond_64_bits() -> None:
    (kernel,) = load_kernels("made.py", BEYOND).kernels.values()
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    assert report.verdict < Verdict.PROVED


WHOLE = {
    "sizes of which one would be less than none": """
def k(X: f32["M N"], Y: f32["M H"]):
    M, H = Y.shape
    ag.require(X.shape[1] == 2 - H, "whole groups")
    i, j = ag.block(ag.cdiv(M, 4), ag.cdiv(H, 16))
    x = ag.load(X[i * 4 :, j * 32 :], (4, 32))
    Y[i * 4 :, j * 16 :] = (x[:, 0::2] - x[:, 1::2]).rename("M H")


@ag.reference
def reference(X, H):
    return X[:, 0::2] - X[:, 1::2]
""",
    "an mbarrier that an array does not have": """
def k(X: f32["M N"], E: i32["T"], S: f32["M"]):
    M, N = X.shape
    ag.assume(lambda e: (e >= 0) & (e <= N), E)
    ag.require(E.shape[0] == ag.cdiv(M, 32), "an end for each tile")
    i = ag.block(ag.cdiv(M, 32))
    tile = ag.shared(f32, (32, 32), stages=2)
    full, empty = ag.barriers(2, arrivals=1), ag.barriers(2, arrivals=4)
    with ag.role("fill", warps=1):
        c = 0
        last = E[i]
        for n in ag.range(0, last, 32):
            empty[c % 2].wait(c // 2 - 1)
            full[c % 2].expect(4096)
            tile[c % 2].copy(X[i * 32 :, n:], full[c % 2])
            c += 1
    with ag.role("use", warpgroups=1):
        c = 0
        last = E[i]
        acc = ag.zeros((32,), f32, dims="M")
        for n in ag.range(0, last, 32):
            full[c * 2].wait(c // 2)
            x = tile[c % 2].load().rename("M N")
            ag.fence_async()
            empty[c % 2].arrive(per="warp")
            c += 1
            x = ag.where(ag.index(x, "N") + n < last, x, 0.0)
            acc = acc + ag.sum(x, "N")
        S[i * 32 :] = acc


@ag.reference
def reference(X, E):
    import numpy as np

    M, N = X.shape
    inside = np.arange(N)[None, :] < E[np.arange(M) // 32][:, None]
    return np.where(inside, X, 0).sum(-1)
""",
}


@pytest.mark.parametrize("text", list(WHOLE.values()), ids=list(WHOLE))
def test_a_check_answers(text: str) -> None:
    kernel = load_kernels("crash.py", HEAD + text.lstrip("\n")).kernels["k"]
    assert proved_all(kernel, {}, "sm_90a", fresh=True).report.obligations
