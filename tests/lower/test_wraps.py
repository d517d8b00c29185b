"""Where a program says that a scalar wraps, against arithmetic that always wraps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from argus.diagnostics import Span
from argus.diagnostics.errors import ArgusError
from argus.ir.expr import Binary, Const, Expr, Select, Sym, axis, binary, evaluate
from argus.ir.printer import print_program
from argus.ir.ranges import I32, I64, Ranges, fits
from argus.ir.wrapping import unwrapped, wrapped
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.lower.wraps import Wrapping, wrap_scalars
from argus.targets import TARGETS

T, U, V = (Sym(n, "let", nonneg=False) for n in "tuv")
RANGES = Ranges({"t": I32, "u": I64, "v": (0, 255)}, {"t", "u", "v"})
HERE = Span("k.py", 1, 1, 1, 1)
ENDS = {
    "t": (0, 1, -1, 60000, *I32), "u": (0, 1, -1, 2**33, 2**62, *I64), "v": (0, 7, 255),
}  # fmt: skip
VALUES = st.fixed_dictionaries(
    {
        n: st.one_of(st.sampled_from(ENDS[n]), st.integers(*RANGES.known[n]))
        for n in "tuv"
    }
)


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    sums = st.sampled_from(["+", "-", "*", "min", "max", "^"])
    divisors = st.sampled_from([1, -1, 2, 7, -3, 2**40]).map(Const)
    compared = st.builds(binary, st.sampled_from(["<", "<=", "=="]), children, children)
    return st.one_of(
        st.builds(binary, sums, children, children),
        st.builds(binary, st.sampled_from(["//", "%"]), children, divisors),
        st.builds(Select, compared, children, children),
    )


LEAVES = st.one_of(
    st.sampled_from([T, U, V]), st.sampled_from([*I32, *I64, 3, -5, 2**33]).map(Const)
)
EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=10)


def held(value: int, bits: int = 64) -> int:
    """The number that so many bits hold."""
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def wrapping(e: Expr, env: dict[str, int]) -> int:
    """The value of an expression each of whose operations wraps."""
    match e:
        case Const(value=v):
            return held(int(v))
        case Sym():
            return env[e.name]
        case Select(cond=c, then=a, other=b):
            return wrapping(a if wrapping(c, env) else b, env)
        case Binary(left=a, right=b):
            parts = {"a": wrapping(a, env), "b": wrapping(b, env)}
            one = Binary(e.op, Sym("a", "let"), Sym("b", "let"))
            return held(int(evaluate(one, parts)))
        case _:
            raise TypeError(e)


@given(EXPRESSIONS, VALUES)
@example(T * T * T, {"t": 60000, "u": 0, "v": 0})
@example(U + 1, {"t": 0, "u": 2**63 - 1, "v": 0})
@example(U // -1, {"t": 0, "u": -(2**63), "v": 0})
def test_the_program_says_where_numbers_wrap(e: Expr, env: dict[str, int]) -> None:
    made = Wrapping(RANGES, HERE).number(e)
    assert fits(RANGES.of(made), I64)
    assert int(evaluate(made, env)) == wrapping(e, env)
    # A literal in what wraps may be another one once more, but comes to rest.
    again = Wrapping(RANGES, HERE).number(made)
    assert Wrapping(RANGES, HERE).number(again) == again


def test_what_fits_stays_as_it_is() -> None:
    for e in (T * T + U // 4, T * 3 - V, U % 1000 * T, V * V * V * V):
        assert Wrapping(RANGES, HERE).number(e) == e


@given(st.integers(-(2**70), 2**70), st.sampled_from([32, 64]))
def test_wrapped(value: int, bits: int) -> None:
    e = wrapped(U, bits)
    assert evaluate(e, {"u": value}) == held(value, bits)
    assert unwrapped(e) == (U, bits)


def test_coordinates_may_leave_64_bits_where_they_are_outside() -> None:
    """Where the start of a slice is near the end, its elements wrap to be outside."""
    coordinate = Wrapping(RANGES, HERE).coordinate
    assert coordinate(U + axis(0)) == U + axis(0)
    begins = coordinate(U * 64 + axis(0))
    assert coordinate(begins) == begins
    rows = np.arange(64)
    with np.errstate(over="ignore"):
        for u in (2**57, 2**63 - 1, -(2**63), 5):
            found = np.asarray(evaluate(begins, {"u": u, "%0": rows}))
            assert (found == (held(u * 64) + rows)).all()
    with pytest.raises(ArgusError, match="64 bits"):
        coordinate(U * axis(0))


TOTAL = """
import argus as ag

@ag.kernel
def total(X: ag.i64["N"], Y: ag.i64["N"]):
    sum = 0
    for i in ag.range(0, 9):
        sum = sum * 3 + X[i]
        Y[i:] = ag.full((1,), sum, ag.i64)
"""


def test_a_program_that_says_where_it_wraps_stays_as_it_is() -> None:
    kernel = load_kernels("total.py", TOTAL).kernels["total"]
    program = specialise(kernel, {}, {}, TARGETS["sm_80"])
    wrap_scalars(program)
    said = print_program(program)
    assert str(2**64) in said
    wrap_scalars(program)
    assert print_program(program) == said
