"""The normal form of a term is the number that its expression is.

Random expressions are evaluated directly, and as terms: after normalisation, after
variables were replaced, and where a set holds.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from term_trees import Case, Tree, close, fixed, trees

from argus.terms import (
    IndexSet,
    Integer,
    Value,
    World,
    apply,
    cast,
    element,
    evaluate_value,
    holds_at,
    joined,
    leaf_term,
    number,
    replace,
    restrict,
)
from argus.terms.input_values import RandomData
from argus.terms.leaves import Carried, Element
from argus.terms.powers import exponential, raised
from argus.terms.term import MINUS_INFINITY

QUICK = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
sizes = st.integers(1, 9)


def point_of(size: int, at: int, seed: int = 0) -> Case:
    return Case(size, at % size, seed)


@QUICK
@given(trees(), sizes, st.integers(0, 8))
def test_a_term_has_the_value_of_its_expression(tree: Tree, n: int, at: int) -> None:
    case = point_of(n, at)
    found = evaluate_value(case.value(tree), case.point(), case.data)
    assert found is not None
    assert close(found, case.number(tree))


@QUICK
@given(trees(), sizes, st.integers(0, 8))
def test_replacing_variables_keeps_the_value(tree: Tree, n: int, at: int) -> None:
    case = point_of(n, at)
    value = case.world.substitute(case.value(tree), fixed(case.point()))
    found = evaluate_value(value, {}, case.data)
    assert found is not None
    assert close(found, case.number(tree))


@QUICK
@given(trees(), sizes, st.integers(0, 8), st.integers(0, 4))
def test_a_restricted_term_is_the_term_where_the_set_holds(
    tree: Tree, n: int, at: int, limit: int
) -> None:
    case = point_of(n, at)
    world = case.world
    where = world.compare(case.free, "<=", limit) | world.compare(case.size, "==", 4)
    if not holds_at(where, case.point(), case.data):
        return
    value = cast(world, case.value(tree), "real")
    cases = [(s, Value.real(restrict(world, x, s & where))) for s, x in value.terms]
    found = evaluate_value(joined(world, cases), case.point(), case.data)
    assert found is not None
    assert close(found, case.number(tree))


@QUICK
@given(trees(3), trees(2), sizes, st.integers(0, 8))
def test_a_replaced_leaf_is_its_value(tree: Tree, other: Tree, n: int, at: int) -> None:
    case = point_of(n, at)
    world = case.world
    carried = leaf_term(Carried("c", [case.free]))
    open_value = apply(world, "mul", case.value(tree), Value.real(carried))
    open_value = apply(world, "maximum", open_value, Value.real(carried))
    by = cast(world, case.value(other), "real")
    closed = replace(
        world, open_value, lambda leaf: by if isinstance(leaf, Carried) else None
    )
    found = evaluate_value(closed, case.point(), case.data)
    assert found is not None
    c = case.number(other)
    assert close(found, max(case.number(tree) * c, c))


@QUICK
@given(trees(3), trees(3), sizes, st.integers(0, 8))
def test_equal_terms_are_equal_numbers(
    tree: Tree, other: Tree, n: int, at: int
) -> None:
    """Also of sums put together: (a + b) - b is a, whatever became of it."""
    case = point_of(n, at)
    world = case.world
    a, b = case.value(tree), case.value(other)
    again = apply(world, "sub", apply(world, "add", a, b), b)
    found = evaluate_value(again, case.point(), case.data)
    assert found is not None
    assert close(found, case.number(tree))


def test_what_is_not_claimed_absorbs() -> None:
    case = point_of(3, 0)
    zero = Value.real(number(0))
    a = Value.real(element("A", [case.free]))
    quotient = apply(case.world, "div", a, zero)
    total = apply(case.world, "add", apply(case.world, "mul", quotient, zero), a)
    assert total.term.undefined == "a division by 0"


def test_elements_are_equal_when_their_positions_are() -> None:
    case = point_of(3, 0)
    assert Element("A", [case.free + 1]) == Element("A", [1 + case.free])
    assert Element("A", [case.free]) != Element("A", [Integer.of(0)])
    assert Element("A", [case.free]) != Element("B", [case.free])


def test_a_sum_of_many_choices_is_one_case() -> None:
    world = World()
    size, total = world.size("N"), Value.real(number(0))
    for j in range(10):
        at = world.entry("T", (Integer.of(j),))
        there = world.compare(at, "<", size)
        value, nothing = Value.real(element("X", (at,))), Value.real(number(0))
        chosen = joined(world, [(there, value), (IndexSet.universe - there, nothing)])
        total = apply(world, "add", total, chosen)
    assert len(total.cases) <= 16  # and not two to the power of ten
    data, (variable,) = RandomData(3, 9), size.variables()
    table = [data.whole("T", (j,)) for j in range(10)]
    wanted = sum(data.real("X", (t,)) for t in table if t < 5)
    assert any(t < 5 for t in table)
    assert any(t >= 5 for t in table)
    assert evaluate_value(total, {variable: 5}, data) == wanted


def test_the_exponential_of_infinity_is_infinity() -> None:
    infinity = -MINUS_INFINITY
    assert exponential(infinity) == infinity
    assert raised(number(1) + exponential(infinity), -1) == number(0)
    assert (number(0) * exponential(infinity)).undefined is not None
