"""The planner: from where a run stands to ranked proposals, of which one is drawn.

A proposal changes the best kernel so far. Three kinds: a *step* to a neighbouring form
(structural), a change of *knobs* within the form (one, or several that work together),
and a *jump* to any design of any form, which is how a run leaves a dead end. Structural
steps are offered before what lives inside a form.

The score is the expected gain plus a part of its doubt, so that what is not known is
tried. What the performance model holds for much slower is logged and never drawn.
Everything is a function of the state, the seed and the trial's number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from argus.agent.beliefs import Beliefs
from argus.agent.budget import last_progress
from argus.agent.exploration import Explorer, Moment, PlannerSettings
from argus.agent.offers import Offer, between, changes, finite, label_of, offer
from argus.agent.pool import Pool
from argus.agent.selection import sample, softmax
from argus.agent.space import FORM, Design, SearchSpace, difference, key
from argus.agent.state import START, RunState
from argus.runs.records import Problem, Proposal, Proposed, Value

UNKNOWN = "unknown"
"""The bottleneck of a kernel of which no prediction was made."""

_PRUNED = 3
"""Proposals that are logged though they cannot be drawn."""


class Planner:
    """Plans the trials of one run. ``open_ended``: also offers what has no edit."""

    def __init__(
        self,
        beliefs: Beliefs,
        pool: Pool,
        features: dict[str, Value],
        seed: int,
        settings: PlannerSettings | None = None,
    ) -> None:
        self._beliefs = beliefs
        self._space: SearchSpace = beliefs.space
        self._problem: Problem = beliefs.problem
        self._pool = pool
        self._features = features
        self._seed = seed
        self._settings = settings or PlannerSettings()
        self._explorer = Explorer(beliefs, self._settings)

    def plan(
        self, state: RunState, trial: int, pending: Sequence[Design]
    ) -> Proposed | None:
        """What is offered for a trial, and which was drawn; None if nothing is left.

        ``pending`` are designs of trials that are under way and will be tried anyway.
        """
        parent = self._parent(state)
        if parent is None:
            return None
        number, design = parent
        verdict = state.verdict_of(number)
        predicted = verdict.predicted if verdict else None
        bottleneck = predicted.bottleneck if predicted else UNKNOWN
        # While nothing better is found, it is likely to be where nobody expects it.
        stale = len(state.done) - 1 - last_progress(state)
        restless = max(0, stale) / self._settings.restless
        moment = Moment(
            state=state,
            beliefs=self._beliefs,
            number=number,
            design=design,
            bottleneck=bottleneck,
            features=self._now(state, number, bottleneck),
            curiosity=self._settings.curiosity * (1 + restless),
            belief=1 / (1 + restless),
            slower=self._settings.slower,
            taken={key(d) for d in pending} | self._tried(state),
            pending=list(pending),
            pool=self._pool.copy(),
        )
        offers = self._offers(moment)
        offers.sort(key=lambda o: (-o.proposal.score, key(o.design)))
        pruned = [o for o in offers if not math.isfinite(o.proposal.score)]
        live = [o for o in offers if math.isfinite(o.proposal.score)]
        if not live:
            return None
        offers = [*live[: self._settings.offered], *pruned[:_PRUNED]]
        scores = [o.proposal.score for o in offers]
        probabilities = softmax(scores, self._settings.temperature)
        return Proposed(
            trial=trial,
            parent=number,
            bottleneck=bottleneck,
            proposals=tuple(finite(o.proposal) for o in offers),
            probabilities=probabilities,
            chosen=sample(probabilities, self._seed, trial),
        )

    # ---- where it starts from

    def _parent(self, state: RunState) -> tuple[int, Design] | None:
        """The best trial that has a design; the start's where nothing is correct."""
        times = [
            (t.microseconds, t.number)
            for t in state.done
            if t.microseconds is not None and state.design(t.number)
        ]
        number = min(times)[1] if times else 0
        design = state.design(number)
        return None if design is None else (number, design)

    def _now(self, state: RunState, number: int, bottleneck: str) -> dict[str, Value]:
        verdict = state.verdict_of(number)
        now: dict[str, Value] = {**self._features, "bottleneck": bottleneck}
        now |= state.design(number) or {}
        if verdict and verdict.resources:
            now["shared_bytes"] = verdict.resources.shared_bytes
            if verdict.resources.registers is not None:
                now["registers"] = verdict.resources.registers
        return now

    def _tried(self, state: RunState) -> set[str]:
        """Designs that were judged, and those that agents were asked for."""
        found: set[str] = set()
        for trial in state.done:
            design = state.design(trial.number)
            if design is not None:
                found.add(key(design))
            if trial.lowered is not None and trial.lowered.lost:
                continue
            parent = None if trial.parent is None else state.design(trial.parent)
            if parent is not None and trial.proposal is not None:
                found.add(key(self._space.apply(parent, trial.proposal.edit)))
        return found

    # ---- what can be done

    def _offers(self, at: Moment) -> list[Offer]:
        form = str(at.design.get(FORM, ""))
        steps = self._steps(at, form)
        offers = [*steps, *self._knobs(at, form)]
        waiting = any(o.proposal.score > 0 for o in steps)
        offers += self._jumps(at, form, waiting)
        best: dict[str, Offer] = {}
        for one in offers:
            name = key(one.design)
            if name not in best or best[name].proposal.score < one.proposal.score:
                best[name] = one
        return list(best.values())

    def _steps(self, at: Moment, form: str) -> list[Offer]:
        """Neighbouring forms, as the space offers them."""
        found: list[Offer] = []
        present = set(self._space.optimisations(at.design))
        for move in self._space.moves(at.design, self._problem):
            design = self._space.apply(at.design, move.edit)
            if str(design.get(FORM, "")) == form:
                for knob in move.edit:
                    at.labels.setdefault(knob, move.optimisation)
                continue
            if key(design) in at.taken or not set(move.depends_on) <= present:
                continue
            gain, doubt, why = between(at, design)
            found.append(
                offer(
                    at,
                    move.optimisation,
                    move.where,
                    dict(move.edit),
                    design,
                    gain,
                    doubt,
                    why,
                    move.depends_on,
                )
            )
        return found

    def _knobs(self, at: Moment, form: str) -> list[Offer]:
        """The most promising designs of the form, whichever knobs they take."""
        view = self._explorer.explore(at, form)
        here = view.rows[key(at.design)]
        now = float(view.mean[here])
        found: list[Offer] = []
        promising = self._explorer.promising(view, at)
        for row, doubt in promising[: 2 * self._settings.offered]:
            design = view.designs[row]
            gain = now - float(view.mean[row])
            edit = difference(at.design, design)
            found.append(
                offer(
                    at,
                    label_of(at, edit),
                    changes(at.design, edit),
                    edit,
                    design,
                    gain,
                    doubt,
                    f"of {view.observed} designs tried in this form",
                    (),
                )
            )
        return found

    def _jumps(self, at: Moment, form: str, waiting: bool) -> list[Offer]:
        """The best design of each other form that may be as good as the present one."""
        found: list[Offer] = []
        time = at.state.time_of(at.number)
        for other in at.pool.forms:
            if other == form:
                continue
            visited = any(
                str((at.state.design(t.number) or {}).get(FORM, "")) == other
                for t in at.state.done
            )
            if not visited and waiting:
                continue  # steps come first
            look = visited or self._beliefs.can_forecast
            view = self._explorer.explore(at, other) if look else None
            if view is not None and not visited:
                rows = self._explorer.promising(view, at)[:1]
                new = [view.designs[r] for r, _ in rows]
                designs = [(d, *between(at, d)[:2]) for d in new]
            elif view is not None and time is not None:
                rows = self._explorer.promising(view, at)[:1]
                designs = [
                    (view.designs[r], math.log(time) - float(view.mean[r]), doubt)
                    for r, doubt in rows
                ]
            else:
                named = at.pool.of(other).items()
                options = [d for name, d in named if name not in at.taken]
                designs = [(d, *between(at, d)[:2]) for d in options[:1]]
            for design, gain, doubt in designs:
                new = set(self._space.optimisations(design))
                new -= set(self._space.optimisations(at.design))
                label = label_of(at, dict(design))
                if new:
                    label = max(sorted(new), key=lambda o: at.expect(o).mean)
                edit = difference(at.design, design)
                found.append(
                    offer(
                        at,
                        label,
                        f"restart in the form {other}",
                        edit,
                        design,
                        gain,
                        doubt,
                        "another form may do better",
                        (),
                    )
                )
        return found


def begin(problem_name: str) -> Proposal:
    """The proposal of the first trial: the kernel as it is."""
    return Proposal(
        optimisation=START, where=problem_name, predicted_gain=0.0, reason="the start"
    )
