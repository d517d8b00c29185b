"""Looking for promising designs of a form, before one of them is drawn.

Expectations of a sample of the form, then of the neighbours of the best of these, and
so on; in between, the performance model is asked about the best. What a plan looks at
is a function of the state: nothing is carried over from plan to plan but answers of the
model, which are always the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.agent.beliefs import Beliefs, Expectation, FormView
from argus.agent.pool import Pool
from argus.agent.space import FORM, Design, key
from argus.agent.state import RunState
from argus.runs.records import Value

_MODEL_DOUBT = 0.3
"""How much of the doubt is left of a design that the performance model has judged."""
_NEIGHBOURS = 3
"""Designs whose neighbours are looked at in each round."""


@dataclass(frozen=True)
class PlannerSettings:
    """How the planner weighs. All gains are natural logarithms of speed-ups.

    ``temperature``: of the softmax. ``curiosity``: standard deviations of doubt that
    are added to a gain. ``offered``: proposals that are logged. ``sample``: designs of
    a form that the performance model is asked about to begin with, ``asked`` in each
    of the ``rounds`` in which neighbours are looked at. ``slower``: predicted loss from
    which on a design is not tried. ``restless``: trials without a better kernel after
    which curiosity has doubled, and belief in what was learnt elsewhere is half.
    """

    temperature: float = 0.005
    curiosity: float = 0.45
    offered: int = 16
    sample: int = 24
    asked: int = 8
    slower: float = 0.5
    rounds: int = 2
    restless: float = 5.0


@dataclass
class Moment:
    """What one plan is made from.

    ``number`` and ``design`` are those of the kernel that would be changed; ``taken``
    names designs that need not be tried; ``asked`` collects what the model said.
    ``belief``: how much of what was learnt in other runs is believed.
    ``pool`` is this plan's own: what it adds is not there for the next.
    """

    state: RunState
    beliefs: Beliefs
    number: int
    design: Design
    bottleneck: str
    features: dict[str, Value]
    curiosity: float
    belief: float
    slower: float
    taken: set[str]
    pending: list[Design]
    pool: Pool
    asked: dict[str, float | None] = field(default_factory=dict[str, float | None])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    expected: dict[str, Expectation] = field(default_factory=dict[str, Expectation])

    def expect(self, optimisation: str) -> Expectation:
        """What an optimisation is expected to bring to the design."""
        if optimisation not in self.expected:
            self.expected[optimisation] = self.beliefs.gain(
                self.state, optimisation, self.bottleneck, self.features
            )
        return self.expected[optimisation]

    def ask(self, design: Design) -> float | None:
        """The model's log time of a design."""
        name = key(design)
        if name not in self.asked:
            self.asked[name] = self.beliefs.forecast(design)
        return self.asked[name]


class Explorer:
    """Finds promising designs; see the module."""

    def __init__(self, beliefs: Beliefs, settings: PlannerSettings) -> None:
        self._beliefs = beliefs
        self._settings = settings

    def explore(self, at: Moment, form: str) -> FormView:
        """The form's designs, with the neighbours of promising ones."""
        if str(at.design.get(FORM, "")) == form:
            at.pool.add([at.design])
        if self._beliefs.can_forecast:
            self._sample(at, form)
        view = self._look(at, form)
        rounds = self._settings.rounds if self._beliefs.can_forecast else 1
        for _ in range(rounds):
            for row in self.ranked(view, at)[:_NEIGHBOURS]:
                at.pool.add(self._neighbours(view.designs[row]))
            if self._beliefs.can_forecast:
                view = self._look(at, form)
                for row in self.ranked(view, at)[: self._settings.asked]:
                    at.ask(view.designs[row])
            view = self._look(at, form)
        return view

    def ranked(self, view: FormView, at: Moment) -> list[int]:
        """Rows that were not tried, the highest score first."""
        score = view.mean - at.curiosity * view.doubt
        names = list(view.rows)
        order = [int(r) for r in score.argsort(kind="stable")]
        return [r for r in order if names[r] not in at.taken]

    def promising(self, view: FormView, at: Moment) -> list[tuple[int, float]]:
        """Rows worth a trial, the highest score first, each with its doubt.

        Where there is a model, only designs that it was asked about: what is left to
        doubt is then how wrong the model is, which is less.
        """
        if not self._beliefs.can_forecast:
            return [(r, float(view.doubt[r])) for r in self.ranked(view, at)]
        names = list(view.rows)
        score = view.mean - at.curiosity * _MODEL_DOUBT * view.doubt
        return [
            (int(r), _MODEL_DOUBT * float(view.doubt[r]))
            for r in score.argsort(kind="stable")
            if names[int(r)] not in at.taken and at.asked.get(names[int(r)]) is not None
        ]

    def _sample(self, at: Moment, form: str) -> None:
        """Let the model say something of the whole form, and of what was tried."""
        designs = list(at.pool.of(form).values())
        stride = max(1, len(designs) // self._settings.sample)
        for design in designs[::stride][: self._settings.sample]:
            at.ask(design)
        for trial in at.state.done:
            design = at.state.design(trial.number)
            if design is not None and str(design.get(FORM, "")) == form:
                at.ask(design)

    def _look(self, at: Moment, form: str) -> FormView:
        def worth(optimisation: str) -> float:
            return at.expect(optimisation).mean

        return self._beliefs.view(
            at.state,
            at.pool,
            form,
            worth,
            at.asked,
            at.pending,
            at.belief,
        )

    def _neighbours(self, design: Design) -> list[Design]:
        space, problem = self._beliefs.space, self._beliefs.problem
        found = (space.apply(design, m.edit) for m in space.moves(design, problem))
        return [d for d in found if d.get(FORM) == design.get(FORM)]
