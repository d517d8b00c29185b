"""A world that has answered for its time answers nothing more, however it is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from argus.equivalence.denoted import LimitedWorld
from argus.terms import Exhausted, IndexSet, World


def _covered(world: World, parts: list[IndexSet]) -> object:
    return world.is_covered(parts[0] | parts[1], parts[2:])


def _empty(world: World, parts: list[IndexSet]) -> object:
    return world.is_empty(parts[0])


@pytest.mark.parametrize("ask", [_covered, _empty])
def test_nothing_is_answered_when_the_time_is_over(
    ask: Callable[[World, list[IndexSet]], object],
) -> None:
    world = LimitedWorld(60.0)
    known = world.variable("known", 0, 9)
    parts = [world.compare(known, "==", n) for n in range(6)]
    assert ask(world, parts) is False
    world.limit(-1.0)
    with pytest.raises(Exhausted, match="CPU time"):
        ask(world, parts)
