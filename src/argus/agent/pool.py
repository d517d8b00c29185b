"""Designs that the planner weighs: all of a small space, a fair sample of a large one.

The sample is drawn once per form and is the same for the same problem and seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from argus.agent.space import FORM, Design, SearchSpace, key
from argus.kernels.space import DesignSpace
from argus.runs.records import Problem, Value

PER_FORM = 1500
"""Designs of a form that are weighed beside the neighbours of the good ones."""
_TRIES = 6
"""Draws per wanted design: most combinations of knobs are not valid."""


class Pool:
    """Designs by form; :meth:`add` extends it with what came up elsewhere."""

    def __init__(
        self, space: SearchSpace, problem: Problem, seed: int, per_form: int = PER_FORM
    ) -> None:
        self._designs: dict[str, dict[str, Design]] = {}
        if isinstance(space, DesignSpace):
            self.add(_sampled(space, problem, seed, per_form))
        else:
            self.add(space.designs(problem))

    def copy(self) -> Pool:
        """A pool with the same designs; what is added to it is not added here."""
        other = Pool.__new__(Pool)
        other._designs = {form: dict(group) for form, group in self._designs.items()}
        return other

    @property
    def forms(self) -> tuple[str, ...]:
        """Forms of which there is a valid design."""
        return tuple(self._designs)

    def of(self, form: str) -> dict[str, Design]:
        """Designs of a form, by their keys."""
        return self._designs.get(form, {})

    def add(self, designs: Iterable[Design]) -> None:
        """More designs to weigh; those that are there already stay where they are."""
        for design in designs:
            group = self._designs.setdefault(str(design.get(FORM, "")), {})
            group.setdefault(key(design), design)


def _sampled(
    family: DesignSpace, problem: Problem, seed: int, most: int
) -> list[Design]:
    found: list[Design] = []
    if not family.forms:  # of a user's file: there is nothing to draw evenly from
        drawn = random.Random(f"{seed}")
        some = {key(d): d for d in [family.start(problem)]}
        for _ in range(most):
            design = family.sample(problem, drawn)
            some.setdefault(key(design), design)
        return list(some.values())
    for name, form in family.forms.items():
        drawn = random.Random(f"{seed}:{name}")
        group: dict[str, Design] = {}
        first = family.entered(name, problem)
        if family.invalid(first, problem) is None:
            group[key(first)] = first
        for _ in range(_TRIES * most):
            if len(group) >= most:
                break
            knobs: dict[str, Value] = {
                k: drawn.choice(v) for k, v in form.domains.items()
            }
            base = {**first, **knobs}
            design = family.repaired(base, frozenset(form.domains))
            if family.invalid(design, problem) is None:
                group.setdefault(key(design), design)
        found += group.values()
    return found
