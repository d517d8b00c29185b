"""What is expected of designs before and during a run: one number with its doubt.

Joins the four sources of expectation: times of this run, the policy's effects from
other runs, typical gains of the knowledge base, and the performance model. Within a
form they meet in the surrogate; between forms that were not tried yet, typical gains
and the model speak alone. All times are natural logarithms of microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from argus.agent.policy import place_of
from argus.agent.pool import Pool
from argus.agent.space import FORM, Design, SearchSpace, key
from argus.agent.state import RunState
from argus.agent.surrogate import (
    Array,
    DesignGrid,
    Surrogate,
    TimedDesign,
    prior,
    softened,
)
from argus.runs.history import RunTrial
from argus.runs.records import Problem, Value

_REFUSED = 0.7
"""What a design loses that is sure to be refused."""
_EMULATED = 0.003**2
_TRUST = 0.8
"""How much of the model's contrast between two designs is believed at first."""
_FIRM = 0.05
"""Sum of squared contrasts after which trials say more of that than the belief."""
_TYPICAL, _BESIDE_MODEL = 0.5, 0.1
"""How much of a typical gain is believed of a design in a form, without and with the
model, which has its own view of what is in the design."""
_HALF = 2
"""Trials at which a preference of the policy counts as much as the knowledge base."""

Forecast = Callable[[Design], float | None]
"""Log time that the performance model predicts; None where it cannot."""


@dataclass(frozen=True)
class Expectation:
    """What the knowledge base says of an optimisation for a task.

    ``mean`` and ``doubt`` of its log speed-up; ``applies`` is None where it cannot say.
    """

    mean: float
    doubt: float
    applies: bool | None = None
    invariants: tuple[str, ...] = ()
    why: str = ""


class GainKnowledge(Protocol):
    """Typical gains."""

    def expect(self, optimisation: str, features: dict[str, Value]) -> Expectation:
        """What to expect of an optimisation; raises KeyError if it has no entry."""
        ...


@dataclass(frozen=True)
class FormView:
    """A form's designs with what is expected of them; rows as in ``designs``."""

    designs: list[Design]
    rows: dict[str, int]
    mean: Array
    doubt: Array
    observed: int


def observations(
    state: RunState, form: str, also: RunTrial | None = None
) -> dict[str, tuple[Design, float]]:
    """Designs of a form that have a time, with its logarithm.

    ``also``: a trial that was judged and is not complete.
    """
    found: dict[str, tuple[Design, float]] = {}
    for trial in [*state.done, *([also] if also else [])]:
        design, time = state.design(trial.number), trial.microseconds
        if design is not None and time and str(design.get(FORM, "")) == form:
            found[key(design)] = (design, math.log(time))
    return found


def refusals(
    state: RunState, space: SearchSpace, form: str
) -> tuple[list[Design], list[Design]]:
    """Designs of a form that were accepted, and those that were refused.

    What an agent had to change was refused, too.
    """
    accepted: list[Design] = []
    refused: list[Design] = []
    for trial in state.done:
        parent = None if trial.parent is None else state.design(trial.parent)
        if parent is not None and trial.proposal and trial.lowered:
            asked = space.apply(parent, trial.proposal.edit)
            changed = state.design(trial.number) != asked
            same = str(asked.get(FORM, "")) == form
            if trial.lowered.attempts and changed and same:
                refused.append(asked)
        design, verdict = state.design(trial.number), trial.verdict
        if design is None or verdict is None or str(design.get(FORM, "")) != form:
            continue
        if verdict.status in ("correct", "duplicate"):
            accepted.append(design)
        elif verdict.status != "failed":
            refused.append(design)
    return accepted, refused


