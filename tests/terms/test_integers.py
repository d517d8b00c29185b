"""Integers have one form, and it is the integer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.terms import Integer, World
from argus.terms.integers import variable_of

numbers = st.integers(-20, 20)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> object:
    """A tree of operations on x, y, z and numbers."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.sampled_from("xyz"), numbers))
    op = draw(st.sampled_from(["+", "-", "*", "//", "%", "min", "max"]))
    left = draw(expressions(depth - 1))
    if op in ("//", "%"):
        return op, left, draw(st.sampled_from([1, 2, 3, 4, 6, 8, -3]))
    return op, left, draw(expressions(depth - 1))


def symbolic(world: World, tree: object) -> Integer:
    if isinstance(tree, str):
        return world.variable(tree, 0, 12)
    if isinstance(tree, int):
        return Integer.of(tree)
    op, left, right = tree
    a, b = symbolic(world, left), symbolic(world, right)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "//": lambda: world.quotient(a, b),
        "%": lambda: world.remainder(a, b),
        "min": lambda: world.minimum(a, b),
        "max": lambda: world.maximum(a, b),
    }[op]()


def concrete(tree: object, env: dict[str, int]) -> int:
    if isinstance(tree, str):
        return env[tree]
    if isinstance(tree, int):
        return tree
    op, left, right = tree
    a, b = concrete(left, env), concrete(right, env)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "//": lambda: a // b,
        "%": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
    }[op]()


@given(expressions(), st.tuples(*[st.integers(0, 11)] * 3))
def test_the_simplified_integer_has_the_value_of_the_expression(
    tree: object, point: tuple[int, int, int]
) -> None:
    world = World()
    value = symbolic(world, tree)
    env = dict(zip("xyz", point, strict=True))
    fixed = {
        world.variable(name).atoms()[0]: Integer.of(number)
        for name, number in env.items()
    }
    assert world.substitute(value, fixed).constant == concrete(tree, env)


def test_mixed_radix_is_taken_apart() -> None:
    world = World()
    rows, columns = world.size("R"), world.size("C")
    r, c = world.variable("r", 0, rows), world.variable("c", 0, columns)
    tile = r * columns + c
    assert world.quotient(tile, columns) == r
    assert world.remainder(tile, columns) == c


@given(st.tuples(*[st.integers(1, 6)] * 5), st.integers(-3, 3))
def test_a_divisor_of_several_parts_is_taken_out(
    point: tuple[int, int, int, int, int], more: int
) -> None:
    world = World()
    p, q = world.size("P"), world.size("Q")
    i, j = world.variable("i", 0), world.variable("j", 0, p + q)
    tile = i * (p + q) + j
    assert world.quotient(tile, p + q) == i
    assert world.remainder(tile, p + q) == j
    two = 2 * p - q + 3  # of what is no such multiple nothing changes
    value = world.quotient((i + more) * two + i * p + j, two)
    env = dict(zip((i, j, p, q), point, strict=False))
    a, b, m, n = (env[x] for x in (i, j, p, q))
    fixed = {variable_of(x): Integer.of(number) for x, number in env.items()}
    if divisor := 2 * m - n + 3:
        wanted = ((a + more) * divisor + a * m + b) // divisor
        assert world.substitute(value, fixed).constant == wanted


def test_a_head_has_a_group_below_the_number_of_groups() -> None:
    world = World()
    heads, groups = world.size("H"), world.size("G")
    world.require(world.compare(heads, ">=", 1), "sizes are at least 1")
    world.require_divides(groups, heads)
    each = world.quotient(heads, groups)
    world.require(world.compare(each, ">=", 1), "G divides H, and H is not 0")
    group = world.quotient(world.variable("h", 0, heads), each)
    assert world.is_empty(world.compare(group, ">=", groups))
    assert world.is_empty(world.compare(group, "<", 0))
    assert not world.is_empty(world.compare(group, ">", 0))
    assert world.is_empty(world.compare(groups * each, "!=", heads))


def test_equal_quotients_are_equal_atoms() -> None:
    world = World()
    k = world.size("K")
    assert world.quotient(k - 1, 64) == world.quotient(k + 63, 64) - 1
    assert world.quotient(world.quotient(k, 4) + 3, 8) == world.quotient(k + 12, 32)
    assert world.quotient(6 * k + 4, 8) == world.quotient(3 * k + 2, 4)


def test_what_is_rounded_up_is_one_atom_however_it_is_spelt() -> None:
    world = World()
    n, k = world.size("N"), world.size("K")
    assert -world.quotient(-n, 128) == world.quotient(n + 127, 128)
    assert n - world.quotient(127 * n, 128) == world.quotient(n + 127, 128)
    assert -world.quotient(-n - 3 * k - 1, 8) == world.quotient(n + 3 * k + 8, 8)
    assert world.quotient(n, 3) != world.quotient(n + 2, 3)


@pytest.mark.parametrize("divisor", [3, 5, 7, 128])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_quotient_of_a_tile_is_that_of_its_index(divisor: int, more: int) -> None:
    """There and back: which one of two names a position has is of no matter."""
    world = World()
    tile, lane, whole = (world.variable(name, 0) for name in ("t", "l", "w"))
    names = {name: variable_of(x) for name, x in (("l", lane), ("w", whole))}
    one = world.quotient(whole + more, divisor)
    other = world.quotient(128 * tile + lane + more, divisor)
    assert world.substitute(one, {names["w"]: 128 * tile + lane}) == other
    assert world.substitute(other, {names["l"]: whole - 128 * tile}) == one


@pytest.mark.parametrize("divisor", [3, 5, 7, 128])
def test_what_is_rounded_up_has_one_form(divisor: int) -> None:
    world = World()
    x, y = world.variable("x", 0), world.variable("y", 0)
    for number in (x, 2 * x + y, 3 * x + 2 * y + 1, 127 * x + y):
        up = world.quotient(number + (divisor - 1), divisor)
        assert up == -world.quotient(-number, divisor)
