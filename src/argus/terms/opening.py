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
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
)

from argus.terms.integers import Integer, Variable

if TYPE_CHECKING:
    from argus.terms.term import Term
    from argus.terms.world import World

__all__ = ["Closing", "OpenNames", "closing"]

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
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


class Closing(Generic[_Made]):
    """Gives names back that were taken meanwhile, unless what was made mentions them.

    with Closing(world, Term.free_variables) as closed:
        k = world.opened("k")
        return closed(...)
    """

    def __init__(
        self, world: World, mentions: Callable[[_Made], frozenset[Variable]]
    ) -> None:
        self._names, self._mentions = world.open_names, mentions
        self._before = self._names.taken

    def __enter__(self) -> Callable[[_Made], _Made]:
        return self._closed

    def _closed(self, made: _Made) -> _Made:
        names, before = self._names, self._before
        if names.taken > before:
            free = self._mentions(made)
            if free.isdisjoint(names.since(before)):
                names.give_back(before)
        return made

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._names.give_back(self._before)


def closing(
    make: Callable[Concatenate[World, _Given], Term],
) -> Callable[Concatenate[World, _Given], Term]:
    """A function whose names are given back unless its term mentions them."""

    @wraps(make)
    def made(world: World, *args: _Given.args, **named: _Given.kwargs) -> Term:
        with Closing(world, _free_in) as closed:
            return closed(make(world, *args, **named))

    return made


def _free_in(term: Term) -> frozenset[Variable]:
    return term.free_variables()
