"""Requirements with a solution that is known: values are found, and stay near."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.extents import MOST_EXTENT
from argus.ir.expr import Expr, Sym, binary, evaluate, holds
from argus.verify.decide.nearest import nearest
from few import EVERY

NAMES = "ABCDE"
SYMS = {n: Sym(n, "dim", nonneg=True) for n in NAMES}


@st.composite
def terms(draw: st.DrawFn, names: str = NAMES, kinds: int = 6) -> Expr:
    """Linear and rounded expressions of sizes, and from the fifth kind on products."""
    a, b = (SYMS[draw(st.sampled_from(names))] for _ in range(2))
    c, d = (
        draw(st.sampled_from((1, 3, 16, 48))),
        draw(st.sampled_from((2, 7, 64, 4096))),
    )
    match draw(st.integers(0, kinds)):
        case 0:
            return a
        case 1:
            return binary("+", binary("*", a, c), binary("*", b, d))
        case 2:
            return binary("//", binary("+", a, d - 1), d)
        case 3:
            return binary("//", binary("+", binary("*", a, c), binary("+", b, d)), d)
        case 4:
            return binary(draw(st.sampled_from(("min", "max"))), a, binary("*", b, c))
        case 5:
            return binary("*", a, b)
        case _:
            return binary("*", binary("//", binary("+", a, d - 1), d), b)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Expr], dict[str, int], dict[str, int]]:
    """Conditions, values for which they hold, and values that are wanted."""
    known = {n: draw(st.integers(1, 40_000)) for n in NAMES}
    conditions: list[Expr] = []
    for name, before in (("D", "ABC"), ("E", "ABCD")):
        if draw(st.booleans()):
            e = draw(terms(before))
            known[name] = max(int(evaluate(e, known)), 1)
            if known[name] > MOST_EXTENT:
                known[name] = 1
            else:
                conditions.append(binary("==", SYMS[name], binary("max", e, 1)))
    for _ in range(draw(st.integers(1, 4))):
        e = draw(terms())
        value = int(evaluate(e, known))
        match draw(st.integers(0, 4)):
            case 0:
                conditions.append(binary("==", e, value))
            case 1:
                by = draw(st.sampled_from((2, 16, 24, 448)))
                conditions.append(binary("==", binary("%", e, by), value % by))
            case 2:
                conditions.append(binary(">=", e, value - draw(st.integers(0, 5))))
            case 3:
                # Of products such an equation may be as hard as any in integers.
                e, other = draw(terms("ABC", 4)), draw(terms("ABC", 4))
                value = int(evaluate(e, known))
                apart = value - int(evaluate(other, known))
                conditions.append(binary("==", e, binary("+", other, apart)))
            case _:
                other = draw(terms())
                op = "<=" if value <= int(evaluate(other, known)) else ">"
                conditions.append(binary(op, e, other))
    wanted = {n: draw(st.sampled_from((1, 2, 16, 64, 100))) for n in NAMES}
    return conditions, known, wanted


@given(problems())
@settings(max_examples=120 if EVERY else 60)
def test_what_has_a_solution_is_solved(
    problem: tuple[list[Expr], dict[str, int], dict[str, int]],
) -> None:
    conditions, known, wanted = problem
    assert all(holds(c, known) for c in conditions)
    found = nearest(conditions, wanted, NAMES)
    assert found.values is not None, found.open or "none, it says"
    assert all(holds(c, found.values) for c in conditions)
    assert all(1 <= n <= MOST_EXTENT for n in found.values.values())


@given(problems(), st.sampled_from(NAMES))
@settings(max_examples=60 if EVERY else 30)
def test_what_is_not_free_stays(
    problem: tuple[list[Expr], dict[str, int], dict[str, int]], name: str
) -> None:
    conditions, known, wanted = problem
    wanted = {**wanted, name: known[name]}
    found = nearest(conditions, wanted, [n for n in NAMES if n != name])
    assert found.values is not None, found.open or "none, it says"
    assert found.values[name] == known[name]


def ceil(a: Expr, by: int) -> Expr:
    return binary("//", binary("+", a, by - 1), by)


A, B, C, D, E = SYMS.values()


@pytest.mark.parametrize(
    ("conditions", "wanted", "expected"),
    [
        # A size that others say follows them.
        ([binary("==", A, ceil(B, 64))], {"A": 9, "B": 100}, {"A": 2, "B": 100}),
        # ... unless it cannot: the other comes as near as it can.
        (
            [binary("==", A, ceil(B, 4096)), binary("==", binary("%", A, 16), 0)],
            {"A": 16, "B": 16},
            {"A": 16, "B": 15 * 4096 + 1},
        ),
        (
            [binary("==", binary("%", A, 448), 192), binary(">=", A, 1000)],
            {"A": 64},
            {"A": 1088},
        ),
        ([binary("<=", binary("*", A, B), 64)], {"A": 16, "B": 16}, {"A": 16, "B": 4}),
        (
            [binary("==", binary("*", A, B), binary("*", C, 77)), binary(">", C, 50)],
            {"A": 7, "B": 1, "C": 1},
            {"A": 7, "B": 561, "C": 51},
        ),
    ],
)
def test_near(
    conditions: list[Expr], wanted: dict[str, int], expected: dict[str, int]
) -> None:
    assert nearest(conditions, wanted, list(wanted)).values == expected


def test_factors_of_a_number() -> None:
    """What is multiplied is tried at divisors of the constants."""
    factors = (A, B, ceil(C, 16))
    product = binary("*", binary("*", A, B), factors[2])
    conditions = [binary("==", product, 101 * 103 * 107)]
    conditions += [binary(">", f, 1) for f in factors]
    found = nearest(conditions, dict.fromkeys(NAMES, 1), NAMES)
    assert found.values is not None, found.open
    values = [int(evaluate(f, found.values)) for f in factors]
    assert sorted(values) == [101, 103, 107]


@pytest.mark.parametrize(
    "conditions",
    [
        [binary("<", A, 1)],
        [binary(">", A, MOST_EXTENT)],
        [binary("==", binary("*", A, 2), binary("+", binary("*", B, 2), 1))],
        [binary("==", ceil(A, 64), B), binary(">", A, binary("*", B, 64))],
    ],
)
def test_what_has_none(conditions: list[Expr]) -> None:
    found = nearest(conditions, {"A": 5, "B": 5}, "AB")
    assert found.values is None and not found.open


def test_real_numbers() -> None:
    x = Sym("x", "param", "float")
    conditions = [binary(">", x, 2.5), binary("<", binary("*", x, A), 9.0)]
    found = nearest(conditions, {"x": 1.0, "A": 64}, ["A", "x"])
    assert found.values is not None
    assert all(holds(c, found.values) for c in conditions)


def test_what_cannot_be_decided_is_told() -> None:
    """A sum of three cubes for 114, of which nobody knows whether there is one."""
    cubes = [binary("*", x, binary("*", x, x)) for x in (A, B)]
    less = binary("*", C, binary("*", C, C))
    total = binary("+", binary("+", *cubes), 114)
    found = nearest(
        [binary("==", total, less)], dict.fromkeys("ABC", prod((2, 3))), "ABC"
    )
    assert found.values is None
    assert "is open" in found.open
