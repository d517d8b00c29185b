"""What conditions of a set say of the products that it mentions."""

from __future__ import annotations

from itertools import product

import pytest

from argus.terms import IndexSet, Integer, World
from argus.terms.multiplied import with_products


def _world() -> tuple[World, dict[str, Integer]]:
    world = World()
    names = {name: world.size(name) for name in "MN"}
    return world, names | {name: world.variable(name) for name in "bi"}


def test_a_bound_times_a_size() -> None:
    world, at = _world()
    b, i, m, n = (at[name] for name in "biMN")
    row = 8 * b + i
    inside = world.compare(row, "<", m) & world.compare(row, ">=", 0)
    last = row * n + n
    assert world.is_subset(inside, world.compare(last, "<=", m * n))
    assert not world.is_subset(inside, world.compare(last, "<", m * n))
    assert not world.is_subset(inside, world.compare(row * n, "<=", m * n - n - 1))
    # A factor that may be negative says nothing.
    other = world.variable("x")
    assert not world.is_subset(inside, world.compare(row * other, "<=", m * other))


@pytest.mark.parametrize("least", [0, 1])
def test_no_point_is_lost(least: int) -> None:
    """Whatever is added holds at every point, by trying them."""
    world, at = _world()
    b, i, m, n = (at[name] for name in "biMN")
    parts = [
        world.compare(2 * b + i, "<", m),
        world.compare(b, ">=", -1) & world.compare(n, ">=", least),
        world.compare(b * n + i, "<=", m * n) & world.compare(b * n, ">=", i * n - m),
        world.compare(b * m * n, "!=", i * m),
    ]
    where = world.close(parts[0] & parts[1] & parts[2] & parts[3])
    more, found = with_products(world, where), 0
    assert more is not where
    for values in product(range(-2, 3), range(-2, 3), range(4), range(4)):
        env = {
            variable: Integer.of(value)
            for name, value in zip("biMN", values, strict=True)
            for variable in at[name].variables()
        }
        one, other = (_holds(world, x, env) for x in (where, more))
        assert one == other, values
        found += one
    assert found > 5


def _holds(world: World, where: IndexSet, env: dict[object, Integer]) -> bool:
    return world.substitute(where, env).is_universe  # type: ignore[arg-type]
