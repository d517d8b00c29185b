"""Numerical findings: unsafe kernels beside safe ones, and the library is silent."""

from __future__ import annotations

import pytest

from argus.evaluation.requests import default_dtypes, request_for
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program
from argus.terms import World
from argus.verify.denotation import denote
from argus.verify.numbers import findings

ROW = """
import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def k(X: f32["M N"], Z: f32["M"], Y: f32["M N"], S: f32["M"], *, BN: int = 64):
    M, N = X.shape
    {require}
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,){fill})
    Y[m, 0:] = {value}
"""
LOOP = """
import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def k(X: bf16["M N"], S: {out}["M"], *, BN: int = 64):
    M, N = X.shape
    {require}
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4,), -1e30, f32, dims="M")
    s = ag.zeros((4,), {kept}, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN){fill}).to(f32)
        {body}
    {store}
"""
FITS = 'ag.require((N <= BN) & (N > 0), "a row")'
FREE = 'ag.require(N <= BN, "a row")'
MORE = 'ag.require(N > 0, "columns")'
LAST = ", fill=-ag.inf"


def rules(text: str) -> list[str]:
    """What is found in the kernel of a text."""
    (kernel,) = load_kernels("numbers.py", text).kernels.values()
    program = tile_program(Request(kernel, default_dtypes(kernel, {})))
    return [f.rule for f in findings(program, denote(program, World()))]


def row(value: str, require: str = FITS, fill: str = LAST) -> str:
    """A kernel of a whole row."""
    return ROW.format(value=value, require=require, fill=fill)


VARIANCE = "ag.sum(x * x, 'N') / N - (ag.sum(x, 'N') / N) * (ag.sum(x, 'N') / N)"
SAFE = [
    "ag.exp(x - ag.max(x, 'N')) / ag.sum(ag.exp(x - ag.max(x, 'N')), 'N')",
    "ag.exp2((x - ag.max(x, 'N')) * 1.44) / ag.sum(ag.exp2((x - ag.max(x, 'N')) "
    "* 1.44), 'N')",
    "x / (1.0 + ag.exp(-x))",
    "x * (1.0 / (1.0 + ag.exp(-x)))",
    "ag.where(x > 20.0, x, ag.log(1.0 + ag.exp(x)))",
    "ag.log(1.0 + ag.exp(-ag.abs(x)))",
    "ag.exp(x)",
    "ag.exp(x - Z[m])",
    "x - ag.sum(x, 'N') / N",
    "ag.sqrt(ag.sum((x - ag.sum(x, 'N') / N) * (x - ag.sum(x, 'N') / N), 'N') / N) + x",
    f"x * ag.rsqrt(ag.maximum({VARIANCE}, 0.0) + 1e-5)",
    f"x * ag.sqrt(ag.abs({VARIANCE}))",
    "x * ag.rsqrt(ag.sum(x * x, 'N') / N + 1e-5)",
    "x * ag.sqrt(ag.sum(x * x, 'N') - Z[m])",
    f"x * ({VARIANCE})",
]
UNSAFE = [
    ("ag.exp(x) / ag.sum(ag.exp(x), 'N')", "AG0330"),
    ("ag.exp(x) * (1.0 / ag.sum(ag.exp(x), 'N'))", "AG0330"),
    ("ag.exp(ag.abs(x)) / ag.sum(ag.exp(ag.abs(x)), 'N')", "AG0330"),
    ("ag.exp(x + ag.max(x, 'N')) / ag.sum(ag.exp(x + ag.max(x, 'N')), 'N')", "AG0330"),
    ("ag.log(1.0 + ag.exp(x))", "AG0330"),
    ("(ag.exp(x) - ag.exp(-x)) / (ag.exp(x) + ag.exp(-x))", "AG0330"),
    ("x / (N - 5)", "AG0331"),
    (f"x * ag.rsqrt({VARIANCE} + 1e-5)", "AG0334"),
    (f"x * ag.sqrt(2.0 * ({VARIANCE}))", "AG0334"),
    (f"x * ag.log({VARIANCE})", "AG0334"),
]


@pytest.mark.parametrize("value", SAFE)
def test_what_is_safe(value: str) -> None:
    assert rules(row(value, fill="" if "sum(x" in value else LAST)) == []


@pytest.mark.parametrize(("value", "rule"), UNSAFE)
def test_what_is_unsafe(value: str, rule: str) -> None:
    assert rule in rules(row(value))


ONLINE = """new = ag.maximum(m, ag.max(x, "N"))
        s = s * ag.exp(m - new) + ag.sum(ag.exp(x - new), "N")
        m = new"""
PLAIN = "s = s + ag.sum(x, 'N')"
ONE_PASS = "s = s + ag.sum(x * x, 'N')\n        m = m + ag.sum(x, 'N')"
NARROW = "s = (s.to(f32) + ag.sum(x, 'N')).to(bf16)"
LOOPS = [
    (ONLINE, "S[i * 4 :] = ag.log(s) + m", "f32", MORE, []),
    (ONLINE, "S[i * 4 :] = ag.log(s) + m", "f32", "pass", ["AG0331"]),
    (ONLINE.replace("x - new", "x"), "S[i * 4 :] = ag.log(s)", "f32", MORE, ["AG0330"]),
    (PLAIN, "S[i * 4 :] = s / N", "f32", MORE, []),
    (PLAIN, "S[i * 4 :] = s / N", "f32", "pass", ["AG0331"]),
    (PLAIN, "S[i * 4 :] = s", "f32", "pass", []),
    (
        ONE_PASS,
        "u = m / N\n    S[i * 4 :] = ag.rsqrt(s / N - u * u)",
        "f32",
        MORE,
        ["AG0334"],
    ),
    (NARROW, "S[i * 4 :] = s.to(f32)", "bf16", "pass", ["AG0333"]),
    ("m = ag.maximum(m, ag.max(x, 'N'))", "S[i * 4 :] = m", "f32", MORE, []),
    ("m = ag.maximum(m, ag.max(x, 'N'))", "S[i * 4 :] = m", "f32", "pass", ["AG0332"]),
]


@pytest.mark.parametrize(("body", "store", "kept", "require", "wanted"), LOOPS)
def test_loops(
    body: str, store: str, kept: str, require: str, wanted: list[str]
) -> None:
    fill = LAST if "m" in body.partition("=")[0] or "exp" in body else ""
    text = LOOP.format(
        body=body, store=store, kept=kept, require=require, fill=fill, out="f32"
    )
    assert sorted(set(rules(text))) == wanted


@pytest.mark.parametrize("name", ["softmax", "rmsnorm", "layernorm", "gemm"])
def test_the_library_is_silent(name: str) -> None:
    entry = LIBRARY[name]
    for case in entry.small[:2]:
        request, _ = request_for(entry, case, entry.targets[0])
        program = tile_program(request)
        assert list(findings(program, denote(program, World()))) == []


HANDED = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 4))
    {begin}
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        {handed}
        t{last} = ag.sum(x * x, "N") - ag.sum(x, "N") * ag.sum(x, "N")
    S[i * 4 :] = ag.sqrt(t0)
"""


@pytest.mark.parametrize("tiles", [2, 9])
def test_what_a_loop_hands_on_from_tile_to_tile(tiles: int) -> None:
    zeros = 'ag.zeros((4,), f32, dims="M")'
    text = HANDED.format(
        begin="\n    ".join(f"t{i} = {zeros}" for i in range(tiles)),
        handed="\n        ".join(f"t{i} = t{i + 1}" for i in range(tiles - 1)),
        last=tiles - 1,
    )
    assert rules(text) == ["AG0334"]
