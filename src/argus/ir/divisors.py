"""What is known to divide scalars, and a record of what was asked of it.

A program's ``facts`` are powers of two by symbol. The frontend and placing ask them
questions ("how wide may this access be?"), and only the answers decide what the program
becomes. So two specialisations that answer every question alike become the same
program, and `Given` tells without placing the second one:

    given = Given({"N": 16})
    place(specialise(kernel, facts=given, ...))
    given.answers_alike({"N": 8})      the same program, but for its facts

Who asks uses `take`, `define` and `ask`. What reads the facts in any other way counts
as asking for the number itself, which is right, and tells more apart than it need to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from argus.ir.expr import Expr, Sym, binary, divisor
from argus.ir.memory import GlobalTensor
from argus.ir.program import LaunchRequirement, Program

Facts = Mapping[str, int]
_T = TypeVar("_T")


def working(given: Facts) -> dict[str, int]:
    """Facts of a new program, which is specialised to what is ``given``; still none."""
    if not isinstance(given, Given):
        return {}
    given.steps.append(_Begin())
    return _Noted(given)


def take(facts: dict[str, int], given: Facts, name: str, default: int) -> None:
    """Let facts say of a symbol what was given, which is ``default`` for most."""
    _step(facts, _Take(name, default), given)


def define(
    facts: dict[str, int], name: str, rule: Callable[[Facts], int], least: int = 1
) -> None:
    """Let facts say of a symbol what follows from others, if it is at least ``least``.

    ``rule`` computes it, of nothing else that may change.
    """
    _step(facts, _Define(name, rule, least), {})


def ask(facts: Facts, question: Callable[[Facts], _T]) -> _T:
    """The answer to a question; it depends on nothing else that may change."""
    if not isinstance(facts, _Noted):
        return question(facts)
    answer = question(facts.plain)
    facts.given.steps.append(_Ask(question, answer))
    return answer


def settled(facts: dict[str, int]) -> dict[str, int]:
    """Facts of a program that is placed: whatever reads them, nothing follows of it."""
    return facts.plain if isinstance(facts, _Noted) else facts


def divides(facts: Facts, number: int, value: Expr) -> bool:
    """Whether a number is known to divide a scalar."""
    return ask(facts, lambda known: divisor(value, known) % number == 0)


# ----------------------------------------------------------------------- of programs


def fact_requirements(program: Program) -> list[LaunchRequirement]:
    """The conditions that say no more than the divisors of sizes and strides."""
    named = _symbols(program)
    return [
        LaunchRequirement(
            binary("==", named[name] % factor, 0),
            f"the kernel was specialised to multiples of {factor}",
            program.span,
        )
        for name, factor in sorted(program.facts.items())
        if name in named and factor > 1
    ]


def given_of(program: Program) -> dict[str, int]:
    """What divides sizes and strides; what divides all else follows from that."""
    return {name: program.facts.get(name, 1) for name in _symbols(program)}


def _symbols(program: Program) -> dict[str, Sym]:
    """Sizes and strides of tensors that are no numbers, by name."""
    return {
        s.name: s
        for p in program.params
        if isinstance(p, GlobalTensor)
        for s in (*p.shape, *p.strides)
        if isinstance(s, Sym)
    }


# ------------------------------------------------------------------------ the record


class Given(dict[str, int]):
    """Facts of a specialisation, with a record of what placing it asks."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.steps: list[_Step] = []

    def answers_alike(self, other: Facts) -> bool:
        """Whether other facts give every question that was asked the same answer."""
        known: dict[str, int] = {}
        return all(step.same(known, other) for step in self.steps)


class _Begin:
    """The kernel is read, maybe again: nothing is known."""

    def same(self, known: dict[str, int], given: Facts) -> bool:
        known.clear()
        return True


@dataclass(frozen=True)
class _Take:
    name: str
    default: int

    def same(self, known: dict[str, int], given: Facts) -> bool:
        number = given.get(self.name, self.default)
        known[self.name] = max(number & -number, 1)
        return True


@dataclass(frozen=True)
class _Define:
    name: str
    rule: Callable[[Facts], int]
    least: int

    def same(self, known: dict[str, int], given: Facts) -> bool:
        number = self.rule(known)
        if number >= self.least:
            known[self.name] = number
        return True


@dataclass(frozen=True)
class _Ask:
    question: Callable[[Facts], Any]
    answer: Any

    def same(self, known: dict[str, int], given: Facts) -> bool:
        return bool(self.question(known) == self.answer)


_Step = _Begin | _Take | _Define | _Ask


def _step(facts: dict[str, int], step: _Take | _Define, given: Facts) -> None:
    if isinstance(facts, _Noted):
        facts.given.steps.append(step)
        facts = facts.plain
    step.same(facts, given)


def _refuse(*args: Any, **named: Any) -> Any:
    raise TypeError("facts are read with `ask` and changed with `define`")


_unnoted: Any = _refuse


class _Noted(dict[str, int]):
    """Facts that note how they are read; they stand in ``plain``.

    It is empty itself, and overrides all ways to read a dictionary, so that nothing
    reads it unnoticed.
    """

    def __init__(self, given: Given) -> None:
        super().__init__()
        self.given = given
        self.plain: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return ask(self, lambda known: known[name])

    def __contains__(self, name: object) -> bool:
        return ask(self, lambda known: name in known)

    def __len__(self) -> int:
        return ask(self, len)

    def __eq__(self, other: object) -> bool:
        return ask(self, lambda known: known == other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ask(self, lambda known: known.get(name, default))

    def keys(self) -> Any:
        return self._whole().keys()

    def values(self) -> Any:
        return self._whole().values()

    def items(self) -> Any:
        return self._whole().items()

    def copy(self) -> dict[str, int]:
        return self._whole()

    def _whole(self) -> dict[str, int]:
        return ask(self, lambda known: dict(known))

    def __setitem__(self, name: str, number: int) -> None:
        define(self, name, lambda known: number)

    __delitem__ = __or__ = __ror__ = __ior__ = _unnoted
    clear = pop = popitem = setdefault = update = _unnoted
