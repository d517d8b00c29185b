"""What a comparison hands on: per output, and where two terms differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from argus.diagnostics import Span
from argus.terms import IndexSet, Integer, Term, Value, Variable

__all__ = ["Array", "EqualityResult", "Mismatch", "OutputDecision", "TellingPoint"]


class Array(Protocol):
    """An output as a specification has it: a function of the position."""

    @property
    def sizes(self) -> tuple[Integer, ...]:
        """Extents, outermost first."""
        ...

    def at(self, indices: list[Integer]) -> Value:
        """The element at a position inside. Raises Unknown.

        Untraced where it is the specification that says nothing.
        """
        ...


@dataclass(frozen=True)
class Mismatch:
    """Where two terms are not shown to be equal.

    ``where``: the points. ``left`` is the kernel's term there, ``right`` that of the
    specification. ``missing``: the kernel writes nothing there.
    """

    where: IndexSet
    left: Term
    right: Term
    missing: bool = False


@dataclass(frozen=True)
class TellingPoint:
    """A point at which a run should look.

    ``values`` of variables, and ``element``, the index of the output there, where it is
    known. ``missing``: no store writes it.
    """

    values: Mapping[Variable, int]
    element: tuple[int, ...] | None
    missing: bool = False


@dataclass(frozen=True)
class OutputDecision:
    """One output. ``reason`` says why it is not shown to be equal, "" if it is.

    ``span`` is the store, or the operation at which knowledge was lost. ``kernel`` and
    ``specification`` are both terms as text and ``where`` the points at which they are
    not shown equal, empty where knowledge was lost before. ``points``: some of these,
    those first that tell most. ``untraced``: it is the specification of which nothing
    is known.
    """

    tensor: str
    reason: str = ""
    span: Span | None = None
    kernel: str = ""
    specification: str = ""
    where: str = ""
    points: tuple[TellingPoint, ...] = ()
    untraced: bool = False

    @property
    def sample(self) -> Mapping[Variable, int] | None:
        """The first of the points."""
        return self.points[0].values if self.points else None

    @property
    def element(self) -> tuple[int, ...] | None:
        """The index of the output at the first of the points, if it is known."""
        return self.points[0].element if self.points else None

    @property
    def equal(self) -> bool:
        """Whether every element is shown to be equal."""
        return not self.reason


@dataclass(frozen=True)
class EqualityResult:
    """All outputs, and what the equality rests on, in words.

    ``ordered``: it rests on the order of threads of the placed program, too.
    """

    outputs: Sequence[OutputDecision]
    axioms: tuple[str, ...]
    ordered: bool = False

    @property
    def equal(self) -> bool:
        """Whether every element of every output is shown to be equal."""
        return bool(self.outputs) and all(o.equal for o in self.outputs)

    @property
    def first(self) -> OutputDecision | None:
        """The first output that is not shown to be equal.

        One of which nothing is said comes last.
        """
        left = [o for o in self.outputs if not o.equal]
        return min(left, key=lambda o: o.untraced, default=None)