class Beliefs:
    """Expectations of one run's designs. Rebuilt parts are functions of the state."""

    def __init__(
        self,
        space: SearchSpace,
        problem: Problem,
        sizes: dict[str, int],
        knowledge: GainKnowledge,
        forecast: Forecast | None = None,
    ) -> None:
        self.space = space
        self.problem = problem
        self.knowledge = knowledge
        self.place = place_of(sizes)
        self._forecast = forecast
        self._forecasts: dict[str, float | None] = {}
        self._optimisations: dict[str, tuple[str, ...]] = {}

    @property
    def can_forecast(self) -> bool:
        """Whether there is a performance model to ask."""
        return self._forecast is not None

    def forecast(self, design: Design) -> float | None:
        """The model's log time of a design, remembered."""
        if self._forecast is None:
            return None
        name = key(design)
        if name not in self._forecasts:
            self._forecasts[name] = self._forecast(design)
        return self._forecasts[name]

    def gain(
        self,
        state: RunState,
        optimisation: str,
        bottleneck: str,
        features: dict[str, Value],
    ) -> Expectation:
        """Typical gain, as far as the policy's own trials do not know better."""
        typical = self.knowledge.expect(optimisation, features)
        mean, doubt = typical.mean, typical.doubt
        if typical.applies is False:
            mean, doubt = min(mean, -0.05), doubt / 2
        known = state.policy.preference(bottleneck, optimisation)
        if known is not None:
            share = known.count / (known.count + _HALF)
            mean = (1 - share) * mean + share * known.mean
            doubt *= math.sqrt(1 - share)
        return Expectation(
            mean, doubt, typical.applies, typical.invariants, typical.why
        )

    def view(
        self,
        state: RunState,
        pool: Pool,
        form: str,
        worth: Callable[[str], float],
        asked: Mapping[str, float | None],
        pending: Sequence[Design] = (),
        belief: float = 1.0,
    ) -> FormView:
        """Means and doubts of all designs of a form in the pool.

        ``worth`` is the expected gain of an optimisation, ``asked`` what the model said
        of designs (by their keys). ``pending`` designs are being tried: they count as
        having the time that is expected of them. ``belief``: the share of what the
        policy says that is believed.
        """
        seen = observations(state, form)
        accepted, refused = refusals(state, self.space, form)
        pool.add((*(d for d, _ in seen.values()), *accepted, *refused))
        pool.add(d for d in pending if str(d.get(FORM, "")) == form)
        named = pool.of(form)
        designs = list(named.values())
        grid = DesignGrid(designs)
        rows = {name: i for i, name in enumerate(named)}
        mean = belief * prior(grid, state.base, self.space.name, form, self.place)
        mean = mean - self._typical(named, worth)
        trust = _trust(seen, asked)
        mean = mean + trust * _emulated(grid, rows, asked)
        values = softened([y for _, y in seen.values()])
        data = [TimedDesign(rows[k], y) for k, y in zip(seen, values, strict=True)]
        surrogate = Surrogate(grid, mean, data)
        for design in pending:
            row = rows.get(key(design))
            if row is not None and data:
                value = float(surrogate.predict([row])[0][0])
                data.append(TimedDesign(row, value))
                surrogate = Surrogate(grid, mean, data)
        expected, doubt = surrogate.predict()
        if refused:
            risk = grid.share(
                [rows[key(d)] for d in accepted], [rows[key(d)] for d in refused]
            )
            expected = expected + _REFUSED * risk
        return FormView(designs, rows, expected, doubt, len(seen))

    def _typical(
        self, designs: Mapping[str, Design], worth: Callable[[str], float]
    ) -> Array:
        """Gains of what is in each design; common parts cancel."""
        known: dict[tuple[str, ...], float] = {}
        total = np.zeros(len(designs))
        for i, (name, design) in enumerate(designs.items()):
            ids = self._optimisations.get(name)
            if ids is None:
                ids = self._optimisations[name] = self.space.optimisations(design)
            if ids not in known:
                share = _BESIDE_MODEL if self.can_forecast else _TYPICAL
                known[ids] = share * sum(worth(o) for o in ids)
            total[i] = known[ids]
        return total


def _trust(
    seen: Mapping[str, tuple[Design, float]], asked: Mapping[str, float | None]
) -> float:
    """By how much times differ where the model's log times differ by one."""
    known = [(y, f) for k, (_, y) in seen.items() if (f := asked.get(k)) is not None]
    if len(known) < 2:
        return _TRUST
    times, said = np.array(known).T
    times, said = times - times.mean(), said - said.mean()
    slope = (_FIRM * _TRUST + float(times @ said)) / (_FIRM + float(said @ said))
    return min(1.0, max(0.0, slope))


def _emulated(
    grid: DesignGrid, rows: Mapping[str, int], asked: Mapping[str, float | None]
) -> Array:
    """The model's log times, smoothed over designs that it was not asked about."""
    known = {k: y for k, y in asked.items() if y is not None and k in rows}
    values = softened(list(known.values()))
    data = [
        TimedDesign(rows[k], y, _EMULATED) for k, y in zip(known, values, strict=True)
    ]
    flat = np.zeros(len(grid.designs))
    return Surrogate(grid, flat, data).predict()[0] if data else flat
