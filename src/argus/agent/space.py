"""What the planner and the built-in agent ask of a design space.

A design is a point of it: the form (which kernel file) and the form's knobs. Those of
``argus.kernels.space`` are such spaces; so are the tables of measured times that the
learning experiment replays. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Protocol

from argus.runs.records import Candidate, Problem, Value

Design = dict[str, Value]

FORM = "form"
"""The key of a design that names its kernel file."""


class DesignStep(Protocol):
    """A single edit of a design: another form, or another value of a knob."""

    @property
    def optimisation(self) -> str:
        """Id of the knowledge entry that it carries out."""
        ...

    @property
    def edit(self) -> Mapping[str, Value]:
        """What is set."""
        ...

    @property
    def where(self) -> str:
        """What it is about, for people."""
        ...

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Optimisations that the design must have before."""
        ...


class SearchSpace(Protocol):
    """A design space. Methods are pure: the same question has the same answer."""

    name: ClassVar[str]

    def moves(self, design: Design, problem: Problem) -> tuple[DesignStep, ...]:
        """Every single-step edit that is structurally valid."""
        ...

    def apply(self, design: Design, edit: Mapping[str, Value]) -> Design:
        """The design after an edit, with whatever else must change."""
        ...

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """Why a design cannot be; None if nothing is known against it."""
        ...

    def candidate(self, design: Design, problem: Problem) -> Candidate:
        """The kernel of a design."""
        ...

    def optimisations(self, design: Design) -> tuple[str, ...]:
        """Ids of the optimisations that are in a design."""
        ...

    def without(
        self, design: Design, optimisation: str, problem: Problem
    ) -> Design | None:
        """The design with one of them taken out; None if it cannot be without."""
        ...

    def designs(self, problem: Problem) -> Iterator[Design]:
        """The whole space, valid designs only."""
        ...


def key(design: Mapping[str, Value]) -> str:
    """A text that is equal for equal designs."""
    return repr(sorted(design.items()))


def difference(old: Design, new: Design) -> dict[str, Value]:
    """The edit that makes ``new`` of ``old``: what is set to another value.

    Everything, where the form is another: a new form begins with its own defaults.
    """
    if old.get(FORM) != new.get(FORM):
        return dict(new)
    return {k: v for k, v in new.items() if k not in old or old[k] != v}
