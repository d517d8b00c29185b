"""The layers of the decision procedure against brute force and against each other.

Random small expressions under random facts. No layer may ever say something wrong; all
of them together must decide nearly everything of this size.
"""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.verify.decide import Decision, negate, prove
from argus.verify.decide.conditions import proved
from argus.verify.decide.evaluation import DivisionByZero, on_ints
from argus.verify.decide.facts import conjuncts, skim
from argus.verify.decide.search import attempt, breaks
from argus.verify.decide.solver import solve
from argus.verify.verdict import Verdict

X = Sym("x", "let", nonneg=False)
Y = Sym("y", "loop")
N = Sym("n", "dim")
SYMBOLS = (X, Y, N)
RANGES = {"x": range(-9, 10), "y": range(13), "n": range(1, 11)}
FACTS = tuple(
    fact
    for s in SYMBOLS
    for fact in (
        Binary(">=", s, Const(RANGES[s.name][0])),
        Binary("<=", s, Const(RANGES[s.name][-1])),
    )
)
POINTS = [
    dict(zip(RANGES, values, strict=True))
    for values in itertools.product(*RANGES.values())
]

ARITHMETIC = ("+", "+", "-", "-", "*", "//", "%", "min", "max")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def numbers(symbols=SYMBOLS, ops=ARITHMETIC, depth=3):
    leaf = st.one_of(
        st.sampled_from(symbols), st.integers(-3, 9).map(Const), st.just(Const(8))
    )
    if depth == 0:
        return leaf
    inner = numbers(symbols, ops, depth - 1)
    small = st.sampled_from([Const(c) for c in (2, 3, 4, 8, 16)])
    return st.one_of(
        leaf,
        st.builds(Binary, st.sampled_from(ops), inner, inner),
        st.builds(Binary, st.sampled_from(("//", "%", "*")), inner, small),
        st.builds(Select, comparisons(inner), inner, inner),
    )


def comparisons(inner):
    return st.builds(Binary, st.sampled_from(COMPARISONS), inner, inner)


def goals(**how):
    one = comparisons(numbers(**how))
    return st.one_of(one, st.builds(Binary, st.sampled_from(("and", "or")), one, one))


def truth(goal: Expr, *extra: Expr) -> Verdict:
    """By brute force: proved, refuted, or unknown where the goal divides by zero.

    The points are those at which `FACTS` hold; ``extra`` are facts that leave some out.
    """
    undefined = False
    for point in POINTS:
        try:
            if not all(on_ints(f, point) for f in extra):
                continue
        except DivisionByZero:
            continue
        try:
            if not on_ints(goal, point):
                return Verdict.REFUTED
        except DivisionByZero:
            undefined = True
    return Verdict.UNKNOWN if undefined else Verdict.PROVED


def test_facts_hold_at_all_points():
    assert all(on_ints(f, point) for f in FACTS for point in POINTS)


def assert_right(found: Decision, goal: Expr) -> None:
    expected = truth(goal)
    assert found.verdict in (Verdict.UNKNOWN, expected), found
    if found.verdict is Verdict.REFUTED:
        assert breaks(found.model, goal, FACTS)
    assert "please report" not in found.reason


@settings(max_examples=83)
@given(goals())
def test_normal_form_proves_only_what_is_true(goal):
    if proved(goal, FACTS):
        assert truth(goal) is Verdict.PROVED


@settings(max_examples=50)
@given(numbers(), numbers(depth=1), st.sampled_from(["==", "<=", "%", "% n"]))
def test_facts_between_symbols(e, f, relation):
    """The facts hold together with others that define, bound or divide."""
    extra = {
        "==": Binary("==", X, f),
        "<=": Binary("<=", f, Y),
        "%": Binary("==", Binary("%", Y, Const(4)), Const(0)),
        "% n": Binary("==", Binary("%", Y, N), Const(0)),
    }[relation]
    facts = (*FACTS, extra)
    goal = Binary(">=", e, f)
    if proved(goal, facts):
        assert truth(goal, extra) is not Verdict.REFUTED


@settings(max_examples=33)
@given(goals())
def test_trying_values(goal):
    model = attempt(goal, FACTS, skim(goal, FACTS))
    if model is not None:
        assert breaks(model, goal, FACTS)
        assert truth(goal) is Verdict.REFUTED


@settings(max_examples=30)
@given(goals(depth=2))
def test_z3_on_integers(goal):
    answer = solve(goal, FACTS, skim(goal, FACTS), 300)
    expected = truth(goal)
    if answer.holds:
        assert expected is Verdict.PROVED
    if answer.holds is False and expected is not Verdict.UNKNOWN:
        assert answer.model is not None
        assert expected is Verdict.REFUTED


BOUNDED = (Y, N)
XOR = ("+", "*", "^", "^", "//", "%", "min")


@settings(max_examples=30)
@given(goals(symbols=BOUNDED, ops=XOR, depth=2))
def test_z3_on_xor(goal):
    answer = solve(goal, FACTS, skim(goal, FACTS), 500)
    if answer.holds:
        assert truth(goal) is Verdict.PROVED
    if answer.holds is False:
        assert truth(goal) is not Verdict.PROVED


@settings(max_examples=33)
@given(goals(symbols=BOUNDED, ops=XOR, depth=3))
def test_normal_form_of_xor(goal):
    if proved(goal, FACTS):
        assert truth(goal) is Verdict.PROVED


@settings(max_examples=50)
@given(goals())
def test_everything_together(goal):
    assert_right(prove(goal, FACTS), goal)


@settings(max_examples=30)
@given(goals(depth=2))
def test_unbounded_symbols(goal):
    """Without facts, what is proved holds at all points, and models are checked."""
    found = prove(goal, timeout_ms=100)
    if found.verdict is Verdict.PROVED:
        assert truth(goal) is Verdict.PROVED
    if found.verdict is Verdict.REFUTED:
        assert breaks(found.model, goal, ())


@settings(max_examples=33)
@given(goals())
def test_negation(goal):
    for point in POINTS[::37]:
        try:
            assert bool(on_ints(goal, point)) != bool(on_ints(negate(goal), point))
        except DivisionByZero:
            continue


@settings(max_examples=30)
@given(goals())
def test_conjuncts_mean_the_same(goal):
    for point in POINTS[::37]:
        try:
            whole = bool(on_ints(goal, point))
            parts = all(on_ints(c, point) for c in conjuncts((goal,)))
        except DivisionByZero:
            continue
        assert whole == parts
