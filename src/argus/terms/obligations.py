"""What has to hold for a term to be what it claims.

The algebra of terms is that of real numbers. Where a step of it needs more than the
terms show, it notes an obligation: who compares terms has them checked, and claims
nothing where one is not met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args

from argus.terms.integers import DataTerm, Variable
from argus.terms.sets import IndexSet

Kind = Literal[
    "positive", "not empty", "finite", "some", "divisor", "root", "logarithm"
]
_KINDS: tuple[Kind, ...] = get_args(Kind)

AxisNames = tuple[tuple[Variable, str], ...]
"""Variables of a tile's axes with the names of their dimensions; "" where an axis has
none of its own."""


@dataclass(frozen=True)
class TermObligation:
    """What a term has to be, wherever the points of a set are reached.

    - "positive": a factor of minus infinity is greater than 0.
    - "not empty": a denominator is a sum over at least one point, or of several
      numbers that are at least 0, one of which is.
    - "finite": a maximum that is subtracted in an exponent is one of at least one
      number. With a finite stand-in for minus infinity nothing follows from it; the
      difference of two infinities is not a number. Or what is compared is defined.
    - "some": a maximum is one of at least one number, in a reference, too: that of
      exponentials over no points would be 0, and not minus infinity.
    - "divisor", "root", "logarithm": a number that cancels is not 0, is at least 0, is
      above 0 (`domains.py`).

    ``needs`` is the set of points at which it holds, where sets can say so; None where
    they cannot. ``axes``: of the tile of which this is asked.
    """

    kind: Kind
    term: DataTerm
    where: IndexSet
    needs: IndexSet | None
    why: str
    axes: AxisNames = ()


class Obligations:
    """The obligations of a world, each once, in the order of their discovery."""

    def __init__(self) -> None:
        self._all: dict[object, TermObligation] = {}
        self._part = 0
        self._muted: Counter[Kind] = Counter()
        self._within: list[IndexSet] = []
        self._axes: AxisNames = ()
        self._holder: object = None
        self._held: dict[object, list[TermObligation]] = {}

    @contextmanager
    def muted(self, *kinds: Kind) -> Generator[None, None, None]:
        """Note none of these kinds meanwhile, or nothing.

        What is only rewritten was noted when it was made.
        """
        self._muted.update(kinds or _KINDS)
        try:
            yield
        finally:
            self._muted.subtract(kinds or _KINDS)

    @contextmanager
    def within(self, where: IndexSet) -> Generator[None, None, None]:
        """What is noted meanwhile matters only where a set holds."""
        self._within.append(where)
        try:
            yield
        finally:
            self._within.pop()

    @contextmanager
    def along(self, axes: AxisNames) -> Generator[None, None, None]:
        """What is noted meanwhile is of a tile with these axes."""
        before, self._axes = self._axes, axes
        try:
            yield
        finally:
            self._axes = before

    @contextmanager
    def held(self, holder: object) -> Generator[None, None, None]:
        """Hold what is noted meanwhile until it is known where it matters."""
        before, self._holder = self._holder, holder
        try:
            yield
        finally:
            self._holder = before

    def release(self, holder: object, where: IndexSet) -> None:
        """Note what is held: it matters only where a set holds."""
        for obligation in self._held.pop(holder, ()):
            self._put(replace(obligation, where=obligation.where & where))

    def add(self, obligation: TermObligation) -> None:
        """Note one; the same of the same set is noted once by each program."""
        if self._muted[obligation.kind]:
            return
        for where in self._within:
            obligation = replace(obligation, where=obligation.where & where)
        obligation = replace(obligation, axes=self._axes)
        if self._holder is None:
            self._put(obligation)
        else:
            self._held.setdefault(self._holder, []).append(obligation)

    def _put(self, obligation: TermObligation) -> None:
        said = obligation.kind, obligation.term.key, obligation.where
        key = (self._part, *said, obligation.axes)
        self._all.setdefault(key, obligation)

    def another(self) -> int:
        """How many there are; what is noted from here on is another program's."""
        self._part += 1
        return len(self)

    def __iter__(self) -> Iterator[TermObligation]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def forget_after(self, count: int) -> None:
        """Drop all but the first ones: of a walk whose terms are not used."""
        for key in list(self._all)[count:]:
            del self._all[key]
