"""Printed scalar expressions mean what the expression means."""

from __future__ import annotations

import ast
import ctypes
import math
import os
import random
import re
from pathlib import Path

import emulator
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_expressions import TYPES, Drawing

import argus.codegen
from argus.codegen.code import CppExpression, plus
from argus.codegen.expressions import code, literal
from argus.codegen.scalars import ScalarTypes
from argus.interpret.scalars import scalar_value
from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate
from argus.ir.ranges import Ranges
from argus.ir.wrapping import wrapped
from argus.isa.registry import cuda_prelude

A, B, C = Sym("a", "dim"), Sym("b", "let", nonneg=False), Sym("c", "loop")
S, V = Sym("s", "stride"), Sym("v", "let", nonneg=False)


def show(e: Expr) -> str:
    return code(e, lambda sym: CppExpression(sym.name), ScalarTypes()).bare


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
        (B // 8, "b >> 3"),
        ((A - 1) % 4, "(a - 1) & 3"),
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
    assert literal(value).bare == expected


def test_types() -> None:
    table = Ranges({"b": (-(2**31), 2**31 - 1), "v": (0, 255)}, {"b", "v"})
    scalars = ScalarTypes({}, table)
    assert scalars.ctype(A + C) == "int"  # the launch bounds it
    assert scalars.ctype(A * S) == "long long"
    assert scalars.ctype(Binary("<", A, S)) == "bool"
    assert scalars.ctype(B) == "int"
    assert scalars.ctype(A + B) == scalars.ctype(B * B) == "long long"
    assert scalars.ctype(B % 8 + 1) == scalars.ctype(V * V) == "int"
    assert scalars.ctype(B // -1) == "long long"
    assert (
        code(B * B, lambda s: CppExpression(s.name), scalars).bare == "(long long)b * b"
    )
    wrapping = code(wrapped(B * B * B), lambda s: CppExpression(s.name), scalars)
    assert wrapping.bare == "(long long)((u64)b * (u64)b * (u64)b)"


LEAVES = st.one_of(st.sampled_from([A, B, C]), st.integers(-9, 9).map(Const))


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = st.sampled_from(["+", "-", "*", "^", "min", "max"])
    divisors = st.sampled_from([*range(1, 10), -1, -2, -7]).map(Const)
    compared = st.builds(Binary, st.sampled_from(["<", "<=", "=="]), children, children)
    return st.one_of(
        st.builds(Binary, plain, children, children),
        st.builds(Binary, st.sampled_from(["//", "%"]), children, divisors),
        st.builds(Select, compared, children, children),
    )


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=12)


@given(EXPRESSIONS, st.integers(0, 50), st.integers(-50, 50), st.integers(0, 50))
def test_intervals_are_sound(e: Expr, a: int, b: int, c: int) -> None:
    known = {"a": (0, 50), "b": (-50, 50), "c": (0, 50)}
    low, high = Ranges(known, set(known)).of(e)
    assert low <= int(np.asarray(evaluate(e, {"a": a, "b": b, "c": c}))) <= high


SCALARS = ScalarTypes(TYPES)
COUNT = int(os.environ.get("ARGUS_EXPRESSIONS", "200"))


@pytest.mark.compiler
@pytest.mark.skipif(not emulator.available(), reason="needs g++")
def test_the_text_has_the_value(tmp_path: Path) -> None:
    """Random expressions of all types, compiled at once, against the interpreter."""
    drawing = Drawing(random.Random(COUNT))
    found = [drawing.expression() for _ in range(COUNT)]
    bodies: list[str] = []
    for number, e in enumerate(found):
        text = code(e, lambda sym: CppExpression(sym.name), SCALARS).bare
        kind = SCALARS.ctype(e)
        # What stands next to it shows what binds too weakly.
        beside = shared_pointer(e) if e.type == "int" else "0"
        bodies.append(
            f'extern "C" void e{number}(PARAMETERS, {kind}* r, long long* at) '
            f"{{ *r = {text}; *at = {beside}; }}"
        )
    kinds = {n: TYPES.get(n, "int") for n in drawing.values()}
    declared = ", ".join(f"{t} {n}" for n, t in kinds.items())
    prelude = emulator.plain_functions(
        cuda_prelude(["argus_floordiv", "argus_mod", "argus_max", "argus_min"])
    )
    body = prelude + "\n".join(bodies).replace("PARAMETERS", declared)
    library = emulator.compiled(body, tmp_path)
    wrong: list[str] = []
    for number, e in enumerate(found):
        run = getattr(library, f"e{number}")
        run.argtypes = [_CELLS[t] for t in kinds.values()] + [ctypes.c_void_p] * 2
        for _ in range(12):
            values = drawing.values()
            result = _CELLS[SCALARS.ctype(e)]()
            at = ctypes.c_longlong()
            run(*values.values(), ctypes.byref(result), ctypes.byref(at))
            exact = scalar_value(e, values)
            same = np.array_equal(result.value, exact, equal_nan=True)
            if same and isinstance(exact, np.float32) and exact == 0:
                same = math.copysign(1, result.value) == math.copysign(1, exact)
            if e.type == "int" and abs(int(exact)) < 2**62:
                same &= at.value == 1000 + int(exact)
            if not same:
                wrong.append(f"{e} is {exact}, found {result.value} with {values}")
    assert not wrong, "\n".join(wrong[:5])


_CELLS = {
    "int": ctypes.c_int,
    "long long": ctypes.c_longlong,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
}


def shared_pointer(e: Expr) -> str:
    """A sum with the expression on its right, as addresses are printed."""
    return plus(
        CppExpression("1000ll"), code(e, lambda sym: CppExpression(sym.name), SCALARS)
    ).bare


def test_text_is_not_glued() -> None:
    """In the printer, `.bare` stands alone: nothing around it can bind tighter."""
    folder = Path(argus.codegen.__file__).parent
    for file in folder.glob("*.py"):
        if file.name == "code.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
                sides = (node.left, node.right)
                assert not any(_is_bare(x) for x in sides), f"{file}:{node.lineno}"
            if not isinstance(node, ast.JoinedStr):
                continue
            for i, part in enumerate(node.values):
                if not (isinstance(part, ast.FormattedValue) and _is_bare(part.value)):
                    continue
                before, after = (_constant(node.values, i + d) for d in (-1, 1))
                alone = re.search(r"(^|@|[(\[{,;]|[^=<>!]= ?|return) *$", before)
                ended = re.match(r" *($|[)\]},;]|= )", after)
                assert alone and ended, (
                    f"{file.name}:{node.lineno}: {before!r} {after!r}"
                )


def _is_bare(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "bare"


def _constant(parts: list[ast.expr], i: int) -> str:
    if not 0 <= i < len(parts):
        return ""
    part = parts[i]
    return str(part.value) if isinstance(part, ast.Constant) else "?"


def test_a_text_without_precedence_is_refused() -> None:
    for use in (str, lambda x: f"{x}", "{}".format):
        with pytest.raises(TypeError):
            use(CppExpression("a ^ b", 5))
