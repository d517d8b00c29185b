"""Names of opened variables: taken while a term is made, and given back after."""

import pytest

from argus.terms import (
    IndexSet,
    Term,
    Unknown,
    Value,
    Variable,
    World,
    element,
    number,
    reduce,
)
from argus.terms.opening import Closing, closing
from argus.terms.restrict import restrict
from argus.terms.sums import sum_over


def row_sum(world: World, tensor: str) -> Term:
    n, m, i = world.size("N"), world.size("M"), world.variable("i")
    k = world.fresh("k", 0, n)
    there = world.compare(k, "<", m - i) & world.compare(i, ">=", 0)
    made = reduce(world, "sum", [k], Value.real(element(tensor, [i, k])), there)
    return made.term


def variables_of(world: World) -> int:
    return len(world._variables)


def test_the_same_step_on_an_alike_sum_makes_no_variable() -> None:
    world = World()
    one, other = row_sum(world, "A"), row_sum(world, "B")
    (i,) = world.variable("i").atoms()
    assert isinstance(i, Variable)
    env = {i: world.size("M") - 3}
    world.substitute(one, env)
    before = variables_of(world)
    asked = len(world.space.combined)
    world.substitute(other, env)
    assert variables_of(world) == before
    assert len(world.space.combined) == asked  # and asks isl of no set again


def test_what_is_open_at_a_time_has_names_of_its_own() -> None:
    world = World()
    first, second = world.opened("f"), world.opened("f")
    assert first != second
    n = world.size("N")
    assert world.opened("f", None, n) not in (first, second)


def test_names_are_given_back_in_order() -> None:
    world = World()
    with Closing(world, Term.free_variables) as closed:
        a, b = world.opened("f"), world.opened("f")
        closed(number(1))
    assert [world.opened("f"), world.opened("f")] == [a, b]


def test_a_name_that_is_mentioned_is_kept() -> None:
    world = World()

    @closing
    def opened_element(world: World) -> Term:
        return element("A", [world.opened("f")])

    one, other = opened_element(world), opened_element(world)
    assert one != other
    with Closing(world, Value.free_variables) as closed:
        where = world.compare(world.opened("f"), ">", 0)
        kept = closed(Value.truth(where))
    assert kept.free_variables().isdisjoint(world.opened("f").variables())


def test_names_are_given_back_where_nothing_is_made() -> None:
    world = World()

    @closing
    def fails(world: World) -> Term:
        world.opened("f")
        raise Unknown("nothing")

    with pytest.raises(Unknown):
        fails(world)
    assert world.open_names.taken == 0


def test_a_sum_in_a_sum_is_bound_apart() -> None:
    """Both are open at once: their variables must not be one."""
    world = World()
    n, a = world.size("N"), world.variable("a")
    inner = row_sum(world, "A")
    (i,) = world.variable("i").atoms()
    assert isinstance(i, Variable)
    moved = world.substitute(inner, {i: a + 1})
    squared = inner * moved
    j = world.fresh("j", 0, n)
    (bound,) = j.atoms()
    assert isinstance(bound, Variable)
    both = world.substitute(squared, {i: j})
    total = sum_over(world, [bound], world.facts([(bound,)]), both)
    assert bound not in total.free_variables()
    assert not any(v.name.startswith("f.") for v in total.free_variables())
    again = restrict(world, total, world.compare(a, ">=", 0))
    assert not any(v.name.startswith("f.") for v in again.free_variables())
    assert total != sum_over(world, [bound], IndexSet.nothing, both)
