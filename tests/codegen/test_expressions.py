"""Printed scalar expressions mean what the expression means."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.codegen.expressions import ctype, interval, literal, text
from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate

A, B, C = Sym("a", "dim"), Sym("b", "let", nonneg=False), Sym("c", "loop")
S = Sym("s", "stride")


def show(e: Expr) -> str:
    return text(e, lambda sym: sym.name)


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (A + C * 2, "a + c * 2"),
        ((A + C) * 2, "(a + c) * 2"),
        (A - (C - 1), "a - (c - 1)"),
        (Binary("+", A, Binary("+", C, Const(1))), "a + c + 1"),
        ((A + 7) // 8, "(a + 7) / 8"),
        (A // 8 % 4, "a / 8 % 4"),
        (A // (C % 8), "a / (c % 8)"),
        (B // 8, "argus_floordiv(b, 8)"),
        ((A - 1) % 4, "argus_mod(a - 1, 4)"),
        (A ^ (A // 128 % 8 * 16), "a ^ (a / 128 % 8 * 16)"),
        (Binary("and", Binary("<", A, C), Binary("<", C, A)), "a < c && c < a"),
        (
            Binary("or", Binary("and", A, B), Binary("<", C, A)),
            "(a && b) || c < a",
        ),
        (Select(Binary("<", A, C), A, C), "a < c ? a : c"),
        (Binary("max", A, Binary("min", B, C)), "max(a, min(b, c))"),
        (Binary("/", A, C), "(float)a / (float)c"),
    ],
)
def test_spelling(e: Expr, expected: str) -> None:
    assert show(e) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (-3, "-3"),
        (1 << 40, "1099511627776ll"),
        (1.0, "1.0f"),
        (1e-30, "1e-30f"),
        (float("inf"), "__int_as_float(0x7f800000)"),
        (float("-inf"), "__int_as_float(0xff800000)"),
        (float("nan"), "__int_as_float(0x7fffffff)"),
    ],
)
def test_literals(value: float, expected: str) -> None:
    assert literal(value) == expected


def test_types() -> None:
    assert ctype(A + C, {}) == "int"
    assert ctype(A * S, {}) == "long long"
    assert ctype(A + B, {"b": "long long"}) == "long long"
    assert ctype(Binary("<", A, S), {}) == "bool"


LEAVES = st.one_of(st.sampled_from([A, B, C]), st.integers(-9, 9).map(Const))


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = st.sampled_from(["+", "-", "*", "^", "min", "max"])
    divisors = st.integers(1, 9).map(Const)
    compared = st.builds(Binary, st.sampled_from(["<", "<=", "=="]), children, children)
    return st.one_of(
        st.builds(Binary, plain, children, children),
        st.builds(Binary, st.sampled_from(["//", "%"]), children, divisors),
        st.builds(Select, compared, children, children),
    )


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=12)


class _Int(int):
    """C++ ints: / and % truncate, which is what the printer must have allowed for."""

    def __truediv__(self, other: int) -> int:
        assert self >= 0 and other > 0, "printed / although an operand may be negative"
        return _Int(int(self) // int(other))

    def __mod__(self, other: int) -> int:
        assert self >= 0 and other > 0, "printed % although an operand may be negative"
        return _Int(int(self) % int(other))


for _name in ("add", "sub", "mul", "xor", "neg"):

    def _method(self: _Int, *args: int, _op: str = f"__{_name}__") -> _Int:
        return _Int(getattr(int, _op)(self, *args))

    setattr(_Int, f"__{_name}__", _method)


def as_python(c: str) -> str:
    """C++ and Python agree on what is printed, but for ?: and xor's precedence."""
    c = re.sub(r"\b(\d+)\b", r"I(\1)", c)
    while "?" in c:
        # Innermost conditional: no ? or parenthesis inside its parts.
        start = c.index("?")
        left = start
        depth = 0
        while left > 0:
            ch = c[left - 1]
            depth += (ch == ")") - (ch == "(")
            if depth < 0 or (depth == 0 and ch == ","):
                break
            left -= 1
        colon, depth = start, 0
        while not (c[colon] == ":" and depth == 0):
            depth += (c[colon] == "(") - (c[colon] == ")")
            colon += 1
        right, depth = colon + 1, 0
        while right < len(c):
            depth += (c[right] == "(") - (c[right] == ")")
            if depth < 0 or (depth == 0 and c[right] == ","):
                break
            right += 1
        cond, then, other = c[left:start], c[start + 1 : colon], c[colon + 1 : right]
        c = f"{c[:left]}(({then}) if ({cond}) else ({other})){c[right:]}"
    return c


@given(EXPRESSIONS, st.integers(0, 50), st.integers(-50, 50), st.integers(0, 50))
def test_the_text_has_the_value(e: Expr, a: int, b: int, c: int) -> None:
    names = {
        "a": _Int(a),
        "b": _Int(b),
        "c": _Int(c),
        "I": _Int,
        "min": min,
        "max": max,
        "argus_floordiv": lambda x, y: _Int(int(x) // int(y)),
        "argus_mod": lambda x, y: _Int(int(x) % int(y)),
    }
    found = eval(as_python(show(e)), names)
    assert found == evaluate(e, {"a": a, "b": b, "c": c})


@given(EXPRESSIONS, st.integers(0, 50), st.integers(-50, 50), st.integers(0, 50))
def test_intervals_are_sound(e: Expr, a: int, b: int, c: int) -> None:
    low, high = interval(e, {"a": (0, 50), "c": (0, 50)})
    value = int(np.asarray(evaluate(e, {"a": a, "b": b, "c": c})))
    assert low is None or low <= value
    assert high is None or value <= high
