"""Names of bound variables while the sums and maxima that bind them are taken apart.

A sum that is opened gets names that nothing else has. They are taken while a term is
made, and given back when it is done and does not mention them. So the same step on
sums that are alike has the same names, whatever was made before: what is asked of their
sets is one question, and its answer is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias

from argus.terms.integers import Integer, Variable

if TYPE_CHECKING:
    from argus.terms.term import Term
    from argus.terms.world import World

__all__ = ["OpenNames", "closing"]

_Given = ParamSpec("_Given")
_Kind: TypeAlias = tuple[str, Integer | None, Integer | None]
"""What a name begins with, and the bounds of its variable."""


class OpenNames:
    """The variables of a world that were opened, and which of them are taken."""

    def __init__(self) -> None:
        self._made: dict[_Kind, list[Integer]] = {}
        self._used: Counter[_Kind] = Counter()
        self._taken: list[_Kind] = []

    def take(self, kind: _Kind, make: Callable[[], Integer]) -> Integer:
        """The first variable of a kind that is not taken; ``make`` makes another."""
        made = self._made.setdefault(kind, [])
        number = self._used[kind]
        if number == len(made):
            made.append(make())
        self._used[kind] += 1
        self._taken.append(kind)
        return made[number]

    @property
    def taken(self) -> int:
        """How many are taken."""
        return len(self._taken)

    def since(self, count: int) -> frozenset[Variable]:
        """Those that were taken after so many others."""
        found: set[Variable] = set()
        back: Counter[_Kind] = Counter()
        for kind in reversed(self._taken[count:]):
            back[kind] += 1
            found |= self._made[kind][self._used[kind] - back[kind]].variables()
        return frozenset(found)

    def give_back(self, count: int) -> None:
        """All but so many, which were taken first."""
        for kind in self._taken[count:]:
            self._used[kind] -= 1
        del self._taken[count:]


def closing(
    make: Callable[Concatenate[World, _Given], Term],
) -> Callable[Concatenate[World, _Given], Term]:
    """A function that gives back what it has opened, unless its term mentions it."""

    @wraps(make)
    def made(world: World, *args: _Given.args, **named: _Given.kwargs) -> Term:
        names = world.open_names
        before = names.taken
        try:
            found = make(world, *args, **named)
        except BaseException:
            names.give_back(before)
            raise
        if names.taken > before and found.free_variables().isdisjoint(
            names.since(before)
        ):
            names.give_back(before)
        return found

    return made
