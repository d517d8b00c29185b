"""Plans for agents that write source: also what no design space has an edit for.

A family's planner changes designs. Where the best kernel is no design of the family
(somebody wrote it by hand), or the family knows nothing of what its knobs mean (a
user's file), this offers ideas: optimisations of the knowledge base that apply to the
kernel. An idea has no edit; only who writes source can carry it out.

What is in a kernel that somebody wrote, nobody knows. It is taken to have what the
design has that it was asked to be, or that it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus import knowledge
from argus.agent.beliefs import Beliefs
from argus.agent.interfaces import Plans
from argus.agent.selection import sample, softmax
from argus.agent.space import Design
from argus.agent.state import RunState
from argus.runs.history import RunTrial, fastest
from argus.runs.records import Proposal, Proposed, Value

_TEMPERATURE = 0.1
"""Of the softmax over ideas: typical gains are coarse."""
_DOUBTFUL = 0.5
"""Share of the gain of an idea of which it is not known whether it applies."""
_CURIOSITY = 0.25
"""Standard deviations of doubt that are added to a gain."""
_OFFERED = 16
UNKNOWN = "unknown"


class OpenEnded:
    """The family's planner, and ideas where it has nothing to say.

    ``features`` are those of the task, ``own`` the names among them that describe the
    start kernel's design and not the problem.
    """

    def __init__(
        self,
        planner: Plans,
        beliefs: Beliefs,
        features: Mapping[str, Value],
        own: Sequence[str],
        seed: int,
    ) -> None:
        self._planner = planner
        self._beliefs = beliefs
        self._features = {k: v for k, v in features.items() if k not in own}
        self._seed = seed

    def plan(
        self, state: RunState, trial: int, pending: Sequence[Design]
    ) -> Proposed | None:
        """What is offered for a trial, and which was drawn; None if nothing is left."""
        best = fastest(state.done)
        design = state.design(best.number) if best else None
        planned = None
        if best is None or design is not None:
            planned = self._planner.plan(state, trial, pending)
        done = planned is not None and design is not None and self._known(design)
        if best is None or done:
            return planned
        ideas = self._ideas(state, best)
        if not ideas:
            # Of a kernel written by hand it knows nothing, but of the best design.
            return planned or self._planner.plan(state, trial, pending)
        same = planned is not None and planned.parent == best.number
        offered = planned.proposals if planned is not None and same else ()
        offers = sorted([*offered, *ideas], key=lambda p: (-p.score, p.optimisation))
        offers = offers[:_OFFERED]
        probabilities = softmax([p.score for p in offers], _TEMPERATURE)
        return Proposed(
            trial=trial,
            parent=best.number,
            bottleneck=_bottleneck(best),
            proposals=tuple(offers),
            probabilities=probabilities,
            chosen=sample(probabilities, self._seed, trial),
        )

    def _known(self, design: Design) -> bool:
        """Whether the family knows what the design's forms and knobs mean."""
        space = self._beliefs.space
        return space.name != "statics" or bool(space.optimisations(design))

    def _ancestor(self, state: RunState, number: int) -> Design | None:
        """The design of a trial's kernel; else the one that it was asked to be."""
        design = state.design(number)
        trial = state.trials.get(number)
        if design is not None or trial is None or trial.parent is None:
            return design
        came = self._ancestor(state, trial.parent)
        if came is None or trial.proposal is None:
            return came
        return self._beliefs.space.apply(came, trial.proposal.edit)

    def _ideas(self, state: RunState, best: RunTrial) -> list[Proposal]:
        bottleneck = _bottleneck(best)
        came = self._ancestor(state, best.number) or {}
        present = self._beliefs.space.optimisations(came) if came else ()
        features: dict[str, Value] = {**self._features, **came}
        features["bottleneck"] = bottleneck
        resources = best.verdict.resources if best.verdict else None
        if resources is not None:
            features["shared_bytes"] = resources.shared_bytes
            if resources.registers is not None:
                features["registers"] = resources.registers
        tried = {
            t.proposal.optimisation
            for t in state.trials.values()
            if t.parent == best.number and t.proposal and not t.proposal.edit
            if not (t.lowered and t.lowered.lost)
        }
        found: list[Proposal] = []
        for entry in knowledge.load_entries().values():
            outcome = knowledge.applicability(entry, features)
            if entry.id in tried or entry.id in present or outcome.value is False:
                continue
            expected = self._beliefs.gain(state, entry.id, bottleneck, features)
            sure = 1.0 if outcome.value else _DOUBTFUL
            found.append(
                Proposal(
                    optimisation=entry.id,
                    where=entry.title,
                    invariants=entry.invariants,
                    predicted_gain=sure * expected.mean,
                    depends_on=entry.requires,
                    reason=outcome.why or "it applies wherever its target is",
                    score=sure * (expected.mean + _CURIOSITY * expected.doubt),
                )
            )
        return found


def _bottleneck(trial: RunTrial) -> str:
    predicted = trial.verdict.predicted if trial.verdict else None
    return predicted.bottleneck if predicted else UNKNOWN
