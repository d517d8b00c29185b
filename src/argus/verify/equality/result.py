"""What a comparison hands on: per output, and where two terms differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from argus.diagnostics import Span
from argus.terms import IndexSet, Integer, Term, Value, Variable

__all__ = ["Array", "EqualityResult", "Mismatch", "OutputDecision"]


class Array(Protocol):
    """An output as a specification has it: a function of the position."""

    @property
    def sizes(self) -> tuple[Integer, ...]:
        """Extents, outermost first."""
        ...

    def at(self, indices: list[Integer]) -> Value:
        """The element at a position inside. Raises Unknown."""
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
class OutputDecision:
    """One output. ``reason`` says why it is not shown to be equal, "" if it is.

    ``span`` is the store, or the operation at which knowledge was lost. ``kernel`` and
    ``specification`` are both terms as text and ``where`` the points at which they are
    not shown equal, empty where knowledge was lost before. ``sample``: one such point,
    and ``element`` the index of the output there, where it is known.
    """

    tensor: str
    reason: str = ""
    span: Span | None = None
    kernel: str = ""
    specification: str = ""
    where: str = ""
    sample: Mapping[Variable, int] | None = None
    element: tuple[int, ...] | None = None

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
        """The first output that is not shown to be equal."""
        return next((o for o in self.outputs if not o.equal), None)
