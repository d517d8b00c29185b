"""Which programs the specialisations of a kernel become.

Most of them become the same program: a divisor that no access needs changes nothing,
and bf16 and f16 differ in numbers only. `explore` places as few as it can:

    a member of a form becomes what an earlier one became if it gives all that was
    asked of the divisors then the same answers (`argus.ir.divisors`);
    a form with the fingerprint of an earlier one, everything divisible by the most,
    becomes what that one became;
    in between two divisors with one program lies no other one, since what is known of
    divisors only ever widens accesses and admits instructions (the decisions of
    placing are monotone in it; `tests/evaluation/test_specialisations.py` draws members
    and compares).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice

from argus.diagnostics import ArgusError, Diagnostic
from argus.ir.divisors import Given, fact_requirements
from argus.ir.fingerprint import fingerprint
from argus.ir.program import Program
from argus.lang.kernel import Kernel
from argus.requests import Request, placed_program, request_of
from argus.specialisations import Form, SpecialisationSpace

MOST_FORMS = 1024
"""Forms that are looked at; the others are named as left out."""

Numbers = tuple[int, ...]
Key = str | tuple[str, str]
"""A fingerprint, or the code and message with which a member is refused."""


@dataclass(frozen=True)
class Box:
    """Members of a form between two, both included, that become the same."""

    form: Form
    low: Numbers
    high: Numbers


@dataclass
class Become:
    """One program, or one refusal, and the members that become it."""

    boxes: list[Box] = field(default_factory=list[Box])
    error: ArgusError | None = None


@dataclass(frozen=True)
class Explored:
    """All that the members of a space become; ``left`` forms were not looked at."""

    space: SpecialisationSpace
    programs: Mapping[str, Become]
    refused: Mapping[tuple[str, str], Become]
    left: int


def explore(
    kernel: Kernel,
    statics: Mapping[str, object],
    target: str,
    space: SpecialisationSpace,
) -> Explored:
    """Place members of the space until it is known what each of them becomes."""
    return _Explorer(kernel, statics, target, space).run()


class _Explorer:
    def __init__(
        self,
        kernel: Kernel,
        statics: Mapping[str, object],
        target: str,
        space: SpecialisationSpace,
    ) -> None:
        self.kernel = kernel
        self.statics = statics
        self.target = target
        self.space = space
        self.programs: dict[str, Become] = {}
        self.refused: dict[tuple[str, str], Become] = {}

    def run(self) -> Explored:
        known: dict[tuple[frozenset[str], Key], Form] = {}
        boxes: dict[int, list[tuple[Key, Numbers, Numbers]]] = {}
        for form in islice(self.space.forms(), MOST_FORMS):
            levels = self.space.levels(form)
            key_at = self._keys(form)
            top = key_at(tuple(max(n) for n in levels))
            alike = (frozenset(form), top)
            if alike not in known or not isinstance(top, str):
                known[alike] = form
                boxes[id(form)] = boxes_of(levels, key_at)
            for key, low, high in boxes[id(known[alike])]:
                self._become(key).boxes.append(Box(form, low, high))
        left = max(self.space.form_count - MOST_FORMS, 0)
        return Explored(self.space, self.programs, self.refused, left)

    def _become(self, key: Key) -> Become:
        if isinstance(key, str):
            return self.programs.setdefault(key, Become())
        return self.refused.setdefault(key, Become())

    def _keys(self, form: Form) -> Callable[[Numbers], Key]:
        placed: list[tuple[Given, Key]] = []

        @cache
        def key_at(numbers: Numbers) -> Key:
            member = self.space.at(form, numbers)
            request = request_of(self.kernel, self.statics, self.target, member)
            for given, key in placed:
                if given.answers_alike(request.facts):
                    return key
            given = Given(request.facts)
            key = self._key(replace(request, facts=given))
            placed.append((given, key))
            return key

        return key_at

    def _key(self, request: Request) -> Key:
        try:
            program = placed_program(request)
        except ArgusError as error:
            first = error.diagnostics[0]
            key = (first.code, first.message)
            became = self.refused.setdefault(key, Become())
            became.error = became.error or error
            return key
        return fingerprint_of(program)


def fingerprint_of(program: Program) -> str:
    """The fingerprint of a placed program, whatever was known of divisors."""
    return fingerprint(program, fact_requirements(program))


def boxes_of(
    levels: Sequence[Sequence[int]], key_at: Callable[[Numbers], Key]
) -> list[tuple[Key, Numbers, Numbers]]:
    """Boxes that cover all numbers, each with one key: (key, lowest, highest).

    ``key_at`` is asked at as few points as that takes, if it is monotone.
    """
    found: list[tuple[Key, Numbers, Numbers]] = []
    todo = [(tuple(min(n) for n in levels), tuple(max(n) for n in levels))]
    while todo:
        low, high = todo.pop()
        key = key_at(high)
        least = _least(levels, key_at, low, high)
        found.append((key, least, high))
        for i, number in enumerate(least):
            if number > low[i]:
                below = max(n for n in levels[i] if n < number)
                todo.append(
                    (
                        (*least[:i], *low[i:]),
                        (*high[:i], below, *high[i + 1 :]),
                    )
                )
    return found


def _least(
    levels: Sequence[Sequence[int]],
    key_at: Callable[[Numbers], Key],
    low: Numbers,
    high: Numbers,
) -> Numbers:
    """The lowest numbers below ``high`` up to which nothing changes."""
    key = key_at(high)
    if key_at(low) == key:
        return low
    least = list(high)
    for i, choices in enumerate(levels):
        lower = sorted(n for n in choices if low[i] <= n < high[i])
        for number in [*lower[:1], *reversed(lower[1:])]:
            if key_at((*least[:i], number, *least[i + 1 :])) == key:
                least[i] = min(least[i], number)
                if number == lower[0]:
                    break
            elif number != lower[0]:
                break
    return tuple(least)


def never_accepted(explored: Explored) -> Diagnostic | None:
    """Why a choice that the signature offers is refused always, if one is.

    Whether an optional tensor is there or not must be possible in some call; that some
    element types do not go together, or some strides, is what a refusal is for.
    """
    accepted = [b.form for p in explored.programs.values() for b in p.boxes]
    for name, types in explored.space.types.items():
        for there in sorted({t is not None for t in types}):
            if any((name in form) == there for form in accepted):
                continue
            for one in explored.refused.values():
                if one.error and any((name in b.form) == there for b in one.boxes):
                    return one.error.diagnostics[0]
    return None
