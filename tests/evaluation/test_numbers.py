"""What binds of numbers: sizes that a launch refuses, and runs that are not finite."""

from __future__ import annotations

from typing import Any

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.render.checked import CheckedKernel
from argus.verify.render.data import report_json, report_of
from argus.verify.render.diagnostics import risks
from argus.verify.render.sarif import sarif
from argus.verify.verdict import Report, Verdict
from few import rest

KERNEL = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require({require}, "a row")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4{by} :, 0:], (4, BN){fill})
    Y[i * 4 :] = {value}
"""
FITS = "(N <= BN) & (N > 0)"
FREE = "N <= BN"
MEAN = "ag.sum(x, 'N') / N"
LARGEST = "ag.max(x, 'N')"
SUM = "ag.sum(x, 'N')"
SQUARE = "ag.sum(x * x, 'N')"
FIRST = "ag.argmax(x, 'N').to(f32)"
FROM_STAND_IN = "ag.maximum(ag.max(x, 'N'), -1e30)"
LAST = ", fill=-ag.inf"


def report(value: str, require: str = FITS, fill: str = "", by: str = "") -> Report:
    """What is said of all specialisations of a kernel."""
    text = KERNEL.format(value=value, require=require, fill=fill, by=by)
    (kernel,) = load_kernels("numbers.py", text).kernels.values()
    return proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report


@pytest.mark.parametrize(
    ("value", "fill", "rule"),
    [
        (MEAN, "", "AG0331"),
        (f"ag.rsqrt({SQUARE} / N)", "", "AG0331"),
        (f"{SUM} / {SQUARE}", "", "AG0331"),
        (f"ag.log({SQUARE})", "", "AG0331"),
        (LARGEST, LAST, "AG0332"),
        (FROM_STAND_IN, LAST, "AG0332"),
        (FIRST, LAST, "AG0332"),
    ],
)
def test_what_is_of_nothing(value: str, fill: str, rule: str) -> None:
    right = report(value, fill=fill)
    assert right.verdict is Verdict.PROVED
    assert not right.risks
    wrong = report(value, FREE, fill)
    assert wrong.verdict is Verdict.REFUTED
    (said,) = (o for o in wrong.obligations if o.verdict is Verdict.REFUTED)
    assert said.rule == rule
    assert said.counterexample is not None
    assert said.counterexample.sizes["N"] == 0
    assert said.counterexample.replayed


def test_a_size_that_is_refused() -> None:
    wrong = report(SUM, by=" * 1000003 // 1000003")
    said = next(o for o in wrong.obligations if o.rule == "AG0323")
    assert said.verdict is Verdict.REFUTED
    assert said.counterexample is not None
    # i * 4 * 1000003 is beyond 32 bits from block 537 on.
    assert said.counterexample.sizes["M"] == 4 * 536 + 1 + 4
    assert not any(o.rule == "AG0323" for o in report(SUM).obligations)


def test_a_finding_advises() -> None:
    found = report("ag.log(ag.sum(ag.exp(x), 'N'))", fill=LAST)
    assert found.verdict is Verdict.PROVED
    (shown,) = risks(found)
    assert shown.code == "AG0330"
    assert shown.severity == "warning"
    # It stays in the forms for tools.
    data: Any = report_json(found)
    assert report_of(data) == found
    log: Any = sarif([CheckedKernel(found.kernel, found.target, report=found)], "0")
    (run,) = log["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "AG0330"
    assert result["level"] == "warning"


ANGLE = """
import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def k(X: f32["T F"], Y: f32["T F"]):
    T, F = X.shape
    ag.require(T <= {most}, "positions")
    i, j = ag.block(ag.cdiv(T, 16), ag.cdiv(F, 64))
    x = ag.load(X[i * 16 :, j * 64 :], (16, 64))
    p = (i * 16 + ag.index(x, "T")).to({dtype}).to(f32)
    Y[i * 16 :, j * 64 :] = x * ag.broadcast({turned}, x)


@ag.reference
def ref(X):
    return X * {says}[:, None]
