"""Sizes of 0: no launch has them, and a kernel says itself that it needs more.

What may be 0 besides: scalar arguments, quotients and differences of sizes, and
dimensions of which nothing but a scalar says how long they are.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.proving import proved_all
from argus.extents import LEAST_EXTENT, MOST_EXTENT
from argus.ir.expr import Sym, binary
from argus.ir.ranges import Ranges
from argus.lang.kernel import Kernel, load_kernels
from argus.targets import DEFAULT_TARGET
from argus.terms import World
from argus.verify.decide import prove
from argus.verify.verdict import Report, Verdict
from few import few

ROWS = """
import argus as ag
from argus import f32, i32

@ag.kernel
def k(X: f32["M N"], {more}Y: f32["M"]{scalar}, *, BN: int = 64):
    M, N = X.shape
    {require}
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4,), -ag.inf, f32, dims="M")
    s = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, {stop}, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill={fill})
        m = ag.maximum(m, ag.max(x, "N"))
        s = s + ag.sum({element}, "N")
    Y[i * 4 :] = {value}


@ag.reference
def ref(X{taken}):
    M, N = X.shape
    return {wanted}
"""


def kernel(
    value: str,
    wanted: str,
    *,
    require: str = "pass",
    more: str = "",
    scalar: str = "",
    stop: str = "N",
    element: str = "x",
) -> Kernel:
    """Rows of which something is divided by a number."""
    taken = ", W" if more else ", c" if scalar else ""
    text = ROWS.format(
        value=value, wanted=wanted, require=require, more=more, scalar=scalar,
        stop=stop, taken=taken, element=element,
        fill="0.0" if value.startswith("s") else "-ag.inf",
    )  # fmt: skip
    (made,) = load_kernels("rows.py", text).kernels.values()
    return made


def report(made: Kernel) -> Report:
    """What is said of all specialisations."""
    return proved_all(made, {}, DEFAULT_TARGET, fresh=True).report


RIGHT = {
    "a mean": ("s / N", "X.mean(1)", {}),
    "a maximum": ("m", "X.max(1)", {}),
    "the logarithm of a sum of positive numbers": (
        "ag.log(s)", "np.log(np.exp(X).sum(1))", {"element": "ag.exp(x)"},
    ),
    "a product of sizes": ("s / (M * N)", "X.sum(1) / (M * N)", {}),
}  # fmt: skip
WRONG = {
    "half of a row": ("s / (N // 2)", "X.sum(1) / (N // 2)", {}),
    "one less": ("s / (N - 1)", "X.sum(1) / (N - 1)", {}),
    "half of a row that a longer tensor has": (
        "s / (N // 2)", "X.sum(1) / (N // 2)",
        {"more": 'W: f32["H"], ',
         "require": 'ag.require(W.shape[0] == N // 2 + 1, "halves")'},
    ),
    "a scalar": ("s / c", "X.sum(1) / c", {"scalar": ", c: i32"}),
    "a maximum of whole tiles": (
        "m", "X[:, : N // 64 * 64].max(1)", {"stop": "N // BN * BN"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", few(RIGHT, "a mean", "the logarithm of a sum of positive numbers")
)
def test_rows_may_be_empty_unless_the_kernel_says_no(name: str) -> None:
    value, wanted, rest = RIGHT[name]
    assert report(kernel(value, wanted, **rest)).verdict < Verdict.PROVED
    required = {"require": 'ag.require(N > 0, "a row")', **rest}
    said = report(kernel(value, wanted, **required))
    assert said.verdict is Verdict.EQUAL
    assert not {"AG0331", "AG0332"} & {risk.rule for risk in said.risks}


@pytest.mark.parametrize(
    "name", few(WRONG, "half of a row", "a scalar", "a maximum of whole tiles")
)
def test_what_is_no_size_may_be_0(name: str) -> None:
    value, wanted, rest = WRONG[name]
    assert report(kernel(value, wanted, **rest)).verdict < Verdict.PROVED


def test_ranges_take_sizes_from_one_place() -> None:
    size, scalar = Sym("N", "dim"), Sym("c", "param", nonneg=False)
    assert Ranges({}).of(size) == (LEAST_EXTENT, MOST_EXTENT)
    assert Ranges({}).of(scalar)[0] < 0
    assert prove(binary(">=", size, LEAST_EXTENT)).verdict is Verdict.PROVED
    assert prove(binary(">", size, LEAST_EXTENT)).verdict is Verdict.REFUTED
    assert prove(binary("!=", scalar, 0)).verdict is Verdict.REFUTED
    world = World()
    assert not world.is_empty(world.compare(world.size("N"), "==", 0))  # a meaning


@pytest.mark.parametrize("shape", [(3, 0), (0, 0), (0, 5)])
def test_a_launch_refuses_what_proofs_leave_out(shape: tuple[int, int]) -> None:
    """Empty outputs alone are no launch: there is nothing to store."""
    made = kernel("s", "X.sum(1)")
    x, y = np.ones(shape, np.float32), np.ones(shape[0], np.float32)
    if not y.size:
        made(x, y)
        return
    with pytest.raises(ArgusError) as refused:
        made(x, y)
    assert refused.value.code == "AG0814"
