"""Functions of scans that compare and choose, and compute nothing.

    v, i = where(b0 >= a0, b0, a0), where(b0 >= a0, b1, a1)     the last largest

Each number that such a function makes is one that it was given, and which one depends
on their order alone, not on how large they are. So two of them are the same function of
all numbers if they are the same for numbers that stand in every order, among each other
and to the constants that they are compared with: of k numbers, k in each gap between
constants show all of them. These are tried, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf

import numpy as np

from argus.ir.codec import computing
from argus.ir.combine import Combination, CombinationValue, split
from argus.ir.combining import Array, combined_once
from argus.ir.dtypes import DType

__all__ = ["Better", "better", "chooses_alike"]

_COMPARE = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_EXTREME = frozenset(("maximum", "minimum"))
_TRUTH = frozenset(("and", "or", "xor", "not"))
_MOST = 1 << 20
"""Cases that are tried, at most."""
_STATES = 3
"""States that are put together, at most: f(f(a, b), c)."""
_NONE = np.zeros(0)


def chooses_alike(combine: Combination, types: Sequence[DType]) -> bool:
    """Whether a function only chooses, and ``f(f(a, b), c)`` is ``f(a, f(b, c))``.

    False where it computes something, or where there are too many orders.
    """
    states = _in_every_order(combine, types, _STATES)
    if states is None:
        return False
    a, b, c = states

    def made(before: Sequence[Array], after: Sequence[Array]) -> list[Array]:
        return combined_once(combine, types, before, after, exact=True)

    left, right = made(made(a, b), c), made(a, made(b, c))
    return all(np.array_equal(x, y) for x, y in zip(left, right, strict=True))


@dataclass(frozen=True)
class Better:
    """A function that keeps the better of two pairs of a number and its place.

    ``number``: which of both in the state is the number. ``sign``: 1 if a larger one is
    better, -1 if a smaller one is. ``first``: of two that are equal, whether the one at
    the lower place is better, or that at the higher.
    """

    number: int
    sign: int
    first: bool


def better(combine: Combination, types: Sequence[DType]) -> Better | None:
    """What a function keeps, if it keeps the better of two pairs; else None."""
    if len(types) != 2:
        return None
    states = _in_every_order(combine, types, 2)
    if states is None:
        return None
    a, b = states
    made = combined_once(combine, types, a, b, exact=True)
    for number, sign, first in product((0, 1), (1, -1), (True, False)):
        place = 1 - number
        if types[place].kind != "int" or types[number].kind == "bool":
            continue
        gain = (b[number] > a[number]) if sign > 0 else (b[number] < a[number])
        nearer = (b[place] < a[place]) if first else (b[place] > a[place])
        taken = gain | ((b[number] == a[number]) & nearer)
        wanted = [np.where(taken, y, x) for x, y in zip(a, b, strict=True)]
        if all(np.array_equal(x, y) for x, y in zip(made, wanted, strict=True)):
            return Better(number, sign, first)
    return None


def _in_every_order(
    combine: Combination, types: Sequence[DType], count: int
) -> list[list[Array]] | None:
    """States whose numbers stand in every order to each other and to constants.

    None for a function that computes something, and where there are too many orders.
    """
    groups = _groups(combine, types)
    if groups is None:
        return None
    ranges = [_numbers(groups, i, types[i]) for i in range(len(types))]
    cases = 1
    for numbers in ranges:
        cases *= numbers.size**count
    if not 0 < cases <= _MOST:
        return None
    grid = np.meshgrid(*(x for x in ranges for _ in range(count)), indexing="ij")
    flat = [x.reshape(-1) for x in grid]
    return [flat[i::count] for i in range(count)]


class _Groups:
    """Numbers of a state that are compared with each other, or take others' places."""

    def __init__(self, width: int) -> None:
        self._above = list(range(width))
        self._constants: list[set[float]] = [set() for _ in range(width)]

    def root(self, number: int) -> int:
        while self._above[number] != number:
            number = self._above[number]
        return number

    def join(self, numbers: Sequence[int], constants: Sequence[float]) -> None:
        """That these, and these constants, are of one group."""
        first, *others = (self.root(n) for n in numbers)
        for other in others:
            if other != first:
                self._above[other] = first
                self._constants[first] |= self._constants[other]
        self._constants[first].update(constants)

    def members(self, number: int) -> int:
        root = self.root(number)
        return sum(self.root(n) == root for n in range(len(self._above)))

    def constants(self, number: int) -> list[float]:
        return sorted(self._constants[self.root(number)])


def _groups(combine: Combination, types: Sequence[DType]) -> _Groups | None:
    """The groups of a function that only chooses; None for any other."""
    found = _Groups(len(types))
    of: list[int | None] = []  # a number of a state of the group that a step's is of

    def group(values: Sequence[CombinationValue]) -> int | None:
        numbers: list[int] = []
        constants: list[float] = []
        for value in values:
            if not isinstance(value, str):
                constants.append(value)
                continue
            kind, at = split(value)
            one = of[at] if kind == "t" else at
            if one is None:
                return None  # a truth that no state has: it is no number
            numbers.append(one)
        if not numbers:
            return None
        found.join(numbers, constants)
        return numbers[0]

    for step in combine.steps:
        given = combine.operand_types(step, types)
        condition, args = None, step.args
        if step.fn == "where":
            condition, args, given = given[0], args[1:], given[1:]
        if len({t for t in given if t is not None}) > 1:
            return None  # numbers of two types are converted
        if condition is not None and condition.kind != "bool":
            return None
        if step.fn in _COMPARE:
            if group(args) is None:
                return None
            of.append(None)
        elif step.dtype.kind == "bool" and (step.fn in _TRUTH or step.fn == "where"):
            of.append(None)
        elif step.fn in _EXTREME or step.fn == "where":
            one = group(args)
            if one is None:
                return None
            of.append(one)
        else:
            return None
    for i, (result, dtype) in enumerate(zip(combine.results, types, strict=True)):
        if dtype.kind != "bool" and group((f"a{i}", result)) is None:
            return None
    return found


def _numbers(groups: _Groups, number: int, dtype: DType) -> Array:
    """Numbers that stand in every order to each other and to constants."""
    if dtype.kind == "bool":
        return np.array([False, True])
    k = _STATES * groups.members(number)
    constants = groups.constants(number)
    kind = np.float64 if dtype.is_float else computing(dtype)
    if not constants:
        return np.arange(k).astype(kind)
    if dtype.is_float:
        return _between(constants, k)
    ends = np.iinfo(kind)
    near = {int(c) + s for c in constants for s in range(-k, k + 1)}
    return np.array(sorted(x for x in near if ends.min <= x <= ends.max), kind)


def _between(constants: Sequence[float], k: int) -> Array:
    """Constants, and k numbers in each gap of them; none where 64 bits lack them."""
    ends = [c for c in constants if abs(c) != inf] or [0.0]
    steps = np.arange(1.0, k + 1)
    low, high = ends[0], ends[-1]
    below, above = low - steps * max(1.0, abs(low)), high + steps * max(1.0, abs(high))
    found = [*constants, *ends, *below, *above]
    for x, y in pairwise(ends):
        found.extend(x + (y - x) * (steps / (k + 1)))
    whole = np.unique(np.array(found))
    wanted = len({*constants, *ends}) + k * (len(ends) + 1)
    return whole if whole.size == wanted and np.isfinite(below + above).all() else _NONE
