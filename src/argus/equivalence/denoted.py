"""The terms of a tile program, made once, and asked several questions.

    terms = Denoted(program)
    with terms.asked() as denotation:
        ...                               # what its world learns here is forgotten

Whether they are those of a reference, which numbers are safe, and what names of
dimensions say of them are such questions. What one of them teaches the world (a
reference needs sizes that are equal) is nothing that another may use.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from argus.clock import now
from argus.diagnostics import ArgusError
from argus.ir.program import Program
from argus.terms import Exhausted, IndexSet, Unknown, World
from argus.verify.denotation import Denotation, denote

__all__ = ["SECONDS", "Denoted", "LimitedWorld"]


SECONDS = 20.0
"""CPU time after which making terms, or a question about them, is given up."""


class LimitedWorld(World):
    """A world that answers no question after some CPU time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.limit(seconds)

    def limit(self, seconds: float) -> None:
        """Answer for so many seconds of CPU time, from now on."""
        self.seconds = seconds
        self.until = now() + seconds

    def in_time(self) -> None:
        """Raises Exhausted when the time is over."""
        if now() > self.until:
            raise Exhausted(f"comparing takes more than {self.seconds:g} s of CPU time")

    def close(self, where: IndexSet) -> IndexSet:
        """See `World.close`. Raises Exhausted when the time is over."""
        self.in_time()
        return super().close(where)

    @property
    def learned(self) -> tuple[int, int]:
        """How much launches are known to guarantee up to now."""
        return len(self.requirements), len(self.divisors)

    @contextmanager
    def knowing(self, learned: tuple[int, int]) -> Generator[None]:
        """Nothing that launches guarantee is known inside but what was known then."""
        kept = self.requirements, self.divisors
        self.requirements = self.requirements[: learned[0]]
        self.divisors = self.divisors[: learned[1]]
        self._forget()
        try:
            yield
        finally:
            self.requirements, self.divisors = kept
            self._forget()

    @contextmanager
    def unchanged(self) -> Generator[None]:
        """What is learned, noted and taken for granted inside is forgotten after."""
        noted = len(self.obligations)
        conventions = dict(self.conventions)
        infinities = self.true_infinity, self.finite_infinity
        entries = {name: list(facts) for name, facts in self.entry_facts.items()}
        pairs, distinct = list(self.pair_facts), dict(self.distinct)
        try:
            with self.knowing(self.learned):
                yield
        finally:
            self.obligations.forget_after(noted)
            self.conventions = conventions
            self.true_infinity, self.finite_infinity = infinities
            self.entry_facts = entries
            self.pair_facts, self.distinct = pairs, distinct


class Denoted:
    """The terms of a tile program, in a world of their own.

    ``seconds`` of CPU time were spent on them. ``large``: see `World.large_numbers`.
    """

    def __init__(
        self, program: Program, seconds: float = SECONDS, *, large: bool = False
    ) -> None:
        begin = now()
        self.world = LimitedWorld(seconds)
        self.world.large_numbers = large
        self._found: Denotation | Unknown | RecursionError | ArgusError
        try:
            self._found = denote(program, self.world)
        except (Unknown, RecursionError, ArgusError) as why:
            self._found = why
        self.seconds = now() - begin

    @contextmanager
    def asked(self, seconds: float = SECONDS) -> Generator[Denotation]:
        """The terms, for a question that takes so much CPU time at the most.

        Raises Unknown, RecursionError or ArgusError where they could not be made.
        """
        if not isinstance(self._found, Denotation):
            raise self._found
        self.world.limit(seconds)
        with self.world.unchanged():
            yield self._found