"""
POSITION = "np.arange(X.shape[0])"
TURNED = ("ag.cos(p * 0.25)", f"np.cos(0.25 * {POSITION})")
PARITY = ("p - 2.0 * ag.floor(p * 0.5)", f"({POSITION} % 2)")


@pytest.mark.parametrize("form", [TURNED, PARITY])
@pytest.mark.parametrize(
    ("dtype", "most", "right"),
    [("bf16", 256, True), ("bf16", 4096, False), ("f16", 2048, True),
     *rest(("f16", 70000, False)), ("f32", 70000, True)],
)  # fmt: skip
def test_positions_in_floats_of_16_bits(
    form: tuple[str, str], dtype: str, most: int, right: bool
) -> None:
    text = ANGLE.format(dtype=dtype, most=most, turned=form[0], says=form[1])
    (kernel,) = load_kernels("angles.py", text).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    assert found.verdict is (Verdict.EQUAL if right else Verdict.REFUTED)
    if not right:
        said = next(o for o in found.obligations if o.verdict is Verdict.REFUTED)
        assert (said.rule, said.span.line) == ("AG0323", 12)
        assert said.counterexample is not None
        assert said.counterexample.replayed


SQUARES = """
import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    ag.require(N <= {most}, "columns")
    i = ag.block(ag.cdiv(M, 4))
    square = ag.zeros((4,), {dtype}, dims="M")
    for n in ag.range(0, N, 64):
        x = ag.load(X[i * 4 :, n:], (4, 64))
        square = (square.to(f32) + ag.sum(x * x, "N")).to({dtype})
    Y[i * 4 :] = square.to(f32)
"""


@pytest.mark.parametrize(
    ("dtype", "most", "right"),
    [*rest(("bf16", 4096, True)), ("bf16", 1 << 16, False), ("f32", 1 << 20, True)],
)
def test_sums_that_stop_growing(dtype: str, most: int, right: bool) -> None:
    text = SQUARES.format(dtype=dtype, most=most)
    (kernel,) = load_kernels("squares.py", text).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    assert found.verdict is (Verdict.PROVED if right else Verdict.REFUTED)
    said = [o for o in found.obligations if o.verdict is Verdict.REFUTED]
    assert [(o.rule, o.span.line) for o in said] == ([] if right else [("AG0333", 15)])
    assert bool(found.risks) == (right and dtype == "bf16")


PLACES = """
import argus as ag
from argus import bf16, f32, i32, i64


@ag.kernel
def k(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    p = (j * BN + ag.index(x, "N")).to({dtype})
    Y[m, j * BN :] = ag.where(p < 300{dot}, x, 0.0)


@ag.reference
def ref(X):
    return np.where(np.arange(X.shape[1]) < 300, X, 0)
"""
ENTRIES = """
import argus as ag
from argus import bf16, f32, f64, i32, i64


@ag.kernel
def k(I: i32["P"], Y: i32["P"], *, B: int = 64):
    i = ag.block(ag.cdiv(I.shape[0], B))
    Y[i * B :] = ag.load(I[i * B :], (B,)).to({dtype}).to(i32)


@ag.reference
def ref(I):
    return I
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (PLACES.format(dtype="i32", dot=""), False),
        (PLACES.format(dtype="bf16", dot=".0"), True),
        (ENTRIES.format(dtype="i64"), False),
        (ENTRIES.format(dtype="f32"), True),
    ],
)
def test_a_single_place_or_entry_that_a_float_does_not_hold(
    text: str, wrong: bool
) -> None:
    (kernel,) = load_kernels("held.py", text).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    assert found.verdict is (Verdict.REFUTED if wrong else Verdict.EQUAL)
    said = [o.rule for o in found.obligations if o.verdict is Verdict.REFUTED]
    assert said == (["AG0323"] if wrong else [])


ADDED = """
import argus as ag
from argus import bf16, f32


@ag.kernel
def k(X: {dtype}["M N"], Y: {dtype}["N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    ag.atomic_add(Y[j * BN :], ag.load(X[m, j * BN :], (BN,)))


@ag.reference
def ref(X, Y):
    return Y + X.sum(0)
"""


@pytest.mark.parametrize(("dtype", "wrong"), [("f32", False), ("bf16", True)])
def test_blocks_that_add_a_row_each_in_16_bits(dtype: str, wrong: bool) -> None:
    (kernel,) = load_kernels("added.py", ADDED.format(dtype=dtype)).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    assert found.verdict is (Verdict.REFUTED if wrong else Verdict.EQUAL)
